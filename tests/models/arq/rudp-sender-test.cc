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

} // namespace
