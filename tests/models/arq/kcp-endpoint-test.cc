/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks KCP between two ends: ACKs, what parity brings back, probes of a closed window, and what
 * holds whatever is lost.
 */
#include "arq/kcp-endpoint.h"
#include "support/kcp-specs.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;
using enum KcpCommand;

TEST_SUITE("tunnelcc-arq-kcp-endpoint");

FecSpec
MakeFec(uint32_t data, uint32_t parity)
{
    FecSpec spec;
    spec.data = data;
    spec.parity.assign(data, parity);
    spec.memory = 3;
    return spec;
}

/// Both ends of a session; the test carries their datagrams, or a path does after a delay.
class Session
{
  public:
    /// What waits to be carried from one end.
    struct Way final : PacketDevice
    {
        void Send(int64_t now,
                  const Packet& packet,
                  uint32_t ipBytes,
                  const PacketExtras* /* extras */) override
        {
            packets.push_back(packet);
            packets.back().time = now;
            largest = std::max(largest, ipBytes);
        }

        std::deque<Packet> packets;
        uint32_t largest{0};
    };

    /// \param clock phase of the client's clock, ns
    explicit Session(const KcpSpec& spec, int64_t clock = 0)
        : client(TestLoop(), spec, End::CLIENT, Channel(up), {clock, 10 * MS}),
          server(TestLoop(), spec, End::SERVER, Channel(down), {0, 20 * MS})
    {
        KcpEndpoint::Join(client, server);
    }

    /// Carry the first datagram of a way.
    static void Deliver(int64_t now, Way& way)
    {
        Packet packet = way.packets.front();
        way.packets.pop_front();
        packet.sink->Receive(now, packet, nullptr);
    }

    static void DeliverAll(int64_t now, Way& way)
    {
        for (size_t count = way.packets.size(); count > 0; --count)
        {
            Deliver(now, way);
        }
    }

    /// The segments of a datagram under way.
    static std::vector<KcpSegment> Contents(const KcpEndpoint& sender, const Packet& packet)
    {
        const KcpDatagram* datagram = sender.Log().Find(packet.segment);
        std::vector<KcpSegment> segments;
        for (uint32_t i = 0; datagram && i < datagram->items; ++i)
        {
            segments.push_back(sender.Log().ItemOf(*datagram, i));
        }
        return segments;
    }

    Way up;
    Way down;
    KcpEndpoint client;
    KcpEndpoint server;
};

TEST_CASE(SimulationTestCase, AckListTest, "ACKs fill a datagram, and those below UNA are left out")
{
    Session session(MakeKcp());
    session.client.Connect(0);
    // So that the client knows the window.
    session.client.Write(0, 100);
    Session::DeliverAll(0, session.up);
    At(40 * MS, [&] {
        NS_TEST_ASSERT_MSG_EQ(session.down.packets.size(), 1, "the ACK, by the clock");
        Session::DeliverAll(40 * MS, session.down);
        session.client.Write(40 * MS, 61 * KCP_MSS);
        NS_TEST_ASSERT_MSG_EQ(session.up.packets.size(), 61, "full ones");
        Packet first = session.up.packets.front();
        session.up.packets.pop_front();
        Session::DeliverAll(40 * MS, session.up);
        NS_TEST_ASSERT_MSG_EQ(session.down.packets.size(), 1, "55 are enough");
        auto acks = Session::Contents(session.server, session.down.packets.front());
        NS_TEST_EXPECT_MSG_EQ(acks.size(), 55, "of a datagram");
        NS_TEST_EXPECT_MSG_EQ(acks.back().number, 56, "in order of arrival");
        session.down.packets.clear();
        session.up.packets.push_back(first);
    });
    At(55 * MS, [&] { // after the server's flush of 50 ms
        NS_TEST_ASSERT_MSG_EQ(session.down.packets.size(), 1, "by the clock");
        auto acks = Session::Contents(session.server, session.down.packets.front());
        NS_TEST_EXPECT_MSG_EQ(acks.size(), 5, "the rest");
        session.down.packets.clear();
        Session::DeliverAll(55 * MS, session.up);
    });
    At(85 * MS, [&] {
        NS_TEST_ASSERT_MSG_EQ(session.down.packets.size(), 1, "by the clock");
        auto acks = Session::Contents(session.server, session.down.packets.front());
        NS_TEST_ASSERT_MSG_EQ(acks.size(), 1, "all lies below UNA: the last one");
        NS_TEST_EXPECT_MSG_EQ(acks.front().number, 1, "which came last");
        const Packet& packet = session.down.packets.front();
        NS_TEST_EXPECT_MSG_EQ(session.server.Log().Find(packet.segment)->una, 62, "UNA");
    });
    RunUntil(90 * MS);
}

TEST_CASE(SimulationTestCase,
          RecoveredTest,
          "An ACK that parity brought back frees the window, but tells neither "
          "round-trip time nor window")
{
    KcpSpec spec = MakeKcp();
    spec.fec = MakeFec(1, 1); // each datagram twice
    Session session(spec);
    session.client.Connect(0);
    session.client.Write(0, KCP_MSS);
    Session::DeliverAll(0, session.up);
    At(40 * MS, [&] {
        NS_TEST_ASSERT_MSG_EQ(session.down.packets.size(), 2, "ACK and parity");
        session.down.packets.pop_front();
        Session::DeliverAll(40 * MS, session.down);
        const KcpSender& sender = session.client.GetSender();
        NS_TEST_EXPECT_MSG_EQ(sender.Waiting(), 0, "window");
        NS_TEST_EXPECT_MSG_EQ(sender.Rto().Srtt(), 0, "no sample");
        NS_TEST_EXPECT_MSG_EQ(sender.PeerWindow(), 32, "as at first");
        session.client.Write(40 * MS, KCP_MSS);
        Session::DeliverAll(40 * MS, session.up);
    });
    At(75 * MS, [&] {
        Session::Deliver(75 * MS, session.down);
        const KcpSender& sender = session.client.GetSender();
        NS_TEST_EXPECT_MSG_EQ(sender.Rto().Srtt(), 35, "a sample");
        NS_TEST_EXPECT_MSG_EQ(sender.PeerWindow(), KCP_WINDOW - 2, "but what nobody has read");
    });
    RunUntil(80 * MS);
    NS_TEST_EXPECT_MSG_EQ(session.client.ReceivedFec(80 * MS).recovered, 1, "one datagram");
    NS_TEST_EXPECT_MSG_EQ(session.client.Wire().parity, 2, "of two");
}

class ProbeTest : public SimulationTestCase
{
  public:
    ProbeTest(KcpGeneration generation, int64_t first)
        : SimulationTestCase("A closed window is probed, and reopens, " + NameOf(generation)),
          m_generation(generation),
          m_first(first)
    {
    }

  private:
    void DoRun() override
    {
        KcpSpec spec = MakeKcp(m_generation);
        spec.receiveWindow.server = 4;
        Session session(spec);
        session.client.Connect(0);
        session.client.Write(0, 4 * KCP_MSS);
        int64_t closed = -1;
        int64_t asked = -1;
        for (int64_t now = 5 * MS; now < 25 * SECOND; now += 10 * MS)
        {
            At(now, [&, now] {
                for (const Packet& packet : session.up.packets)
                {
                    for (const KcpSegment& it : Session::Contents(session.client, packet))
                    {
                        asked = it.command == WINDOW_ASK && asked < 0 ? now : asked;
                    }
                }
                Session::DeliverAll(now, session.up);
                Session::DeliverAll(now, session.down);
                if (closed < 0 && session.client.GetSender().PeerWindow() == 0)
                {
                    closed = now;
                }
                if (asked >= 0 && session.server.Readable() > 0)
                {
                    session.server.Read(now, session.server.Readable());
                }
            });
        }
        RunUntil(25 * SECOND);
        NS_TEST_ASSERT_MSG_GT(closed, 0, "the reader took nothing");
        NS_TEST_EXPECT_MSG_GT(asked - closed, m_first - 1, "after");
        NS_TEST_EXPECT_MSG_LT(asked - closed, m_first + 100 * MS, "within some flushes");
        NS_TEST_EXPECT_MSG_EQ(session.client.GetSender().PeerWindow(), 4, "told unasked");
    }

    const KcpGeneration m_generation;
    const int64_t m_first;
};

/// Writes as fast as it can, and reads at once.
class Program final : public StreamUser
{
  public:
    /// \param left bytes to write
    Program(KcpEndpoint& socket, uint64_t left)
        : m_socket(socket),
          m_left(left)
    {
        socket.SetUser(this);
    }

    void OnOpen(int64_t now) override
    {
        OnWritable(now);
    }

    void OnReadable(int64_t now) override
    {
        m_read += m_socket.Readable();
        m_socket.Read(now, m_socket.Readable());
    }

    void OnWritable(int64_t now) override
    {
        while (m_left > 0)
        {
            uint64_t bytes = std::min<uint64_t>(m_left, 8200);
            if (m_socket.Write(now, bytes) == 0)
            {
                return;
            }
            m_left -= bytes;
        }
    }

    uint64_t Read() const
    {
        return m_read;
    }

  private:
    KcpEndpoint& m_socket;
    uint64_t m_left;
    uint64_t m_read{0};
};

/// A path for both ends of a session.
struct SessionOnPath
{
    SessionOnPath(const KcpSpec& spec, const LinkSpec& link, int64_t delay)
        : forward(TestLoop(), link, PathStreams::Forward(1)),
          reverse(TestLoop(), link, PathStreams::Reverse(1)),
          client(TestLoop(), spec, End::CLIENT, Channel(forward, delay), {300'000, 7 * MS}),
          server(TestLoop(), spec, End::SERVER, Channel(reverse, delay), {800'000, 13 * MS})
    {
        KcpEndpoint::Join(client, server);
    }

    PathDirection forward;
    PathDirection reverse;
    KcpEndpoint client;
    KcpEndpoint server;
};

class ConservationTest : public SimulationTestCase
{
  public:
    ConservationTest(KcpGeneration generation, bool hasFec, double loss, bool reorders)
        : SimulationTestCase("Every byte arrives once, both ways, " + NameOf(generation) +
                             (hasFec ? ", FEC" : "") + ", loss " + std::to_string(loss) +
                             (reorders ? ", reordering" : "")),
          m_loss(loss)
    {
        m_spec = MakeKcp(generation);
        if (hasFec)
        {
            m_spec.fec = MakeFec(10, 3);
        }
        m_reorders = reorders;
    }

  private:
    void DoRun() override
    {
        LinkSpec link;
        link.rate = 20e6;
        link.bufferBytes = 1'000'000;
        link.loss = m_loss;
        if (m_reorders)
        {
            link.reorder = 0.1;
            link.reorderDelay = 30 * MS;
            link.jitter = 2 * MS;
            link.jitterReorders = true;
        }
        SessionOnPath path(m_spec, link, 20 * MS);
        constexpr uint64_t UP = 2'345'678;
        constexpr uint64_t DOWN = 1'234'567;
        Program client(path.client, UP);
        Program server(path.server, DOWN);
        path.client.Connect(0);
        RunUntil(120 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(server.Read(), UP, "up");
        NS_TEST_EXPECT_MSG_EQ(client.Read(), DOWN, "down");
        for (const KcpEndpoint* end : {&path.client, &path.server})
        {
            NS_TEST_EXPECT_MSG_EQ(end->GetSender().Waiting(), 0, "all is acknowledged");
            NS_TEST_EXPECT_MSG_EQ(end->GetSender().BytesInFlight(), 0, "nothing is under way");
            uint64_t resent = end->GetSender().Counters().Retransmits();
            if (m_loss > 0)
            {
                NS_TEST_EXPECT_MSG_GT(resent, 0, "sent again");
            }
            else if (!m_reorders)
            {
                NS_TEST_EXPECT_MSG_LT(resent, 60, "at the start, before there is a sample");
            }
        }
    }

    KcpSpec m_spec;
    const double m_loss;
    bool m_reorders;
};

TEST_CASE(SimulationTestCase,
          NoParityTest,
          "FEC without parity changes nothing, and no datagram is too large")
{
    std::vector<std::vector<uint64_t>> outcomes;
    std::deque<Session> sessions; // whose timers go on
    for (bool hasFec : {false, true})
    {
        KcpSpec spec = MakeKcp();
        if (hasFec)
        {
            spec.fec = MakeFec(10, 0);
        }
        Session& session = sessions.emplace_back(spec);
        Program client(session.client, 300'000);
        Program server(session.server, 200'000);
        int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
        session.client.Connect(begin);
        uint64_t number = 0;
        for (int64_t now = begin + MS; now < begin + 4 * SECOND; now += MS)
        {
            RunUntil(now);
            for (auto* way : {&session.up, &session.down})
            {
                while (!way->packets.empty() && way->packets.front().time + 20 * MS <= now)
                {
                    if (++number % 17 == 0)
                    {
                        way->packets.pop_front();
                    }
                    else
                    {
                        Session::Deliver(now, *way);
                    }
                }
            }
        }
        const KcpCounters& up = session.client.GetSender().Counters();
        const KcpCounters& down = session.server.GetSender().Counters();
        outcomes.push_back({client.Read(),
                            server.Read(),
                            number,
                            up.fast,
                            up.early,
                            up.timeouts,
                            down.segments,
                            session.client.Wire().bytes,
                            session.server.Wire().bytes});
        NS_TEST_EXPECT_MSG_EQ(server.Read(), 300'000, "all");
        NS_TEST_EXPECT_MSG_EQ(session.up.largest,
                              KCP_HEADER + KCP_ROOM,
                              "full datagrams, no larger");
        session.client.SetUser(nullptr);
        session.server.SetUser(nullptr);
    }
    NS_TEST_EXPECT_MSG_EQ((outcomes[0] == outcomes[1]), true, "the same");
}

TEST_CASE(
    SimulationTestCase,
    ClockTest,
    "Timestamps are whole milliseconds of an end's own clock, and round trips their difference")
{
    Session session(MakeKcp(), 700 * US);
    session.client.Connect(0);
    auto timeOf = [&](int64_t now) {
        At(now, [&, now] { session.client.Write(now, KCP_MSS); });
        RunUntil(now);
        return Session::Contents(session.client, session.up.packets.back()).front().time;
    };
    NS_TEST_EXPECT_MSG_EQ(timeOf(300 * US - 1), 0, "0.999999 ms");
    NS_TEST_EXPECT_MSG_EQ(timeOf(300 * US), 1, "1 ms");
    NS_TEST_EXPECT_MSG_EQ(timeOf(2 * MS), 2, "2.7 ms");
    At(5 * MS, [&] { Session::DeliverAll(5 * MS, session.up); });
    // The server's first flush: 20 ms after its first datagram.
    RunUntil(25 * MS);
    NS_TEST_ASSERT_MSG_EQ(session.down.packets.size(), 1, "its ACK, at 25 ms");
    NS_TEST_EXPECT_MSG_EQ(session.down.packets.front().time, 25 * MS, "by its clock");
    At(34 * MS + 300 * US, [&] { Session::DeliverAll(34 * MS + 300 * US, session.down); });
    RunUntil(34 * MS + 300 * US);
    // All lie below UNA, and only the last is reported, which left at 2.
    NS_TEST_EXPECT_MSG_EQ(session.client.GetSender().Rto().Srtt(), 35 - 2, "35.0 ms less 2");
}

class FlushMomentsTest : public SimulationTestCase
{
  public:
    explicit FlushMomentsTest(KcpGeneration generation)
        : SimulationTestCase("What flushes, of " + NameOf(generation)),
          m_generation(generation)
    {
    }

  private:
    void DoRun() override
    {
        const bool is2017 = m_generation == KcpGeneration::OF_2017;
        const bool is2025 = m_generation == KcpGeneration::OF_2025;
        Session session(MakeKcp(m_generation));
        session.client.Connect(0); // flushes at 10, 40, 70, … ms
        auto sent = [&] { return session.up.packets.size(); };
        At(MS, [&] {
            session.client.Write(MS, 3 * KCP_MSS);
            NS_TEST_EXPECT_MSG_EQ(sent(), (is2017 ? 0 : 3), "a write, since Sep 2018");
        });
        RunUntil(10 * MS - 1);
        NS_TEST_EXPECT_MSG_EQ(sent(), (is2017 ? 0 : 3), "nothing else");
        RunUntil(10 * MS);
        NS_TEST_EXPECT_MSG_EQ(sent(), 3, "the clock");
        At(11 * MS, [&] { Session::DeliverAll(11 * MS, session.up); });
        RunUntil(31 * MS);
        NS_TEST_ASSERT_MSG_EQ(session.down.packets.size(), 1, "the server's clock");
        At(32 * MS, [&] {
            session.client.Write(32 * MS, 40 * KCP_MSS);
            const size_t before = sent();
            NS_TEST_EXPECT_MSG_EQ(before, (is2017 ? 0 : 29), "32 less the three that are out");
            Session::DeliverAll(32 * MS, session.down);
            NS_TEST_EXPECT_MSG_EQ(sent(), (is2017 ? 0 : 40), "an ACK that moves the window");
        });
        RunUntil(40 * MS);
        NS_TEST_EXPECT_MSG_EQ(sent(), 40, "the clock again");
        // Segment 3 is lost. ACKs of later ones show that: they flush since Nov 2025.
        At(41 * MS, [&] {
            session.up.packets.pop_front();
            Session::DeliverAll(41 * MS, session.up);
        });
        RunUntil(61 * MS); // flushes of the server at 31 and 61 ms
        At(62 * MS, [&] {
            const size_t before = sent();
            Session::DeliverAll(62 * MS, session.down);
            NS_TEST_EXPECT_MSG_EQ(sent() - before, is2025, "a segment that is lost");
        });
        RunUntil(63 * MS);
        const uint64_t fast = session.client.GetSender().Counters().fast;
        NS_TEST_EXPECT_MSG_EQ(fast, is2025, "sent again");
        RunUntil(70 * MS);
        // Of 2017, all ACKs of a datagram count once: one is enough where there is nothing new.
        const KcpCounters& counters = session.client.GetSender().Counters();
        NS_TEST_EXPECT_MSG_EQ(counters.fast, !is2017, "by the clock at last");
        NS_TEST_EXPECT_MSG_EQ(counters.early, is2017, "early");
    }

    const KcpGeneration m_generation;
};

TEST_CASE(SimulationTestCase,
          TimeoutClockTest,
          "Since 2018 the clock's flush comes as early as the next time-out")
{
    for (const KcpGeneration generation : {KcpGeneration::OF_2017, KcpGeneration::OF_2020})
    {
        KcpSpec spec = MakeKcp(generation);
        spec.interval = 60 * MS;
        Session session(spec);
        const int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
        session.client.Connect(begin);
        RunUntil(begin + 5 * MS);
        session.client.Write(begin + 5 * MS, 100);
        RunUntil(begin + 10 * MS);
        NS_TEST_ASSERT_MSG_EQ(session.up.packets.size(), 1, "it left");
        const bool is2017 = generation == KcpGeneration::OF_2017;
        // Flushes at 10, 70, 130 and 190 ms. RTO 200 ms: from 5 ms on it ends at 205 ms, and from
        // 10 ms on, where it left by the clock, at 210 ms, before that of 250 ms.
        RunUntil(begin + 205 * MS - 1);
        NS_TEST_EXPECT_MSG_EQ(session.up.packets.size(), 1, "not yet");
        RunUntil(begin + 205 * MS);
        NS_TEST_EXPECT_MSG_EQ(session.up.packets.size(), (is2017 ? 1 : 2), "at its time-out");
        RunUntil(begin + 250 * MS - 1);
        NS_TEST_EXPECT_MSG_EQ(session.up.packets.size(), (is2017 ? 1 : 2), "no more");
        RunUntil(begin + 250 * MS);
        NS_TEST_EXPECT_MSG_EQ(session.up.packets.size(), 2, "or at the interval");
    }
}

TEST_CASE(SimulationTestCase,
          DatagramTest,
          "Datagrams are filled up to their room, and each has what its end has and takes")
{
    KcpSpec spec = MakeKcp();
    spec.receiveWindow.client = 50;
    Session session(spec);
    session.client.Connect(0);
    // Segments of 24 bytes of header: 1298 + 24 fill a datagram; 600 + 24, 674 + 24 do as well.
    session.client.Write(0, 600);
    session.client.Write(0, 674);
    NS_TEST_ASSERT_MSG_EQ(session.up.packets.size(), 2, "each write flushes");
    NS_TEST_EXPECT_MSG_EQ(session.up.packets[0].datagramBytes, KCP_HEADER + 624, "its size");
    NS_TEST_EXPECT_MSG_EQ(session.client.Wire().bytes, 2 * KCP_HEADER + 624 + 698, "counted");
    const KcpDatagram* told = session.client.Log().Find(session.up.packets[0].segment);
    NS_TEST_EXPECT_MSG_EQ(told->window, 50, "its window");
    NS_TEST_EXPECT_MSG_EQ(told->una, 0, "nothing came");
    Session::DeliverAll(0, session.up);
    At(5 * MS, [&] {
        // What waits leaves with the ACK, by the clock at 20 ms.
        session.server.Write(5 * MS, 1'250);
    });
    RunUntil(20 * MS);
    // The ACK of the second (the first lies below UNA) has 24 bytes; 1250 + 24 more fit.
    std::vector<uint32_t> bytes;
    for (const Packet& packet : session.down.packets)
    {
        bytes.push_back(packet.datagramBytes - KCP_HEADER);
    }
    NS_TEST_EXPECT_MSG_EQ((bytes == std::vector<uint32_t>{24 + 24 + 1'250}), true, "together");
    const KcpDatagram* back = session.server.Log().Find(session.down.packets[0].segment);
    NS_TEST_EXPECT_MSG_EQ(back->una, 2, "both came");
    NS_TEST_EXPECT_MSG_EQ(back->window, KCP_WINDOW - 2, "and nobody has read them");
    session.down.packets.clear();
    // 48 bytes of ACKs leave no room for 1251 + 24: two datagrams.
    At(21 * MS, [&] {
        session.client.Write(21 * MS, 10);
        Session::DeliverAll(21 * MS, session.up);
        session.server.Write(21 * MS, 1'275);
    });
    RunUntil(22 * MS);
    bytes.clear();
    for (const Packet& packet : session.down.packets)
    {
        bytes.push_back(packet.datagramBytes - KCP_HEADER);
    }
    NS_TEST_EXPECT_MSG_EQ((bytes == std::vector<uint32_t>{24, 24 + 1'275}), true, "apart");
}

TEST_CASE(SimulationTestCase,
          ProbeWaitTest,
          "A closed window is asked for after 7 s, then half as long again, up to 120 s")
{
    KcpSpec spec = MakeKcp(KcpGeneration::OF_2020);
    spec.receiveWindow.server = 2;
    Session session(spec);
    session.client.Connect(0);
    session.client.Write(0, 2 * KCP_MSS);
    std::vector<int64_t> asks;
    for (int64_t now = 5 * MS; now < 900 * SECOND; now += 10 * MS)
    {
        RunUntil(now);
        for (const Packet& packet : session.up.packets)
        {
            for (const KcpSegment& it : Session::Contents(session.client, packet))
            {
                if (it.command == WINDOW_ASK)
                {
                    asks.push_back(packet.time);
                }
            }
        }
        Session::DeliverAll(now, session.up);
        Session::DeliverAll(now, session.down);
    }
    NS_TEST_ASSERT_MSG_GT(asks.size(), 9, "again and again");
    // kcp-go: IKCP_PROBE_INIT 7000, IKCP_PROBE_LIMIT 120000; each flush is up to 30 ms late.
    double wait = 7'000;
    for (size_t i = 1; i < asks.size(); ++i)
    {
        wait = std::min(std::floor(wait) + std::floor(wait / 2), 120'000.0);
        const auto gap = static_cast<double>((asks[i] - asks[i - 1]) / MS);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(gap, wait - 1, "ask " << i);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(gap, wait + 31, "ask " << i);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(wait, 120'000, 1, "the longest");
}

TEST_CASE(ns3::TestCase,
          KcpReceiverTest,
          "A receiver hands on what is in order, as far as its window has room")
{
    std::mt19937 random(2);
    for (int round = 0; round < 60; ++round)
    {
        const uint32_t window = 1 + random() % 12;
        KcpReceiver receiver(window);
        std::map<uint32_t, uint16_t> buffered; // beyond what is in order
        std::deque<uint16_t> queue;            // segments in order
        uint32_t next = 0;
        uint64_t taken = 0; // bytes left of the segment that is being read
        uint64_t readable = 0;
        uint64_t total = 0;
        auto deliver = [&] {
            while (buffered.contains(next) && queue.size() < window)
            {
                queue.push_back(buffered.at(next));
                readable += buffered.at(next);
                buffered.erase(next++);
            }
        };
        for (int i = 0; i < 400; ++i)
        {
            if (random() % 3)
            {
                const uint32_t number = next + random() % (window + 2) - (next > 1 ? 2 : 0);
                const auto length = static_cast<uint16_t>(1 + number % 7); // of a number, the same
                const size_t acks = receiver.Acks().size();
                receiver.OnPush(number, i, length);
                const bool isTaken =
                    static_cast<int32_t>(number - next) < static_cast<int32_t>(window);
                NS_TEST_ASSERT_MSG_EQ(receiver.Acks().size() - acks, isTaken, "acknowledged");
                if (isTaken && number >= next)
                {
                    buffered[number] = length;
                    deliver();
                }
            }
            else if (readable > 0)
            {
                const uint64_t bytes = 1 + random() % readable;
                const bool wasClosed = queue.size() >= window;
                readable -= bytes;
                total += bytes;
                uint64_t left = bytes;
                while (left > taken)
                {
                    taken += queue.front();
                    queue.pop_front();
                    deliver();
                }
                taken -= left;
                const bool opens = wasClosed && queue.size() < window;
                NS_TEST_ASSERT_MSG_EQ(receiver.Read(bytes), opens, "it opens");
            }
            NS_TEST_ASSERT_MSG_EQ(receiver.Next(), next, "UNA");
            NS_TEST_ASSERT_MSG_EQ(receiver.Readable(), readable, "bytes in order");
            NS_TEST_ASSERT_MSG_EQ(receiver.TotalRead(), total, "read");
            NS_TEST_ASSERT_MSG_EQ(receiver.Window(), window - queue.size(), "room");
        }
    }
}

TEST_CASE(ns3::TestCase,
          KcpRtoTest,
          "Time-outs are those of kcp-go's update_ack() over any samples")
{
    std::mt19937 random(3);
    for (const bool nodelay : {false, true})
    {
        KcpRto rto(nodelay, 20);
        int32_t srtt = 0;
        int32_t rttvar = 0;
        for (int i = 0; i < 3'000; ++i)
        {
            const auto rtt = static_cast<int32_t>(1 + random() % (i % 300 < 150 ? 40 : 2'000));
            rto.Sample(rtt);
            // Of kcp.go, with its names.
            if (srtt == 0)
            {
                srtt = rtt;
                rttvar = rtt >> 1;
            }
            else
            {
                int32_t delta = rtt - srtt;
                srtt += delta >> 3;
                delta = delta < 0 ? -delta : delta;
                rttvar += rtt < srtt - rttvar ? (delta - rttvar) >> 5 : (delta - rttvar) >> 2;
            }
            const int32_t wanted = srtt + std::max(20, rttvar << 2);
            const int32_t timeout = std::min(std::max(nodelay ? 30 : 100, wanted), 60'000);
            NS_TEST_ASSERT_MSG_EQ(rto.Timeout(), static_cast<uint32_t>(timeout), "sample " << i);
            NS_TEST_ASSERT_MSG_EQ(rto.Srtt(), static_cast<uint32_t>(srtt), "sample " << i);
        }
    }
}

ADD_CASES
{
    AddCase(new ProbeTest(KcpGeneration::OF_2020, 7 * SECOND));
    AddCase(new ProbeTest(KcpGeneration::OF_2025, 500 * MS));
    for (KcpGeneration generation : KCP_GENERATIONS)
    {
        AddCase(new FlushMomentsTest(generation));
        for (bool hasFec : {false, true})
        {
            for (bool reorders : {false, true})
            {
                for (double loss : {0.0, 0.1, 0.4})
                {
                    AddCase(new ConservationTest(generation, hasFec, loss, reorders));
                }
            }
        }
    }
}

} // namespace
