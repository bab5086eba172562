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
#include <deque>
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

    explicit Session(const KcpSpec& spec)
        : client(TestLoop(), spec, End::CLIENT, Channel(up), {0, 10 * MS}),
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

ADD_CASES
{
    AddCase(new ProbeTest(KcpGeneration::OF_2020, 7 * SECOND));
    AddCase(new ProbeTest(KcpGeneration::OF_2025, 500 * MS));
    for (KcpGeneration generation : KCP_GENERATIONS)
    {
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
