/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks links with an MTU that senders do not know: fragments, messages, and black holes.
 */
#include "event/random-stream.h"
#include "path/path-mtu.h"
#include "support/simulation-test-case.h"

#include <optional>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-mtu");

constexpr int64_t MS = 1'000'000;
constexpr uint32_t IPV4 = 20;
constexpr uint32_t IPV6 = 40;

class FragmentTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void DoRun() override
    {
        // By hand: 1480 bytes of payload, of which 1376 = 172 · 8 fit beside a header.
        Check(1500, 1400, IPV4, {1396, 124});
        Check(1500, 1500, IPV4, {1500});
        // The last fragment has no units: 1380 bytes fit.
        Check(1400 + 1376, 1400, IPV4, {1396, 1400});
        // 1460 bytes beside 48 of headers, in fragments of at most 1232 = 154 · 8.
        Check(1500, 1280, IPV6, {1280, 276});
        Check(4000, 576, IPV4, {572, 572, 572, 572, 572, 572, 572, 136});
    }

    void Check(uint32_t packet,
               uint32_t mtu,
               uint32_t header,
               const std::vector<uint32_t>& expected)
    {
        NS_TEST_EXPECT_MSG_EQ((Fragment(packet, mtu, header).sizes == expected),
                              true,
                              packet << " bytes over " << mtu);
    }
};

ADD_CASE(FragmentTest, "Fragments fill the MTU in units of 8 bytes");

/// Remembers the packets that arrive.
class FarHost : public PacketSink
{
  public:
    void Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */) override
    {
        arrivals.push_back({now, packet.segment, packet.isCe != 0});
    }

    struct Arrival
    {
        int64_t time;
        uint32_t segment;
        bool isCe;

        bool operator==(const Arrival&) const = default;
    };

    std::vector<Arrival> arrivals;
};

/// A sender that hears of MTUs.
class Sender : public MtuListener
{
  public:
    void OnPathMtu(int64_t now, uint32_t mtu) override
    {
        heard.push_back({now, mtu});
    }

    std::vector<std::pair<int64_t, uint32_t>> heard;
};

/// A link of 8 Mbit/s and 10 ms (a byte takes 1 µs) behind a router, and the host before it.
class Site
{
  public:
    explicit Site(const LinkMtuSpec& mtu)
        : m_mtu(mtu),
          m_direction(TestLoop(), Link(), PathStreams::Forward(1)),
          m_back(TestLoop()),
          source(TestLoop(), mtu.ipHeader),
          m_messages(source, mtu),
          m_gate(mtu,
                 Channel(m_direction, 10 * MS),
                 *m_direction.GetBottleneck(),
                 source,
                 mtu.tooBig == TooBig::TELL ? &m_messages : nullptr)
    {
        m_messages.SetBack(Channel(m_back, 3 * MS));
        source.SetOnward(Channel(m_gate));
    }

    void Send(PacketKind kind, uint32_t number, uint32_t bytes, bool isEct = false)
    {
        Packet packet{};
        packet.kind = kind;
        packet.segment = number;
        packet.isEct = isEct;
        packet.sink = &destination;
        if (kind == PacketKind::DATAGRAM)
        {
            packet.datagramBytes = bytes;
        }
        source.Send(TestLoop().Time(), packet, bytes, nullptr);
    }

    const MtuCounts& Counts()
    {
        return *m_direction.GetBottleneck()->Mtu();
    }

  private:
    static LinkSpec Link()
    {
        LinkSpec link;
        link.rate = 8e6;
        link.bufferPackets = 100;
        return link;
    }

    const LinkMtuSpec m_mtu;
    PathDirection m_direction;
    PathDirection m_back;

  public:
    MtuSource source;
    FarHost destination;

  private:
    MtuMessages m_messages;
    MtuGate m_gate;
};

LinkMtuSpec
Mtu(TooBig tooBig, uint32_t mtu = 1400)
{
    LinkMtuSpec spec;
    spec.mtu = mtu;
    spec.ipHeader = IPV4;
    spec.tooBig = tooBig;
    return spec;
}

TEST_CASE(SimulationTestCase,
          FragmentingRouterTest,
          "A router fragments what may be, and the packet arrives with its last "
          "fragment; late, where reassembly takes time")
{
    LinkMtuSpec spec = Mtu(TooBig::SILENT);
    spec.reassemblyDelay = 5 * MS;
    Site site(spec);
    site.source.SetDontFragment(DontFragment::CLEAR);
    site.Send(PacketKind::DATAGRAM, 7, 1500);
    site.Send(PacketKind::DATAGRAM, 8, 1400);
    RunUntil(100 * MS);
    // 1396 + 124 bytes take 1.52 ms, then 1400 more.
    const std::vector<FarHost::Arrival> expected{{12'920'000, 8, false}, {16'520'000, 7, false}};
    NS_TEST_EXPECT_MSG_EQ((site.destination.arrivals == expected), true, "arrivals");
    NS_TEST_EXPECT_MSG_EQ(site.Counts().fragmented, 1, "fragmented");
    NS_TEST_EXPECT_MSG_EQ(site.Counts().tooBig, 0, "dropped");
}

TEST_CASE(SimulationTestCase,
          BlackHoleTest,
          "A black hole takes the packets that do not fit, and no others")
{
    Site site(Mtu(TooBig::SILENT));
    Sender sender;
    site.source.BelongTo(sender, 52);
    site.Send(PacketKind::DATA, 1, 1401);
    site.Send(PacketKind::DATA, 2, 1400);
    RunUntil(100 * MS);
    NS_TEST_EXPECT_MSG_EQ(site.destination.arrivals.size(), 1, "arrivals");
    NS_TEST_EXPECT_MSG_EQ(site.destination.arrivals.front().segment, 2, "what fits");
    NS_TEST_EXPECT_MSG_EQ(site.Counts().tooBig, 1, "dropped");
    NS_TEST_EXPECT_MSG_EQ(sender.heard.size(), 0, "messages");
    // Segments that are split fit, and count as one.
    site.source.SetMss(1348);
    site.Send(PacketKind::DATA, 3, 1500);
    RunUntil(200 * MS);
    NS_TEST_EXPECT_MSG_EQ(site.destination.arrivals.size(), 2, "arrivals");
    NS_TEST_EXPECT_MSG_EQ(site.destination.arrivals.back().segment, 3, "the segment");
    // 1400 + 52 + 100 bytes.
    NS_TEST_EXPECT_MSG_EQ(site.destination.arrivals.back().time,
                          100 * MS + 1'552'000 + 10 * MS,
                          "with its last piece");
}

TEST_CASE(SimulationTestCase,
          MessageTest,
          "A router tells TCP the MTU; a host whose datagrams did not fit "
          "fragments the next; QUIC does not listen")
{
    Site tcp(Mtu(TooBig::TELL));
    Sender sender;
    tcp.source.BelongTo(sender, 52);
    tcp.Send(PacketKind::DATA, 1, 1500);
    Site udp(Mtu(TooBig::TELL));
    udp.Send(PacketKind::DATAGRAM, 1, 1500);
    Site quic(Mtu(TooBig::TELL));
    quic.source.SetDontFragment(DontFragment::SET);
    quic.Send(PacketKind::DATAGRAM, 1, 1500);
    RunUntil(50 * MS);
    const std::vector<std::pair<int64_t, uint32_t>> heard{{3 * MS, 1400}};
    NS_TEST_EXPECT_MSG_EQ((sender.heard == heard), true, "TCP hears of it");
    udp.Send(PacketKind::DATAGRAM, 2, 1500);
    quic.Send(PacketKind::DATAGRAM, 2, 1500);
    RunUntil(100 * MS);
    NS_TEST_EXPECT_MSG_EQ(udp.destination.arrivals.size(), 1, "datagrams");
    NS_TEST_EXPECT_MSG_EQ(udp.destination.arrivals.front().segment, 2, "the second one");
    NS_TEST_EXPECT_MSG_EQ(udp.Counts().fragmented, 0, "the host did it");
    NS_TEST_EXPECT_MSG_EQ(quic.destination.arrivals.size(), 0, "QUIC's packets");
    NS_TEST_EXPECT_MSG_EQ(quic.Counts().tooBig, 2, "all of them");
}

TEST_CASE(SimulationTestCase,
          FirewallTest,
          "A firewall that drops fragments drops what would be fragmented")
{
    LinkMtuSpec spec = Mtu(TooBig::FRAGMENT);
    spec.dropsFragments = true;
    Site site(spec);
    site.Send(PacketKind::DATAGRAM, 1, 1401);
    site.Send(PacketKind::DATAGRAM, 2, 1400);
    site.Send(PacketKind::FRAGMENT, 3, 500);
    RunUntil(100 * MS);
    NS_TEST_EXPECT_MSG_EQ(site.destination.arrivals.size(), 1, "arrivals");
    NS_TEST_EXPECT_MSG_EQ(site.Counts().fragmentDrops, 2, "dropped");
    NS_TEST_EXPECT_MSG_EQ(site.Counts().fragmented, 0, "fragmented");
}

} // namespace
