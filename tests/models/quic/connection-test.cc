/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks QUIC between two ends, by scripts whose outcome follows from RFC 9000, RFC 9002 and
 * quic-go's source: handshake, sizes of packets, streams, flow control, repairs; and what holds
 * whatever is lost.
 */
#include "interop/ns3-simulator.h"
#include "support/quic-hosts.h"
#include "support/test-case.h"

#include <deque>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-connection");

constexpr uint32_t HEADERS = 28; // UDP, IP

/// The client's first packet with data follows two of the handshake and two ACKs.
constexpr uint32_t FIRST_DATA = 4;

TEST_CASE(SimulationTestCase,
          HandshakeTest,
          "Data leave after a round trip, in packets of the sizes of RFC 9000")
{
    QuicHosts hosts(MakeQuic());
    QuicFlow flow(hosts, 10'000, 0);
    flow.stream.Connect(0);
    RunUntil(29 * MS);
    NS_TEST_EXPECT_MSG_EQ(flow.client.connected, 20 * MS, "one round trip of 20 ms");
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 0, "not yet");
    const SendLimit limit = hosts.client.GetSender().Limits().Get();
    NS_TEST_EXPECT_MSG_EQ((limit == SendLimit::APPLICATION), true, "all that was written left");
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(flow.server.lastRead, 30 * MS, "one and a half");
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 10'000, "all");
    // Short header 1, connection ID 4, number 2, tag 16. STREAM: type 1, stream 1, offset 0 or
    // 2, no length: 1255 bytes of data, then 1253 each, and 1227 in the last of eight.
    // Before that, the two that begin and end the handshake, and ACKs of two of the server's.
    const std::vector<uint32_t>
        up{1280, 28, 28, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1254};
    NS_TEST_ASSERT_MSG_GT(hosts.up.sent.size(), up.size(), "and ACKs");
    for (size_t i = 0; i < up.size(); ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(hosts.up.sent[i].ipBytes, HEADERS + up[i], "packet " << i);
    }
    for (size_t i = 0; i < 3; ++i)
    {
        NS_TEST_EXPECT_MSG_EQ(hosts.down.sent[i].time, 10 * MS, "the server's answer");
    }
    NS_TEST_EXPECT_MSG_EQ(hosts.down.sent[2].ipBytes, HEADERS + 500, "its last part");
    // ACK: short header 1, number 2, tag 16; type, largest, delay, count, range 1 each.
    NS_TEST_EXPECT_MSG_EQ(hosts.down.sent[3].ipBytes, HEADERS + 19 + 5, "a lone ACK");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.GetSender().History().InFlight(), 0, "all arrived");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.GetSender().Counters().retransmits, 0, "none lost");
}

class WakeTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// When a connection's only packet of data is read.
    static int64_t LastRead(const QuicThreadsSpec& threads)
    {
        Ns3Simulator::Install();
        QuicSpec spec = MakeQuic();
        spec.threads = threads;
        QuicHosts hosts(spec);
        QuicFlow flow(hosts, 1000, 0);
        flow.stream.Connect(0);
        RunUntil(SECOND);
        return flow.server.lastRead;
    }

    void DoRun() override
    {
        QuicSpec spec = MakeQuic();
        spec.threads = {100 * US, 100 * US};
        QuicHosts hosts(spec);
        QuicFlow flow(hosts, 10'000, 0);
        // The second packet of data comes while the thread wakes up for the first one.
        hosts.up.delays = [](const QuicDeparture& it) -> std::vector<int64_t> {
            return {10 * MS + (it.number == FIRST_DATA + 1 ? 99 * US : 0)};
        };
        flow.stream.Connect(0);
        RunUntil(30 * MS + 250 * US);
        NS_TEST_EXPECT_MSG_EQ(flow.client.connected, 20 * MS + 200 * US, "two threads wake up");
        NS_TEST_EXPECT_MSG_EQ(flow.server.lastRead, -1, "the third sleeps");
        RunUntil(SECOND);
        NS_TEST_EXPECT_MSG_EQ(flow.server.lastRead, 30 * MS + 300 * US, "all at once");
        NS_TEST_EXPECT_MSG_EQ(flow.server.read, 10'000, "all");
        // At least 3 · 50 us late, and in the mean 3 · 95.
        const int64_t drawn = LastRead({95 * US, 50 * US});
        NS_TEST_EXPECT_MSG_GT(drawn, 30 * MS + 150 * US, "the least");
        NS_TEST_EXPECT_MSG_LT(drawn, 30 * MS + 1000 * US, "not much more");
        NS_TEST_EXPECT_MSG_EQ(LastRead({}), 30 * MS, "none of them sleeps");
    }
};

ADD_CASE(WakeTest, "Threads that sleep read late, and what came since then with it");

TEST_CASE(SimulationTestCase,
          LostHandshakeTest,
          "Packets of the handshake that were lost come again after a PTO")
{
    QuicHosts hosts(MakeQuic());
    hosts.up.delays = [](const QuicDeparture& it) -> std::vector<int64_t> {
        return it.number == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
    };
    hosts.down.delays = [](const QuicDeparture& it) -> std::vector<int64_t> {
        return it.number == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
    };
    QuicFlow flow(hosts, 1000, 1000);
    flow.stream.Connect(0);
    RunUntil(219 * MS);
    NS_TEST_EXPECT_MSG_EQ((hosts.down.sent.size() >= 3), true, "after 200 ms and a way");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.IsOpen(), false, "the server's second was lost");
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 1000, "up");
    NS_TEST_EXPECT_MSG_EQ(flow.client.read, 1000, "down");
    NS_TEST_EXPECT_MSG_GT(flow.client.connected, 220 * MS, "later");
}

TEST_CASE(SimulationTestCase,
          MtuTest,
          "Packets larger than the hosts' MTU do not leave, and others find it")
{
    QuicSpec spec = MakeQuic();
    spec.packets.most = 1452;
    spec.packets.mtu = 1400;
    QuicHosts hosts(spec);
    QuicFlow flow(hosts, 3'000'000, 0);
    flow.stream.Connect(0);
    RunUntil(20 * SECOND);
    uint32_t largest = 0;
    for (const QuicDeparture& it : hosts.up.sent)
    {
        largest = std::max(largest, it.ipBytes);
    }
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 3'000'000, "nothing is lost for good");
    NS_TEST_EXPECT_MSG_LT_OR_EQ(largest, 1'400, "none is larger");
    NS_TEST_EXPECT_MSG_GT(largest, 1'400 - spec.packets.step - 2, "the search comes close");
}

class HeadOfLineTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// When each of 16 streams, of one packet, was read. \param lost number of a packet that is
    /// lost
    static std::vector<int64_t> Read(uint32_t lost)
    {
        QuicHosts hosts(MakeQuic());
        std::deque<QuicFlow> flows;
        for (int i = 0; i < 16; ++i)
        {
            flows.emplace_back(hosts, 1200, 0);
            flows.back().stream.Connect(0);
        }
        hosts.up.delays = [=](const QuicDeparture& it) -> std::vector<int64_t> {
            return it.number == lost ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
        };
        RunUntil(SECOND);
        std::vector<int64_t> times;
        for (const QuicFlow& flow : flows)
        {
            times.push_back(flow.server.read == 1200 ? flow.server.lastRead : -1);
        }
        return times;
    }

    void DoRun() override
    {
        const std::vector<int64_t> without = Read(UINT32_MAX);
        Ns3Simulator::Install();
        const std::vector<int64_t> with = Read(FIRST_DATA + 5);
        for (size_t i = 0; i < with.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_GT(without[i], 0, "all was read, " << i);
            if (i != 5)
            {
                NS_TEST_EXPECT_MSG_EQ(with[i], without[i], "stream " << i);
            }
        }
        // The packet three numbers higher is acknowledged a round trip later.
        NS_TEST_EXPECT_MSG_EQ(with[5] - without[5], 20 * MS, "a round trip later");
    }
};

ADD_CASE(HeadOfLineTest, "A lost packet holds up its own stream only");

TEST_CASE(SimulationTestCase,
          RepairTest,
          "Lost data leave before new data, under a new number; one cut a round")
{
    QuicHosts hosts(MakeQuic());
    const std::set<uint32_t> lost{10, 12, 16};
    hosts.up.delays = [&](const QuicDeparture& it) -> std::vector<int64_t> {
        return lost.contains(it.number) ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
    };
    QuicFlow flow(hosts, 1'000'000, 0);
    flow.stream.Connect(0);
    RunUntil(50 * MS);
    const PacketHistory& history = hosts.client.GetSender().History();
    const auto offsetOf = [&](uint64_t number) {
        return history.FrameOf(history.At(number), 0).offset;
    };
    std::set<uint64_t> repeats;
    for (uint32_t number : lost)
    {
        for (uint64_t later = number + 1; later < history.Next(); ++later)
        {
            if (offsetOf(later) == offsetOf(number))
            {
                NS_TEST_EXPECT_MSG_EQ(repeats.insert(later).second, true, "once");
            }
        }
    }
    NS_TEST_ASSERT_MSG_EQ(repeats.size(), lost.size(), "each was sent again");
    // What left at the same moment, which is that of the ACK, left behind it.
    for (const QuicDeparture& it : hosts.up.sent)
    {
        const bool precedes = std::any_of(repeats.begin(), repeats.end(), [&](uint64_t repeat) {
            return history.At(repeat).sample.sentTime == it.time && it.number < repeat;
        });
        NS_TEST_EXPECT_MSG_EQ((!precedes || repeats.contains(it.number)), true, it.number);
    }
    std::set<uint64_t> numbers;
    for (const QuicDeparture& it : hosts.up.sent)
    {
        NS_TEST_EXPECT_MSG_EQ(numbers.insert(it.number).second, true, "a number of its own");
    }
    // Slow start until the first loss is known, then 0.7 of that once, though three were lost.
    const SenderState& state = hosts.client.GetSender().Congestion().State();
    NS_TEST_EXPECT_MSG_EQ((state.ssthresh < 32), true, "one cut: " << state.ssthresh);
    NS_TEST_EXPECT_MSG_EQ((state.ssthresh >= 22), true, "one cut: " << state.ssthresh);
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 1'000'000, "all");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.GetSender().Counters().retransmits, 3, "no more");
}

TEST_CASE(SimulationTestCase,
          ProbeTest,
          "A PTO repeats the oldest packet, and leaves the window as it is")
{
    QuicHosts hosts(MakeQuic());
    hosts.up.delays = [](const QuicDeparture& it) -> std::vector<int64_t> {
        return it.number == FIRST_DATA ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
    };
    QuicFlow flow(hosts, 1000, 0);
    flow.stream.Connect(0);
    RunUntil(SECOND);
    const auto& sent = hosts.up.sent;
    NS_TEST_ASSERT_MSG_GT(sent.size(), FIRST_DATA + 2, "the lost one, two probes");
    // The last packet of the handshake was acknowledged at 40 ms: two samples of 20 ms make
    // rttvar 3/4 · 10 ms. The lost packet left at 20 ms: 20 + 20 + 4 · 7.5 + 25.
    NS_TEST_EXPECT_MSG_EQ(sent[FIRST_DATA].time, 20 * MS, "lost");
    NS_TEST_EXPECT_MSG_EQ(sent[FIRST_DATA + 1].time, 95 * MS, "PTO");
    NS_TEST_EXPECT_MSG_EQ(sent[FIRST_DATA + 2].time, 95 * MS, "two probes");
    NS_TEST_EXPECT_MSG_EQ(sent[FIRST_DATA + 1].number, FIRST_DATA + 2, "one is left out");
    NS_TEST_EXPECT_MSG_EQ(flow.server.lastRead, 105 * MS, "its data");
    const QuicSender& sender = hosts.client.GetSender();
    NS_TEST_EXPECT_MSG_EQ(sender.Counters().probeTimeouts, 1, "one");
    // As in quic-go, the second probe repeats the first: that is the oldest packet by then.
    NS_TEST_EXPECT_MSG_EQ(sender.Counters().retransmits, 2, "twice");
    NS_TEST_EXPECT_MSG_EQ(sender.Congestion().State().ssthresh, INFINITE_SSTHRESH, "no cut");
}

TEST_CASE(SimulationTestCase,
          LonePingTest,
          "A lone PING is padded, so that its header can be protected")
{
    QuicSpec spec = MakeQuic();
    spec.packets.most = 1452;
    spec.packets.wait = 1;
    QuicHosts hosts(spec);
    // What searches for the MTU leaves when all data have arrived, and is lost: the PTO has
    // nothing to repeat.
    hosts.up.delays = [](const QuicDeparture& it) -> std::vector<int64_t> {
        return it.ipBytes > HEADERS + 1280 ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
    };
    QuicFlow flow(hosts, 10'000, 0);
    flow.stream.Connect(0);
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(flow.server.read, 10'000, "all");
    uint32_t least = UINT32_MAX;
    for (const QuicDeparture& it : hosts.up.sent)
    {
        least = std::min(least, it.ipBytes);
    }
    // RFC 9001, section 5.4.2: header 5, number 2, PING and PADDING, tag 16.
    NS_TEST_EXPECT_MSG_EQ(least, HEADERS + 1 + 4 + 2 + 2 + 16, "a lone PING");
}

TEST_CASE(SimulationTestCase,
          FlowControlTest,
          "A reader that stops holds up its stream, and in the end all of them")
{
    QuicHosts hosts(MakeQuic());
    QuicFlow first(hosts, 2'000'000, 0, false);
    QuicFlow second(hosts, 2'000'000, 0, false);
    first.stream.Connect(0);
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.server.GetReceiver().Limit(), 768 << 10, "of both");
    QuicStream* other = &second.stream;
    At(SECOND, [=] { other->Connect(SECOND); });
    RunUntil(2 * SECOND);
    const QuicSender& sender = hosts.client.GetSender();
    NS_TEST_EXPECT_MSG_EQ((sender.Limits().Get() == SendLimit::CONNECTION_WINDOW), true, "full");
    NS_TEST_EXPECT_MSG_EQ(sender.History().InFlight(), 0, "all that may has arrived");
    uint64_t sent = 0;
    const PacketHistory& history = sender.History();
    uint64_t end = 0;
    for (uint64_t number = 0; number < history.Next(); ++number)
    {
        const QuicPacket& packet = history.At(number);
        for (uint32_t i = 0; i < packet.frames; ++i)
        {
            const QuicFrame& frame = history.FrameOf(packet, i);
            const bool isData = frame.kind == QuicFrameKind::STREAM;
            sent += isData ? frame.length : 0;
            end = isData && frame.stream == 0 ? frame.offset + frame.length : end;
        }
    }
    NS_TEST_EXPECT_MSG_EQ(end, 512 << 10, "the first stream's window");
    NS_TEST_EXPECT_MSG_EQ(sent, 768 << 10, "the second has the rest of the connection's");
    At(2 * SECOND, [&] {
        for (QuicProgram* it : {&first.server, &second.server})
        {
            it->Read(2 * SECOND, 256 << 10);
        }
    });
    RunUntil(3 * SECOND);
    // More than half of 768 KiB at once doubles the connection's window, not the streams': each
    // read just half of its own.
    constexpr uint64_t LIMIT = (512 + 2 * 768) << 10;
    NS_TEST_EXPECT_MSG_EQ(hosts.server.GetReceiver().Limit(), LIMIT, "read, and the window");
    NS_TEST_EXPECT_MSG_EQ(sender.History().InFlight(), 0, "the rest came");
    NS_TEST_EXPECT_MSG_EQ((sender.Limits().Get() == SendLimit::STREAM_WINDOW), true, "full");
}

TEST_CASE(SimulationTestCase, FairnessTest, "Streams take turns")
{
    QuicHosts hosts(MakeQuic());
    std::deque<QuicFlow> flows;
    for (int i = 0; i < 4; ++i)
    {
        flows.emplace_back(hosts, 10'000'000, 0);
        flows.back().stream.Connect(0);
    }
    for (int64_t time = 35 * MS; time < 150 * MS; time += 20 * MS)
    {
        RunUntil(time);
        std::vector<uint64_t> read;
        for (const QuicFlow& flow : flows)
        {
            read.push_back(flow.server.read);
        }
        const auto [least, most] = std::minmax_element(read.begin(), read.end());
        NS_TEST_EXPECT_MSG_GT(*least, 0, "all");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(*most - *least, 2 * 1280, "at " << time);
    }
}

class FramesTest : public SimulationTestCase
{
  public:
    explicit FramesTest(bool isOneFrame)
        : SimulationTestCase(isOneFrame ? "The end of a write leaves alone, and alone again if lost"
                                        : "Packets are filled with what follows"),
          m_isOneFrame(isOneFrame)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t FULL = HEADERS + 1280;
        constexpr uint32_t ACK = HEADERS + 50; // at most
        QuicSpec spec = MakeQuic();
        spec.isOneFrame = m_isOneFrame;
        QuicHosts hosts(spec);
        std::vector<uint32_t> sizes; // of packets with data that are not full
        hosts.up.delays = [&](const QuicDeparture& it) -> std::vector<int64_t> {
            const bool isPart = it.ipBytes < FULL && it.ipBytes > ACK;
            if (isPart)
            {
                sizes.push_back(it.ipBytes);
            }
            const bool isLost = isPart && m_isOneFrame && sizes.size() == 1;
            return isLost ? std::vector<int64_t>{} : std::vector<int64_t>{10 * MS};
        };
        QuicFlow flow(hosts, 2 * 32'768, 0); // in two writes
        flow.stream.Connect(0);
        RunUntil(SECOND);
        NS_TEST_EXPECT_MSG_EQ(flow.server.read, 2 * 32'768, "all");
        NS_TEST_ASSERT_MSG_EQ(sizes.size(), (m_isOneFrame ? 3 : 1), "the last of each write");
        // 1255 bytes of data, 13 · 1253 with an offset of two bytes, 12 · 1251 with one of four.
        const uint32_t left = 32'768 - 1255 - 13 * 1253 - 12 * 1251;
        NS_TEST_EXPECT_MSG_EQ((!m_isOneFrame || sizes[0] == HEADERS + 23 + 6 + left), true, "left");
        NS_TEST_EXPECT_MSG_EQ((!m_isOneFrame || sizes[1] == sizes[0] || sizes[2] == sizes[0]),
                              true,
                              "it left again");
    }

    const bool m_isOneFrame;
};

TEST_CASE(ns3::TestCase, ReceiveStreamTest, "Just what lies before the first gap can be read")
{
    std::mt19937 random(2);
    for (int round = 0; round < 100; ++round)
    {
        QuicReceiveStream stream({0, 0, 0.25});
        std::vector<bool> has(500);
        uint64_t read = 0;
        for (int i = 0; i < 200; ++i)
        {
            const uint64_t begin = random() % 490;
            const uint64_t length = std::min<uint64_t>(random() % 20, 500 - begin);
            stream.OnFrame({begin,
                            0,
                            static_cast<uint16_t>(length),
                            QuicFrameKind::STREAM,
                            begin + length == 500});
            std::fill_n(has.begin() + static_cast<ptrdiff_t>(begin), length, true);
            const auto gap = std::find(has.begin(), has.end(), false);
            const auto prefix = static_cast<uint64_t>(gap - has.begin());
            NS_TEST_ASSERT_MSG_EQ(stream.Readable(), prefix - read, "no more, no less");
            if (i % 10 == 9)
            {
                read += stream.Readable();
                stream.Window().Read(0, stream.Readable());
            }
            NS_TEST_ASSERT_MSG_EQ((!stream.IsAtEof() || read == 500), true, "not before");
        }
    }
}

class QuicConservationTest : public SimulationTestCase
{
  public:
    QuicConservationTest(double loss, bool reorders, bool isQuinn)
        : SimulationTestCase("Bytes are read once each and in order at loss " +
                             std::to_string(loss) + (reorders ? ", copied and reordered" : "") +
                             (isQuinn ? ", as quinn" : "")),
          m_loss(loss),
          m_reorders(reorders),
          m_isQuinn(isQuinn)
    {
    }

  private:
    void DoRun() override
    {
        QuicSpec spec = MakeQuic();
        spec.packets.most = 1452;
        if (m_isQuinn)
        {
            spec.loss.persistent = 3;
            spec.loss.probedLose = false;
            spec.sendBuffer = 100'000;
            spec.isOneFrame = false;
            spec.connection = {0, 0, 0.125};
        }
        std::mt19937 random(3);
        std::uniform_real_distribution<> uniform;
        const auto delays = [&](const QuicDeparture&) {
            std::vector<int64_t> times;
            for (int copies = m_reorders && uniform(random) < 0.05 ? 2 : 1; copies > 0; --copies)
            {
                if (uniform(random) >= m_loss)
                {
                    const double late = m_reorders ? 15 * uniform(random) : 0;
                    times.push_back(10 * MS + static_cast<int64_t>(late * MS));
                }
            }
            return times;
        };
        QuicHosts hosts(spec, m_isQuinn ? "cubic" : "reno", {});
        hosts.up.delays = delays;
        hosts.down.delays = delays;
        std::deque<QuicFlow> flows;
        for (uint64_t i = 0; i < 5; ++i)
        {
            flows.emplace_back(hosts, 300'000 + i, 200'000 + i);
            flows.back().stream.Connect(0);
        }
        RunUntil(300 * SECOND);
        for (uint64_t i = 0; i < flows.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(flows[i].server.read, 300'000 + i, "up, " << i);
            NS_TEST_EXPECT_MSG_EQ(flows[i].client.read, 200'000 + i, "down, " << i);
            NS_TEST_EXPECT_MSG_EQ(flows[i].stream.IsAtEof(), true, "the end, " << i);
        }
        for (const QuicConnection* end : {&hosts.client, &hosts.server})
        {
            const QuicSender& sender = end->GetSender();
            NS_TEST_EXPECT_MSG_EQ(sender.History().InFlight(), 0, "nothing is left");
            NS_TEST_EXPECT_MSG_EQ(sender.History().BytesInFlight(), 0, "nothing is left");
            if (m_loss == 0 && !m_reorders)
            {
                NS_TEST_EXPECT_MSG_EQ(sender.Counters().retransmits, 0, "nothing again");
            }
        }
        for (const QuicWay* way : {&hosts.up, &hosts.down})
        {
            int64_t last = -1;
            for (const QuicDeparture& it : way->sent)
            {
                NS_TEST_ASSERT_MSG_GT(it.number, last, "numbers rise");
                NS_TEST_ASSERT_MSG_LT_OR_EQ(it.ipBytes, HEADERS + 1441, "size");
                last = it.number;
            }
        }
    }

    const double m_loss;
    const bool m_reorders;
    const bool m_isQuinn;
};

ADD_CASES
{
    AddCase(new FramesTest(true));
    AddCase(new FramesTest(false));
    for (bool isQuinn : {false, true})
    {
        for (bool reorders : {false, true})
        {
            for (double loss : {0.0, 0.05, 0.2})
            {
                AddCase(new QuicConservationTest(loss, reorders, isQuinn));
            }
        }
    }
}

} // namespace
