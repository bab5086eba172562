/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the UDP socket in front of a program that takes time: what it has room for, and what it
 * drops.
 */
#include "support/simulation-test-case.h"
#include "tunnel/udp-socket.h"

#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel-udp-socket");

TEST_CASE(SimulationTestCase,
          TrueSizeTest,
          "A datagram takes the room of its buffer and its descriptor, as in Linux")
{
    NS_TEST_EXPECT_MSG_EQ(UdpSocket::TrueSize(1500), 2304, "2048 and 256");
    NS_TEST_EXPECT_MSG_EQ(UdpSocket::TrueSize(306), 960, "the largest of 704 and 256");
    NS_TEST_EXPECT_MSG_EQ(UdpSocket::TrueSize(307), 1280, "1024 and 256");
    NS_TEST_EXPECT_MSG_EQ(UdpSocket::TrueSize(1651), 4352, "4096 and 256");
}

/// A program that takes 100 us for each datagram, at a tenth of the speed.
struct Reader final : PacketSink
{
    explicit Reader(uint64_t buffer)
        : socket({buffer, {10'000, 0}}, cpu, 0)
    {
        socket.SetReader(*this);
    }

    void Offer(int64_t now, uint32_t count)
    {
        for (uint32_t i = 0; i < count; ++i)
        {
            Packet packet{};
            packet.kind = PacketKind::DATAGRAM;
            packet.segment = offered++;
            packet.datagramBytes = 1500;
            socket.Receive(now, packet, nullptr);
        }
    }

    void Receive(int64_t now, const Packet& packet, const PacketExtras*) override
    {
        read.push_back(packet.segment);
        lastRead = now;
    }

    Cores cores{TestLoop(), 1, 0};
    Cpu cpu{cores, 0.1};
    UdpSocket socket;
    uint32_t offered{0};
    std::vector<uint32_t> read;
    int64_t lastRead{-1};
};

TEST_CASE(SimulationTestCase,
          OverflowTest,
          "A program that is slower than the wire loses what its receive buffer has no room for")
{
    Reader reader(212'992);
    // The program takes one at once. 92 fit, and one more, because Linux looks at what was there
    // before.
    reader.Offer(0, 100);
    NS_TEST_EXPECT_MSG_EQ(reader.socket.Drops(), 100 - 1 - 93, "the rest");
    NS_TEST_EXPECT_MSG_EQ(reader.socket.MaxUsed(), 93 * 2304, "a full one more than the buffer");
    RunUntil(SECOND);
    NS_TEST_EXPECT_MSG_EQ(reader.read.size(), 94, "all others are read");
    NS_TEST_EXPECT_MSG_EQ(reader.lastRead, 94 * 100 * US, "100 us each");
    reader.Offer(SECOND, 3);
    RunUntil(2 * SECOND);
    NS_TEST_EXPECT_MSG_EQ(reader.read.size(), 97, "there is room again");
    NS_TEST_EXPECT_MSG_EQ(reader.read.back(), 102, "in order");
}

TEST_CASE(SimulationTestCase, ReleaseTest, "What was read gives its room back a quarter at a time")
{
    Reader reader(212'992);
    reader.Offer(0, 100);
    // 24 buffers are more than a quarter. The first was alone in the program's list.
    RunUntil(2300 * US + 1);
    reader.Offer(2300 * US + 1, 1);
    NS_TEST_EXPECT_MSG_EQ(reader.socket.Drops(), 6 + 1, "23 were read, and none has given room");
    RunUntil(2400 * US + 1);
    reader.Offer(2400 * US + 1, 30);
    NS_TEST_EXPECT_MSG_EQ(reader.socket.Drops(), 6 + 1 + 6, "now there is room for 24");
}

} // namespace
