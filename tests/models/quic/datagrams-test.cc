/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks datagrams over QUIC (RFC 9221), and a tunnel that carries packets in them: sizes on the
 * wire, what waits, what is lost or dropped.
 */
#include "interop/ns3-simulator.h"
#include "support/quic-hosts.h"
#include "tunnel/quic-tunnel.h"

#include <deque>
#include <set>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-quic-datagrams");

constexpr uint32_t UDP_AND_IP = 28; // UDP, IP

/// The client's first packet with data follows two of the handshake and two ACKs.
constexpr uint32_t FIRST_FRAME = 4;

/// Datagrams that wait at one end; it notes what arrives.
class Waiting final : public QuicDatagrams
{
  public:
    void OnOpen(int64_t now) override
    {
        opened = now;
    }

    bool HasNext() const override
    {
        return !bytes.empty();
    }

    uint32_t NextBytes() const override
    {
        return bytes.front();
    }

    bool AreAlone() const override
    {
        return areAlone;
    }

    uint64_t Take() override
    {
        bytes.pop_front();
        return taken++;
    }

    void DropNext() override
    {
        bytes.pop_front();
        ++dropped;
    }

    void OnSent(int64_t /* now */) override
    {
    }

    void OnReceived(int64_t /* now */, uint64_t number) override
    {
        received.push_back(number);
    }

    std::deque<uint32_t> bytes;
    bool areAlone{false};
    int64_t opened{-1};
    uint64_t taken{0};
    uint32_t dropped{0};
    std::vector<uint64_t> received;
};

/// A connection with datagrams from the client to the server.
struct DatagramHosts : QuicHosts
{
    DatagramHosts()
        : QuicHosts(MakeQuic())
    {
        client.SetDatagrams(sending);
        server.SetDatagrams(receiving);
        client.Connect(0);
    }

    Waiting sending;
    Waiting receiving;
};

TEST_CASE(SimulationTestCase,
          DatagramSizesTest,
          "Several datagrams share a packet, of which the last has no length; or each is alone")
{
    for (bool areAlone : {false, true})
    {
        ns3::Simulator::Destroy();
        Ns3Simulator::Install();
        DatagramHosts hosts;
        hosts.sending.areAlone = areAlone;
        RunUntil(100 * MS);
        NS_TEST_EXPECT_MSG_EQ(hosts.sending.opened, 20 * MS, "after a round trip");
        const size_t before = hosts.up.sent.size();
        hosts.sending.bytes = {100, 100, 1000};
        hosts.client.SendDatagrams(100 * MS);
        RunUntil(SECOND);
        NS_TEST_EXPECT_MSG_EQ((hosts.receiving.received == std::vector<uint64_t>{0, 1, 2}),
                              true,
                              "all, in order");
        // Short header 1, connection ID 4, number 2, tag 16. DATAGRAM: type 1, length 2 (RFC 9221,
        // section 4).
        std::vector<uint32_t> sizes;
        for (size_t i = before; i < hosts.up.sent.size(); ++i)
        {
            sizes.push_back(hosts.up.sent[i].ipBytes - UDP_AND_IP - 23);
        }
        const std::vector<uint32_t> expected = areAlone ? std::vector<uint32_t>{103, 103, 1003}
                                                        : std::vector<uint32_t>{2 * 103 + 1001};
        NS_TEST_EXPECT_MSG_EQ((sizes == expected), true, "sizes of the packets' frames");
    }
}

TEST_CASE(SimulationTestCase,
          DatagramLossTest,
          "A lost datagram is not sent again, and counts as congestion")
{
    DatagramHosts hosts;
    hosts.up.delays = [](const QuicDeparture& it) -> std::vector<int64_t> {
        return it.number == FIRST_FRAME + 10 ? std::vector<int64_t>{} : std::vector{10 * MS};
    };
    RunUntil(100 * MS);
    const uint64_t window = hosts.client.GetSender().Congestion().Window();
    hosts.sending.bytes.assign(200, 1200);
    hosts.client.SendDatagrams(100 * MS);
    RunUntil(101 * MS);
    NS_TEST_EXPECT_MSG_LT(hosts.client.GetSender().BytesInFlight(),
                          window + 1280,
                          "no more than the window leaves");
    NS_TEST_EXPECT_MSG_GT(hosts.sending.bytes.size(), 100, "the others wait");
    RunUntil(10 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.sending.taken, 200, "all were sent");
    NS_TEST_EXPECT_MSG_EQ(hosts.receiving.received.size(), 199, "and one was lost");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.GetSender().Counters().retransmits, 0, "not sent again");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.GetSender().Counters().lostByNumber, 1, "but noticed");
    NS_TEST_EXPECT_MSG_GT(hosts.client.GetSender().Congestion().State().ssthresh,
                          0,
                          "as congestion");
    NS_TEST_EXPECT_MSG_EQ(hosts.client.GetSender().BytesInFlight(), 0, "the rest arrived");
}

TEST_CASE(SimulationTestCase,
          DatagramTooLargeTest,
          "What fits into no packet is dropped, and what does not fit beside others waits")
{
    DatagramHosts hosts;
    RunUntil(100 * MS);
    const size_t before = hosts.up.sent.size();
    // A packet of 1280 bytes has 1257 for frames, of which one takes its type.
    hosts.sending.bytes = {1256, 1257, 700, 600};
    hosts.client.SendDatagrams(100 * MS);
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.sending.dropped, 1, "1257 bytes");
    NS_TEST_EXPECT_MSG_EQ(hosts.receiving.received.size(), 3, "the others");
    NS_TEST_EXPECT_MSG_EQ(hosts.up.sent.size() - before, 3, "a packet each");
}

TEST_CASE(SimulationTestCase,
          DatagramPathsTest,
          "Over two paths, datagrams are sent once, and none waits for another")
{
    QuicPathHosts hosts(MultipathScheduler::ROUND_ROBIN);
    hosts.up2.delays = [&](const QuicDeparture& it) {
        return it.time == SECOND && hosts.up2.sent.size() % 5 == 0 ? std::vector<int64_t>{}
                                                                   : std::vector{50 * MS};
    };
    Waiting sending;
    Waiting receiving;
    hosts.client.SetDatagrams(sending);
    hosts.server.SetDatagrams(receiving);
    hosts.client.Connect(0);
    RunUntil(SECOND);
    const size_t before = hosts.up2.sent.size();
    sending.bytes.assign(20, 1200);
    hosts.client.SendDatagrams(SECOND);
    RunUntil(1020 * MS);
    const size_t first = receiving.received.size();
    NS_TEST_EXPECT_MSG_EQ(first, 10, "those of the faster path have arrived");
    for (uint64_t number : receiving.received)
    {
        NS_TEST_EXPECT_MSG_EQ(number % 2, receiving.received[0] % 2, "every second one");
    }
    RunUntil(5 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.up2.sent.size() - before, 10, "a packet each: none again");
    NS_TEST_EXPECT_MSG_EQ(receiving.received.size(), 18, "two were lost");
    NS_TEST_EXPECT_MSG_EQ(
        std::set<uint64_t>(receiving.received.begin(), receiving.received.end()).size(),
        18,
        "each arrived once");
    NS_TEST_EXPECT_MSG_LT(receiving.received[first], 2, "late, behind later ones");
}

/// A tunnel between two hosts that compute for nothing.
struct Tunnelled : QuicHosts
{
    explicit Tunnelled(const QuicDatagramsSpec& datagrams)
        : QuicHosts(MakeQuic())
    {
        spec.end.device.queue = 10;
        spec.end.socket.queue = 32;
        for (uint32_t bytes = 0; bytes <= 3000; ++bytes)
        {
            spec.payloads.push_back(bytes + 2);
        }
        spec.datagrams = datagrams;
        spec.datagrams.reserve = 37;
        spec.datagrams.header = 2;
        tunnel = std::make_unique<QuicTunnel>(spec, client, server, clientCpu, serverCpu);
        client.Connect(0);
    }

    void Offer(int64_t now, uint32_t count, uint32_t bytes)
    {
        for (uint32_t i = 0; i < count; ++i)
        {
            Packet packet{};
            packet.kind = PacketKind::DATAGRAM;
            packet.segment = i;
            packet.datagramBytes = bytes;
            packet.sink = &arrived;
            tunnel->Device(End::CLIENT).Send(now, packet, bytes, nullptr);
        }
    }

    struct Sink final : PacketSink
    {
        void Receive(int64_t /* now */, const Packet& packet, const PacketExtras*) override
        {
            segments.push_back(packet.segment);
        }

        std::vector<uint32_t> segments;
    };

    QuicTunnelSpec spec;
    Cores cores{TestLoop(), 2, 0};
    Cpu clientCpu{cores, 1};
    Cpu serverCpu{cores, 1};
    std::unique_ptr<QuicTunnel> tunnel;
    Sink arrived;
};

TEST_CASE(SimulationTestCase,
          QueueWaitsTest,
          "A full queue of datagrams makes the program wait, so that its device drops")
{
    Tunnelled hosts({20, true, false, 0, 0, false});
    RunUntil(100 * MS);
    hosts.Offer(100 * MS, 100, 1200);
    // Pacing lets a burst of 10 leave; 20 wait, one is in the program's hand, and 10 at its device.
    const uint64_t dropped = hosts.tunnel->DeviceQueue(End::CLIENT).Counters().drops;
    NS_TEST_EXPECT_MSG_EQ(dropped, 100 - 10 - 20 - 1 - 10, "the rest");
    NS_TEST_EXPECT_MSG_EQ(hosts.tunnel->DropsAtCarrier(End::CLIENT)->full, 0, "not at the queue");
    RunUntil(10 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.arrived.segments.size(), 41, "all others arrive");
    NS_TEST_EXPECT_MSG_EQ(hosts.arrived.segments.back(), 40, "in order");
}

TEST_CASE(SimulationTestCase, QueueDropsTest, "A program that does not wait drops what is new")
{
    Tunnelled hosts({20, false, false, 0, 0, false});
    RunUntil(100 * MS);
    hosts.Offer(100 * MS, 100, 1200);
    NS_TEST_EXPECT_MSG_EQ(hosts.tunnel->DropsAtCarrier(End::CLIENT)->full,
                          100 - 10 - 20,
                          "but what leaves and what waits");
    NS_TEST_EXPECT_MSG_EQ(hosts.tunnel->DeviceQueue(End::CLIENT).Counters().drops,
                          0,
                          "read at once");
    RunUntil(10 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(hosts.arrived.segments.size(), 30, "these arrive");
}

TEST_CASE(SimulationTestCase,
          LargePacketsTest,
          "A packet that is too large is dropped, or goes in several frames and needs all of them")
{
    // 1280 − 37 bytes of payload, of which 2 are the header.
    Tunnelled drops({20, true, false, 0, 0, false});
    RunUntil(100 * MS);
    drops.Offer(100 * MS, 1, 1241);
    drops.Offer(100 * MS, 1, 1242);
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(drops.arrived.segments.size(), 1, "the smaller one");
    NS_TEST_EXPECT_MSG_EQ(drops.tunnel->DropsAtCarrier(End::CLIENT)->tooLarge, 1, "the other");

    ns3::Simulator::Destroy();
    Ns3Simulator::Install();
    Tunnelled splits({20, true, true, 0, 0, true});
    RunUntil(100 * MS);
    const size_t before = splits.up.sent.size();
    splits.up.delays = [&](const QuicDeparture&) -> std::vector<int64_t> {
        const bool isLost = splits.up.sent.size() == before + 2; // a piece of the first
        return isLost ? std::vector<int64_t>{} : std::vector{10 * MS};
    };
    splits.Offer(100 * MS, 2, 2483); // three pieces: 1241, 1241 and 1 byte
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ((splits.arrived.segments == std::vector<uint32_t>{1}),
                          true,
                          "the second one");
    NS_TEST_EXPECT_MSG_EQ(splits.tunnel->Counters(End::CLIENT).outer.fragmented, 2, "both split");
}

} // namespace
