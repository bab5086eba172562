/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the parts of tunnels at the edges of their comparisons: sizes of records and packets as
 * their RFCs have them, room in buffers, and what is forgotten.
 */
#include "support/fake-stream.h"
#include "support/simulation-test-case.h"
#include "support/specs.h"
#include "tunnel/datagram-side.h"
#include "tunnel/layer.h"
#include "tunnel/nested-packets.h"
#include "tunnel/packet-tunnel.h"
#include "tunnel/plain-side.h"
#include "tunnel/quic-tunnel.h"
#include "tunnel/reassembler.h"
#include "tunnel/udp-socket.h"
#include "tunnel/wire-bytes.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel-parts");

using Writes = std::vector<uint32_t>;

TEST_CASE(
    ns3::TestCase,
    SshPacketsTest,
    "An SSH packet has 4 to block + 3 bytes of padding, to a multiple without its length field")
{
    for (const uint32_t block : {8U, 16U})
    {
        LayerStack ssh({SshLayerSpec{.block = block, .overhead = 16}});
        for (uint32_t bytes = 1; bytes < 100; ++bytes)
        {
            const uint32_t size = ssh.Wrap(bytes).at(0);
            const uint32_t padded = size - 4 - 16; // packet_length, tag
            NS_TEST_EXPECT_MSG_EQ(padded % block, 0, "RFC 5647, section 7.3");
            const uint32_t padding = padded - 1 - bytes; // padding_length
            NS_TEST_EXPECT_MSG_GT_OR_EQ(padding, 4, "RFC 4253, section 6");
            NS_TEST_EXPECT_MSG_LT(padding, 4 + block, "and no more than is needed");
        }
    }
}

TEST_CASE(ns3::TestCase,
          SnappyChunksTest,
          "A chunk is compressed if that saves an eighth of it, else it goes in two writes")
{
    LayerStack half({SnappyLayerSpec{100, 8, 10, 0.5}});
    NS_TEST_EXPECT_MSG_EQ((half.Wrap(250) == Writes{18 + 50, 8 + 50, 8 + 25}),
                          true,
                          "chunks of 100; the stream's header of 10 comes once");
    // 80 − 10 = 70: golang/snappy compresses to less than that, or not.
    LayerStack just({SnappyLayerSpec{100, 8, 0, 0.875}});
    NS_TEST_EXPECT_MSG_EQ((just.Wrap(80) == Writes{8, 80}), true, "70 are not less");
    LayerStack less({SnappyLayerSpec{100, 8, 0, 0.86}});
    NS_TEST_EXPECT_MSG_EQ((less.Wrap(80) == Writes{8 + 69}), true, "68.8 are, rounded up");
    NS_TEST_EXPECT_MSG_EQ(less.Wrap(100).size(), 1, "a full chunk");
    NS_TEST_EXPECT_MSG_EQ(less.Wrap(101).size(), 3, "and one of a byte, which saves nothing");
}

TEST_CASE(ns3::TestCase,
          FramesOfFixedFormTest,
          "Frames are split at the largest payload, padded up to a block, and one has no payload")
{
    LayerStack plain({FrameLayerSpec{.header = 5, .block = 1, .trailer = 3}});
    NS_TEST_EXPECT_MSG_EQ((plain.Wrap(100'000) == Writes{100'008}), true, "no largest payload");
    NS_TEST_EXPECT_MSG_EQ((plain.Wrap(0) == Writes{8}), true, "an empty one");
    FrameLayerSpec spec{.header = 5, .block = 16, .trailer = 3};
    spec.maxPayload = 40;
    spec.padding = 2;
    LayerStack frames({spec});
    NS_TEST_EXPECT_MSG_EQ((frames.Wrap(80) == Writes{56, 56}), true, "42 become 48");
    NS_TEST_EXPECT_MSG_EQ((frames.Wrap(81) == Writes{56, 56, 24}), true, "3 become 16");
    NS_TEST_EXPECT_MSG_EQ((frames.Wrap(14) == Writes{24}), true, "16 stay");
    NS_TEST_EXPECT_MSG_EQ((frames.Wrap(15) == Writes{40}), true, "17 become 32");
}

TEST_CASE(ns3::TestCase,
          FirstWriteTest,
          "A writer with a small first write cuts it off each frame that is longer")
{
    WebSocketLayerSpec spec;
    spec.firstWrite = 10;
    LayerStack layer({spec});
    NS_TEST_EXPECT_MSG_EQ((layer.Wrap(8) == Writes{10}), true, "just one");
    NS_TEST_EXPECT_MSG_EQ((layer.Wrap(9) == Writes{10, 1}), true, "a byte more");
    spec.maxPayload = 100;
    LayerStack framed({spec});
    NS_TEST_EXPECT_MSG_EQ((framed.Wrap(200) == Writes{10, 92, 10, 92}), true, "two frames");
    NS_TEST_EXPECT_MSG_EQ((framed.Wrap(201) == Writes{10, 92, 10, 92, 3}), true, "and a short one");
}

TEST_CASE(ns3::TestCase,
          RecordsTest,
          "The k-th TLS record has k times the first payload until the ramp is over")
{
    TlsLayerSpec spec;
    spec.maxPayload = 1'000;
    spec.overhead = 22;
    LayerStack even({spec});
    NS_TEST_EXPECT_MSG_EQ((even.Wrap(2'001) == Writes{1'022, 1'022, 23}), true, "no ramp");
    NS_TEST_EXPECT_MSG_EQ(even.Wrap(0).size(), 0, "nothing");
    spec.rampBytes = 300;
    spec.rampUntil = 1'800;
    LayerStack ramp({spec});
    // 300, 600, 900 are 1800: over.
    NS_TEST_EXPECT_MSG_EQ((ramp.Wrap(3'000) == Writes{322, 622, 922, 1'022, 222}), true, "just");
    spec.rampUntil = 1'801;
    spec.recordsBefore = 1;
    LayerStack later({spec});
    // 600, 900 and, of 1200, 1000.
    NS_TEST_EXPECT_MSG_EQ((later.Wrap(2'600) == Writes{622, 922, 1'022, 122}), true, "from 2 on");
    // What was sent before counts, in writes of 32 KiB.
    spec.recordsBefore = 0;
    NS_TEST_EXPECT_MSG_EQ((LayerWireBytes({spec}, 500, 0) == Writes{322, 222}), true, "at first");
    NS_TEST_EXPECT_MSG_EQ((LayerWireBytes({spec}, 1'000, 300) == Writes{622, 422}),
                          true,
                          "after one record");
    NS_TEST_EXPECT_MSG_EQ((LayerWireBytes({spec}, 1'000, 70'000) == Writes{1'022}), true, "over");
}

TEST_CASE(ns3::TestCase,
          FragmentsOfAllTest,
          "Fragments of many packets in any order make each packet once all are there")
{
    std::mt19937 random(3);
    Reassembler reassembler;
    for (int round = 0; round < 50; ++round)
    {
        std::vector<std::pair<uint32_t, bool>> order; // packet, whether the last
        std::map<uint32_t, uint32_t> leads;
        for (uint32_t packet = 0; packet < 20; ++packet)
        {
            leads[packet] = random() % 4;
            for (uint32_t i = 0; i < leads[packet]; ++i)
            {
                order.emplace_back(packet, false);
            }
            order.emplace_back(packet, true);
        }
        std::shuffle(order.begin(), order.end(), random);
        std::map<uint32_t, uint32_t> left;
        for (const auto& [packet, count] : leads)
        {
            left[packet] = count + 1;
        }
        for (const auto& [number, isLast] : order)
        {
            Packet packet{};
            packet.kind = isLast ? PacketKind::DATA : PacketKind::FRAGMENT;
            packet.segment = number;
            packet.tsVal = static_cast<uint32_t>(round);
            packet.hasAck = isLast;
            PacketExtras extras{};
            extras.ackNumber = 7 * number;
            const auto* whole = reassembler.Add(packet, isLast ? &extras : nullptr, leads[number]);
            --left[number];
            NS_TEST_ASSERT_MSG_EQ((whole != nullptr), (left[number] == 0), "packet " << number);
            if (whole)
            {
                NS_TEST_ASSERT_MSG_EQ(whole->packet.segment, number, "its own");
                NS_TEST_ASSERT_MSG_EQ(whole->extras.ackNumber, 7 * number, "with its extras");
            }
        }
    }
}

TEST_CASE(ns3::TestCase,
          OuterCountersTest,
          "A datagram in several packets counts once as fragmented")
{
    TunnelCounters counters;
    counters.outer.Count({1'000});
    NS_TEST_EXPECT_MSG_EQ(counters.outer.packets, 1, "one packet");
    NS_TEST_EXPECT_MSG_EQ(counters.outer.bytes, 1'000, "its bytes");
    NS_TEST_EXPECT_MSG_EQ(counters.outer.fragmented, 0, "whole");
    counters.outer.Count({1'500, 1'500, 100});
    NS_TEST_EXPECT_MSG_EQ(counters.outer.packets, 4, "three more");
    NS_TEST_EXPECT_MSG_EQ(counters.outer.bytes, 4'100, "all");
    NS_TEST_EXPECT_MSG_EQ(counters.outer.fragmented, 1, "one datagram");
    counters.inner.Count(500);
    counters.inner.Count(70);
    NS_TEST_EXPECT_MSG_EQ(counters.inner.packets, 2, "packets");
    NS_TEST_EXPECT_MSG_EQ(counters.inner.bytes, 570, "bytes");
}

/// What a device or a host is given.
struct TakenPackets final : PacketDevice, PacketSink
{
    void Send(int64_t, const Packet& packet, uint32_t ipBytes, const PacketExtras*) override
    {
        packets.push_back(packet);
        bytes.push_back(ipBytes);
    }

    void Receive(int64_t, const Packet& packet, const PacketExtras* extras) override
    {
        packets.push_back(packet);
        if (packet.hasAck)
        {
            acks.push_back(extras->ackNumber);
        }
    }

    std::deque<Packet> packets;
    std::vector<uint32_t> bytes;
    std::vector<uint32_t> acks;
};

TEST_CASE(ns3::TestCase,
          NestedTest,
          "A packet in another tunnel's datagram comes out as it was, until 4096 later ones did")
{
    TakenPackets way;
    TakenPackets host;
    NestedPackets nested;
    nested.SetOnward(Channel(way));
    auto send = [&](uint32_t segment) {
        Packet packet{};
        packet.kind = PacketKind::DATA;
        packet.segment = segment;
        packet.sink = &host;
        packet.isEct = segment % 2;
        packet.hasAck = segment % 3 == 0;
        PacketExtras extras{};
        extras.ackNumber = 10 * segment;
        nested.Send(0, packet, 100 + segment % 50, &extras);
    };
    for (uint32_t segment = 0; segment < 5'000; ++segment)
    {
        send(segment);
    }
    NS_TEST_EXPECT_MSG_EQ(way.bytes[7], 107, "its size");
    NS_TEST_EXPECT_MSG_EQ(way.packets[7].datagramBytes, 107, "its size");
    NS_TEST_EXPECT_MSG_EQ((way.packets[7].kind == PacketKind::DATAGRAM), true, "a datagram");
    NS_TEST_EXPECT_MSG_EQ(way.packets[7].isEct, true, "with its ECN field");
    NS_TEST_EXPECT_MSG_EQ(way.packets[8].isEct, false, "with its own");
    uint32_t told = 0;
    nested.Visit(way.packets[9], [&](const Packet& packet, const PacketExtras& extras) {
        told = packet.segment + extras.ackNumber;
    });
    NS_TEST_EXPECT_MSG_EQ(told, 99, "who looks sees the packet");
    Packet marked = way.packets[3];
    marked.isCe = true;
    nested.Receive(0, marked, nullptr);
    NS_TEST_EXPECT_MSG_EQ(host.packets.back().segment, 3, "the packet");
    NS_TEST_EXPECT_MSG_EQ((host.packets.back().kind == PacketKind::DATA), true, "as it was");
    NS_TEST_EXPECT_MSG_EQ(host.packets.back().isCe, true, "marked on the way");
    NS_TEST_EXPECT_MSG_EQ((host.acks == std::vector<uint32_t>{30}), true, "with its extras");
    nested.Receive(0, way.packets[2], nullptr);
    NS_TEST_EXPECT_MSG_EQ(host.packets.back().segment, 2, "out of order");
    // 4096 behind may still come, what is further behind is lost.
    nested.Receive(0, way.packets[4'100], nullptr);
    nested.Receive(0, way.packets[4], nullptr);
    NS_TEST_EXPECT_MSG_EQ(host.packets.back().segment, 4, "4096 behind");
    nested.Receive(0, way.packets[4'101], nullptr);
    const size_t before = host.packets.size();
    nested.Receive(0, way.packets[4], nullptr);
    NS_TEST_EXPECT_MSG_EQ(host.packets.size(), before, "further behind");
    Packet later = way.packets[4'999];
    later.segment += 1;
    nested.Receive(0, later, nullptr);
    NS_TEST_EXPECT_MSG_EQ(host.packets.size(), before, "none was sent under this number");
}

TEST_CASE(ns3::TestCase,
          FramedPacketsTest,
          "Packets in frames are found until one arrives 4096 numbers later")
{
    FramedPackets framed;
    for (uint32_t segment = 0; segment < 5'000; ++segment)
    {
        Packet packet{};
        packet.segment = segment;
        packet.kind = PacketKind::DATA;
        packet.hasAck = segment % 3 == 0;
        PacketExtras extras{};
        extras.ackNumber = 10 * segment;
        NS_TEST_ASSERT_MSG_EQ(framed.Push(packet, 100, 1 + segment % 2, &extras),
                              segment,
                              "number");
    }
    auto extrasOf = [&](uint64_t number) {
        const FramedPackets::Framed* found = framed.Find(number);
        return found ? framed.ExtrasOf(*found) : nullptr;
    };
    framed.OnArrival(4'096);
    NS_TEST_ASSERT_MSG_EQ((framed.Find(0) != nullptr), true, "4096 before");
    framed.OnArrival(4'102);
    NS_TEST_EXPECT_MSG_EQ((framed.Find(5) == nullptr), true, "more than that");
    NS_TEST_ASSERT_MSG_EQ((framed.Find(6) != nullptr), true, "just that");
    for (const uint64_t number : {6, 7, 9, 3'000})
    {
        NS_TEST_EXPECT_MSG_EQ(framed.Find(number)->packet.segment, number, "its packet");
        NS_TEST_EXPECT_MSG_EQ(framed.Find(number)->pieces, 1 + number % 2, "its pieces");
        NS_TEST_EXPECT_MSG_EQ((extrasOf(number) != nullptr), (number % 3 == 0), "its extras");
        if (number % 3 == 0)
        {
            NS_TEST_EXPECT_MSG_EQ(extrasOf(number)->ackNumber, 10 * number, "its own");
        }
    }
}

/// Both relays' sockets of a flow of datagrams, and what the applications get.
struct Relayed final : StreamUser
{
    Relayed(bool isSeparate, uint32_t queue)
        : client({.frame = 6, .separate = isSeparate, .queue = queue},
                 28,
                 End::CLIENT,
                 Channel(toClient),
                 clientApplication,
                 logs),
          server({.frame = 6, .separate = isSeparate, .queue = queue},
                 28,
                 End::SERVER,
                 Channel(toServer),
                 serverApplication,
                 logs)
    {
        client.SetUser(*this);
        server.SetUser(*this);
    }

    void OnOpen(int64_t) override
    {
        ++opened;
    }

    void OnReadable(int64_t) override
    {
        ++readable;
    }

    void OnWritable(int64_t) override
    {
    }

    static void Offer(DatagramSide& side, uint32_t bytes)
    {
        Packet packet{};
        packet.kind = PacketKind::DATAGRAM;
        packet.datagramBytes = bytes;
        side.Receive(0, packet, nullptr);
    }

    int opened{0};
    int readable{0};
    TakenPackets toClient;
    TakenPackets toServer;
    TakenPackets clientApplication;
    TakenPackets serverApplication;
    DatagramSide::Logs logs;
    DatagramSide client;
    DatagramSide server;
};

TEST_CASE(ns3::TestCase,
          DatagramSideTest,
          "A relay's socket reads a datagram at a time, and writes one where its frame is complete")
{
    Relayed relayed(false, 2);
    Relayed::Offer(relayed.server, 128);
    NS_TEST_EXPECT_MSG_EQ(relayed.server.Drops(), 1, "the server's is not open");
    Relayed::Offer(relayed.client, 128);
    NS_TEST_EXPECT_MSG_EQ(relayed.opened, 1, "the first datagram opens the client's");
    Relayed::Offer(relayed.client, 228);
    NS_TEST_EXPECT_MSG_EQ(relayed.client.Drops(), 0, "two fit");
    Relayed::Offer(relayed.client, 328);
    NS_TEST_EXPECT_MSG_EQ(relayed.client.Drops(), 1, "a third does not");
    NS_TEST_EXPECT_MSG_EQ(relayed.readable, 2, "told of each");
    NS_TEST_EXPECT_MSG_EQ(relayed.client.Read(0, 10).bytes, 106, "payload 100, frame 6");
    NS_TEST_EXPECT_MSG_EQ(relayed.client.Read(0, 10).bytes, 206, "the next");
    NS_TEST_EXPECT_MSG_EQ(relayed.client.Read(0, 10).bytes, 0, "no more");
    relayed.server.Open(0);
    relayed.server.Prepare(105);
    NS_TEST_EXPECT_MSG_EQ(relayed.server.Write(0), true, "all is taken");
    NS_TEST_EXPECT_MSG_EQ(relayed.toServer.packets.size(), 0, "a byte is missing");
    relayed.server.Prepare(1);
    relayed.server.Write(0);
    NS_TEST_ASSERT_MSG_EQ(relayed.toServer.bytes.size(), 1, "one is complete");
    NS_TEST_EXPECT_MSG_EQ(relayed.toServer.bytes[0], 128, "as it was");
    relayed.server.Prepare(206);
    relayed.server.Write(0);
    NS_TEST_EXPECT_MSG_EQ(relayed.toServer.bytes.back(), 228, "the other");
    NS_TEST_EXPECT_MSG_EQ((relayed.toServer.packets[0].sink == &relayed.serverApplication),
                          true,
                          "for the application");
    Relayed::Offer(relayed.server, 60);
    NS_TEST_EXPECT_MSG_EQ(relayed.server.Read(0, 0).bytes, 38, "back");
    relayed.client.StartMeasuring();
    NS_TEST_EXPECT_MSG_EQ(relayed.client.Drops(), 0, "counted from now on");

    Relayed apart(true, 9);
    Relayed::Offer(apart.client, 128);
    Relayed::Offer(apart.client, 228);
    std::vector<uint32_t> read;
    for (int i = 0; i < 5; ++i)
    {
        read.push_back(apart.client.Read(0, 0).bytes);
    }
    NS_TEST_EXPECT_MSG_EQ((read == std::vector<uint32_t>{6, 100, 6, 200, 0}), true, "frames first");
}

TEST_CASE(ns3::TestCase, PlainSideTest, "A relay's socket reads no more than it is asked to")
{
    FakeStreamPair wire;
    PlainSide side(wire.server);
    wire.client.Write(0, 500);
    wire.ToServer(300);
    NS_TEST_EXPECT_MSG_EQ(side.Read(0, 200).bytes, 200, "the limit");
    NS_TEST_EXPECT_MSG_EQ(side.Read(0, 200).bytes, 100, "what is there");
    NS_TEST_EXPECT_MSG_EQ(side.Read(0, 200).bytes, 0, "nothing");
    wire.server.room = 70;
    NS_TEST_EXPECT_MSG_EQ(side.Prepare(100), 0, "it costs nothing");
    NS_TEST_EXPECT_MSG_EQ(side.Write(0), false, "a part");
    wire.server.room = 30;
    NS_TEST_EXPECT_MSG_EQ(side.Write(0), true, "the rest");
    NS_TEST_EXPECT_MSG_EQ(wire.server.inFlight, 100, "once");
}

/// A program that takes a tenth of a microsecond for each byte.
struct SlowReader final : PacketSink
{
    explicit SlowReader(uint64_t buffer)
        : socket({buffer, {1'000, 100}}, cpu, 8)
    {
        socket.SetReader(*this);
    }

    void Receive(int64_t now, const Packet&, const PacketExtras*) override
    {
        times.push_back(now);
    }

    Cores cores{TestLoop(), 1, 0};
    Cpu cpu{cores, 1};
    UdpSocket socket;
    std::vector<int64_t> times;
};

TEST_CASE(SimulationTestCase,
          ReadCostTest,
          "Reading costs by packet and byte; a shard of FEC has its header around it")
{
    SlowReader reader(1 << 20);
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.datagramBytes = 100;
    reader.socket.Receive(0, packet, nullptr);
    packet.kind = PacketKind::FEC;
    packet.shardBytes = 192;
    reader.socket.Receive(0, packet, nullptr);
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ((reader.times == std::vector<int64_t>{11'000, 32'000}),
                          true,
                          "1 + 10 us, and 1 + 20 us of 200 bytes");
    NS_TEST_EXPECT_MSG_EQ(reader.socket.MaxUsed(), 960, "one of 704 + 256 was read at once");
    NS_TEST_EXPECT_MSG_EQ((reader.socket.StandsFor() == &reader), true, "for its reader");
}

TEST_CASE(SimulationTestCase,
          ReceiveBufferTest,
          "A receive buffer counts as Linux's over random arrivals (__udp_enqueue_schedule_skb(), "
          "udp_rmem_release())")
{
    std::mt19937 random(6);
    for (const uint64_t buffer : {2'000U, 10'000U, 30'000U})
    {
        const int64_t begin = ns3::Simulator::Now().GetNanoSeconds();
        SlowReader reader(buffer);
        // sk_rmem_alloc, what is forward-allocated, sk_receive_queue and reader_queue.
        uint64_t used = 0;
        uint64_t unreleased = 0;
        std::deque<uint32_t> fresh;
        std::deque<uint32_t> list;
        int64_t freeAt = begin;
        uint64_t drops = 0;
        bool isReading = false;
        auto read = [&](int64_t now) {
            if (list.empty())
            {
                std::swap(list, fresh);
            }
            isReading = !list.empty();
            if (!isReading)
            {
                return;
            }
            const uint32_t ipBytes = list.front();
            list.pop_front();
            unreleased += UdpSocket::TrueSize(ipBytes);
            if (unreleased >= buffer / 4 || list.empty())
            {
                used -= unreleased;
                unreleased = 0;
            }
            freeAt = now + 1'000 + 100 * ipBytes;
        };
        int64_t now = begin;
        for (int i = 0; i < 3'000; ++i)
        {
            now += 1 + static_cast<int64_t>(random() % 150'000);
            RunUntil(now - 1);
            while (isReading && freeAt < now)
            {
                read(freeAt);
            }
            Packet packet{};
            packet.kind = PacketKind::DATAGRAM;
            packet.datagramBytes = 28 + random() % 1'473;
            reader.socket.Receive(now - 1, packet, nullptr);
            if (used > buffer)
            {
                ++drops;
            }
            else
            {
                used += UdpSocket::TrueSize(packet.datagramBytes);
                fresh.push_back(packet.datagramBytes);
                if (!isReading)
                {
                    read(now - 1);
                }
            }
            NS_TEST_ASSERT_MSG_EQ(reader.socket.Drops(), drops, "datagram " << i);
        }
        NS_TEST_EXPECT_MSG_GT(drops, 0, "it was full");
        RunUntil(now + SECOND);
        NS_TEST_EXPECT_MSG_EQ(reader.times.size(), 3'000 - drops, "all others are read");
    }
}

} // namespace
