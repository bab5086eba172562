/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks what RUDP sends of data and when, by scripts whose outcome follows from FinalSpeed's
 * source: packets that are sent again, pacing, sizes, the window.
 */
#include "support/rudp-hosts.h"
#include "support/test-case.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace
{

using namespace tunnelcc;
using enum RudpMessage;

TEST_SUITE("tunnelcc-arq-rudp-sender");

const auto ALL_LOST = [](const RudpDatagram&) { return true; };

TEST_CASE(SimulationTestCase,
          RudpResendTest,
          "A packet without an ACK leaves twelve times, evenly, and no more")
{
    // Before a ping was answered one is taken to need 250 ms: 400 ms between transmissions.
    RudpHosts hosts(MakeRudp());
    hosts.up.isLost = hosts.down.isLost = ALL_LOST;
    RudpHosts::Connection connection(hosts);
    RudpProgram writer(connection.client, 10);
    connection.client.Connect(0);
    RunUntil(4 * SECOND - 1);
    NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().GivenUp(), 0, "one is left");
    RunUntil(7 * SECOND);
    const auto data = hosts.up.Of(DATA);
    NS_TEST_ASSERT_MSG_EQ(data.size(), 12, "two at once, then ten");
    NS_TEST_EXPECT_MSG_EQ(data[0].bytes, RUDP_HEADER + 10, "what was written");
    for (size_t i = 1; i < data.size(); ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(data[i].time, static_cast<int64_t>(i - 1) * 400 * MS, i);
    }
    NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().GivenUp(), 1, "never again");
    NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().Counters().resent, 10, "counted");
}

TEST_CASE(SimulationTestCase,
          PingTimeTest,
          "It is sent again 1.6 pings later, or 100 ms, and not after an ACK")
{
    std::deque<RudpHosts> all; // whose timers go on
    std::deque<RudpHosts::Connection> connections;
    for (auto [rtt, wait] : {std::pair(20 * MS, 100 * MS), std::pair(206 * MS, 329 * MS)})
    {
        RudpHosts& hosts = all.emplace_back(MakeRudp());
        hosts.up.delay = hosts.down.delay = rtt / 2;
        const int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
        RudpHosts::Connection& first = connections.emplace_back(hosts);
        RudpProgram idle(first.client, 0);
        first.client.Connect(begin);
        RunUntil(begin + 3 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(hosts.client.PingTime(), rtt / MS, "ping");
        // The first transmission is lost, both copies; the ACK of the second ends it.
        int left = 2;
        hosts.up.isLost = [&](const RudpDatagram& it) { return it.kind == DATA && left-- > 0; };
        RudpHosts::Connection& second = connections.emplace_back(hosts);
        RudpProgram writer(second.client, 1000);
        RudpProgram reader(second.server, 0);
        second.client.Connect(begin + 3 * SECOND);
        RunUntil(begin + 6 * SECOND);
        const auto data = hosts.up.Of(DATA);
        NS_TEST_ASSERT_MSG_EQ(data.size(), 3, "twice, and once more");
        NS_TEST_EXPECT_MSG_EQ(data[2].time - data[0].time, wait, "wait");
        NS_TEST_EXPECT_MSG_EQ(reader.Read(), 1000, "it is there");
        NS_TEST_EXPECT_MSG_EQ(second.client.GetSender().BytesInFlight(), 0, "acknowledged");
        hosts.up.isLost = [](const RudpDatagram&) { return false; };
        for (RudpEndpoint* end : {&first.client, &second.client, &second.server})
        {
            end->SetUser(nullptr);
        }
        RunUntil(begin + 20 * SECOND);
    }
}

class PacingTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Data of what left, but second copies: times and sums.
    static std::vector<std::pair<int64_t, uint64_t>> Sums(const std::vector<RudpDatagram>& data)
    {
        std::vector<std::pair<int64_t, uint64_t>> sums;
        uint64_t sum = 0;
        const RudpDatagram* before = nullptr;
        for (const RudpDatagram& it : data)
        {
            bool isCopy = before && before->number == it.number && before->time == it.time &&
                          before->sink == it.sink;
            sum += isCopy ? 0 : it.bytes - RUDP_HEADER;
            sums.emplace_back(it.time, sum);
            before = &it;
        }
        return sums;
    }

    void DoRun() override
    {
        RudpHosts hosts(MakeRudp());
        uint32_t count = 0;
        hosts.up.isLost = [&](const RudpDatagram& it) {
            return it.kind == DATA && ++count % 10 == 0;
        };
        RudpHosts::Connection first(hosts);
        RudpHosts::Connection second(hosts);
        RudpProgram writers[]{{first.client, 400'000}, {second.client, 400'000}};
        RudpProgram readers[]{{first.server, 0}, {second.server, 400'000}};
        first.client.Connect(0);
        second.client.Connect(0);
        RunUntil(5 * SECOND);
        const auto data = hosts.up.Of(DATA);
        // Eleven packets, and 11 ms: two writers and what is sent again share that.
        uint64_t whole = 0;
        for (auto [time, sum] : Sums(data))
        {
            NS_TEST_ASSERT_MSG_LT_OR_EQ(sum, 1.001e-3 * time + 11'000, "the rate, at " << time);
            whole = sum;
        }
        const uint64_t resent = first.client.GetSender().Counters().resent +
                                second.client.GetSender().Counters().resent;
        NS_TEST_EXPECT_MSG_GT(resent, 60, "a tenth of 800 and more");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(whole, 800'000 + 500 * resent, "all of it counts");
        for (const RudpProgram& reader : readers)
        {
            NS_TEST_EXPECT_MSG_EQ(reader.Read(), 400'000, "all is there");
        }
        // Writers take turns: at any time neither is far ahead.
        const auto early = std::count_if(data.begin(), data.end(), [&](const RudpDatagram& it) {
            return it.time < 200 * MS && it.sink == static_cast<PacketSink*>(&first.server);
        });
        NS_TEST_EXPECT_MSG_GT(early, 90, "half of 240");
        NS_TEST_EXPECT_MSG_LT(early, 150, "half of 240");

        // The server does not know its rate before the client's first ping, at 510 ms.
        const auto sums = Sums(hosts.down.Of(DATA));
        auto until = [&](int64_t time) {
            uint64_t sum = 0;
            for (auto [at, bytes] : sums)
            {
                sum = at <= time ? bytes : sum;
            }
            return static_cast<double>(sum);
        };
        NS_TEST_EXPECT_MSG_EQ_TOL(until(500 * MS), 0.5 * RUDP_FIRST_RATE, 20'000, "at first");
        NS_TEST_EXPECT_MSG_EQ((until(600 * MS) - until(500 * MS) > 80'000), true, "then");
    }
};

ADD_CASE(PacingTest, "Data are paced, also those sent again, but not second copies");

TEST_CASE(SimulationTestCase,
          RudpWriteTest,
          "A write is cut into thousands, which later writes do not fill up")
{
    RudpHosts hosts(MakeRudp());
    RudpHosts::Connection connection(hosts);
    RudpProgram writer(connection.client, 5001);
    connection.client.Connect(0);
    RunUntil(20 * MS);
    std::vector<uint32_t> lengths;
    uint32_t next = 0;
    for (const RudpDatagram& it : hosts.up.Of(DATA))
    {
        if (it.number == next)
        {
            lengths.push_back(it.bytes - RUDP_HEADER);
            ++next;
        }
    }
    const std::vector<uint32_t> expected{1000, 1000, 500, 1000, 1000, 500, 1};
    NS_TEST_EXPECT_MSG_EQ((lengths == expected), true, "writes of 2500, 2500 and 1");
    NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 7 + 6, "the first six twice");
}

TEST_CASE(SimulationTestCase, OneByteTest, "A byte alone is sent, told of, read and acknowledged")
{
    RudpHosts hosts(MakeRudp());
    RudpHosts::Connection connection(hosts);
    RudpProgram writer(connection.client, 1);
    RudpProgram reader(connection.server, 0);
    connection.client.Connect(0);
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).front().bytes, RUDP_HEADER + 1, "its packet");
    NS_TEST_EXPECT_MSG_EQ(reader.Read(), 1, "read");
    NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().BytesInFlight(), 0, "acknowledged");
}

TEST_CASE(SimulationTestCase, WindowTest, "The window moves with the reader alone")
{
    RudpSpec spec = MakeRudp();
    spec.packets.window = 8;
    spec.packets.doubled = 0;
    RudpHosts hosts(spec);
    RudpHosts::Connection connection(hosts);
    RudpProgram writer(connection.client, 25'000);
    RudpProgram reader(connection.server, 0, false);
    connection.client.Connect(0);
    RunUntil(3 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 8, "all acknowledged, none read");
    NS_TEST_EXPECT_MSG_EQ(connection.client.GetSender().BytesInFlight(), 0, "acknowledged");
    At(3 * SECOND, [&] { reader.Read(3 * SECOND, 1000); });
    RunUntil(4 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.up.Of(DATA).size(), 9, "one was read");
    NS_TEST_EXPECT_MSG_EQ((connection.client.Limits().Get() == SendLimit::RECEIVE_WINDOW),
                          true,
                          "limit");
}

TEST_CASE(ns3::TestCase,
          RudpSenderTest,
          "A sender keeps what the peer has not read, or what is neither acknowledged nor given up")
{
    struct Known
    {
        uint16_t length;
        bool isAcked;
        bool isGivenUp;
    };

    std::mt19937 random(4);
    for (int round = 0; round < 40; ++round)
    {
        const uint32_t window = 1 + random() % 20;
        RudpSender sender(window);
        std::map<uint32_t, Known> kept;
        uint32_t next = 0;
        uint32_t read = 0;
        uint64_t resent = 0;
        auto forget = [&] {
            while (!kept.empty() && kept.begin()->first < read &&
                   (kept.begin()->second.isAcked || kept.begin()->second.isGivenUp))
            {
                kept.erase(kept.begin());
            }
        };
        for (int i = 0; i < 400; ++i)
        {
            const bool hasRoom = next - read < window;
            NS_TEST_ASSERT_MSG_EQ(sender.HasRoom(), hasRoom, "room for " << next);
            const uint32_t some = next - std::min<uint32_t>(next, random() % 30);
            switch (random() % 5)
            {
            case 0:
            case 1:
                if (hasRoom)
                {
                    const auto length = static_cast<uint16_t>(1 + random() % 1000);
                    NS_TEST_ASSERT_MSG_EQ(sender.Add(length), next, "its number");
                    kept[next++] = {length, false, false};
                }
                break;
            case 2:
                sender.OnAck(some);
                if (kept.contains(some))
                {
                    kept[some].isAcked = true;
                }
                break;
            case 3:
                if (!kept.contains(some) || !kept[some].isGivenUp) // once each
                {
                    sender.GiveUp(some);
                    if (kept.contains(some))
                    {
                        kept[some].isGivenUp = !kept[some].isAcked;
                    }
                    forget();
                }
                break;
            default:
                // The peer has read what it has; an older count comes late.
                read = std::max(read, some);
                sender.OnRead(some);
                forget();
                sender.OnResend();
                ++resent;
            }
            uint64_t bytes = 0;
            uint64_t givenUp = 0;
            for (const auto& [number, it] : kept)
            {
                bytes += it.isAcked ? 0 : it.length;
                givenUp += it.isGivenUp && !it.isAcked;
                NS_TEST_ASSERT_MSG_EQ(sender.IsMissing(number), !it.isAcked, number);
                NS_TEST_ASSERT_MSG_EQ(sender.LengthOf(number), it.length, number);
            }
            NS_TEST_ASSERT_MSG_EQ(sender.BytesInFlight(), bytes, "under way");
            NS_TEST_ASSERT_MSG_EQ(sender.GivenUp(), givenUp, "given up");
            NS_TEST_ASSERT_MSG_EQ(sender.LengthOf(next), 0, "not sent yet");
            NS_TEST_ASSERT_MSG_EQ(sender.IsMissing(next), false, "not sent yet");
            if (!kept.empty() && kept.begin()->first > 0)
            {
                const uint32_t gone = kept.begin()->first - 1;
                NS_TEST_ASSERT_MSG_EQ(sender.LengthOf(gone), 0, "removed");
            }
            NS_TEST_ASSERT_MSG_EQ(sender.Counters().packets, next + resent, "sent");
            NS_TEST_ASSERT_MSG_EQ(sender.Counters().resent, resent, "again");
        }
    }
}

TEST_CASE(ns3::TestCase,
          RudpReceiverTest,
          "A receiver has what is in order, and counts a packet as read with its first byte")
{
    std::mt19937 random(5);
    for (int round = 0; round < 40; ++round)
    {
        RudpReceiver receiver(8);
        std::map<uint32_t, uint16_t> there; // not read
        uint32_t read = 0;
        uint32_t next = 0;
        uint64_t begun = 0;
        uint64_t total = 0;
        std::vector<uint32_t> acks;
        for (int i = 0; i < 300; ++i)
        {
            if (random() % 3)
            {
                const uint32_t back = std::min<uint32_t>(read, random() % 3);
                const uint32_t number = read - back + random() % 8;
                if (number >= read + 8)
                {
                    continue; // beyond the window
                }
                const auto length = static_cast<uint16_t>(1 + number % 5);
                const bool isNew = number >= read && !there.contains(number);
                receiver.OnData(number, length);
                if (isNew)
                {
                    there[number] = length;
                }
                if (isNew || std::find(acks.begin(), acks.end(), number) == acks.end())
                {
                    acks.push_back(number);
                }
                while (there.contains(next))
                {
                    ++next;
                }
            }
            else if (receiver.Readable() > 0)
            {
                uint64_t left = 1 + random() % receiver.Readable();
                receiver.Read(left);
                total += left;
                while (left > begun)
                {
                    begun += there.at(read);
                    there.erase(read++);
                }
                begun -= left;
            }
            uint64_t readable = begun;
            for (uint32_t number = read; number < next; ++number)
            {
                readable += there.at(number);
            }
            NS_TEST_ASSERT_MSG_EQ(receiver.Readable(), readable, "in order");
            NS_TEST_ASSERT_MSG_EQ(receiver.PacketsRead(), read, "read");
            NS_TEST_ASSERT_MSG_EQ(receiver.TotalRead(), total, "bytes read");
            NS_TEST_ASSERT_MSG_EQ((receiver.Acks() == acks), true, "to acknowledge");
            if (random() % 9 == 0)
            {
                receiver.Acks().clear();
                acks.clear();
            }
        }
    }
}

TEST_CASE(
    SimulationTestCase,
    RudpPacerTest,
    "Threads send in the order in which they asked; a burst is over beyond its size, and then "
    "its thread sleeps for what it takes at the rate")
{
    struct Thread final : RudpThread
    {
        Thread(RudpPacer& its, uint32_t size, std::vector<std::pair<int64_t, uint32_t>>& log)
            : pacer(its),
              bytes(size),
              sent(log)
        {
        }

        uint32_t Send(int64_t now) override
        {
            sent.emplace_back(now, bytes);
            return bytes;
        }

        void GoOn(int64_t now) override
        {
            if (--left > 0)
            {
                pacer.Ask(now, *this);
            }
        }

        RudpPacer& pacer;
        uint32_t bytes;
        std::vector<std::pair<int64_t, uint32_t>>& sent;
        int left{3};
    };

    RudpPacer pacer(TestLoop(), 1'000, 1e6); // a byte a microsecond
    NS_TEST_EXPECT_MSG_EQ(pacer.Rate(), 1e6, "as told");
    std::vector<std::pair<int64_t, uint32_t>> sent;
    Thread one(pacer, 500, sent);
    Thread other(pacer, 501, sent);
    At(MS, [&] { one.pacer.Ask(MS, one); });
    // 500 + 500 are no more than 1000; with the third they take 1.5 ms.
    At(MS + 100 * US, [&] { other.pacer.Ask(MS + 100 * US, other); });
    RunUntil(SECOND);
    const std::vector<std::pair<int64_t, uint32_t>> expected{
        {MS, 500},
        {MS, 500},
        {MS, 500},             // beyond: sleeps until 2.5 ms
        {MS + 1500 * US, 501}, // waited for it
        {MS + 1500 * US, 501}, // 1002: sleeps for 1.002 ms
        {MS + 2502 * US, 501},
    };
    NS_TEST_EXPECT_MSG_EQ((sent == expected), true, "in bursts");

    // A burst that took its time already needs no sleep.
    sent.clear();
    Thread late(pacer, 700, sent);
    late.left = 1;
    // 501 bytes of the burst that began at 3.502 ms were sent; at 1 s all is long over.
    At(SECOND, [&] { late.pacer.Ask(SECOND, late); });
    RunUntil(SECOND);
    late.left = 2;
    pacer.SetRate(0.5e6);
    At(SECOND + 10, [&] { late.pacer.Ask(SECOND + 10, late); });
    RunUntil(2 * SECOND);
    // 701 + … the first ended a burst without a sleep; two of 700 are another: 1400 at half the
    // rate are 2.8 ms from the first of them on, and nobody waits for that.
    const std::vector<std::pair<int64_t, uint32_t>> then{{SECOND, 700},
                                                         {SECOND + 10, 700},
                                                         {SECOND + 10, 700}};
    NS_TEST_EXPECT_MSG_EQ((sent == then), true, "at once");
    sent.clear();
    late.left = 1;
    At(2 * SECOND, [&] { late.pacer.Ask(2 * SECOND, late); });
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(sent.size(), 1, "the sleep is over");
}

} // namespace
