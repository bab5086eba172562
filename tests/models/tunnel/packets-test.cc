/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the parts of tunnels that carry packets: the queue in front of a program, fragments that
 * are put together, and packets in a stream.
 */
#include "support/fake-stream.h"
#include "support/simulation-test-case.h"
#include "tunnel/packet-server.h"
#include "tunnel/reassembler.h"
#include "tunnel/stream-tunnel.h"

#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-tunnel-packets");

Packet
MakeData(uint32_t segment, uint32_t tsVal = 0)
{
    Packet packet{};
    packet.kind = PacketKind::DATA;
    packet.segment = segment;
    packet.tsVal = tsVal;
    return packet;
}

/// Notes what it is given.
class Notes final : public PacketHandler
{
  public:
    struct Note
    {
        int64_t time;
        uint32_t segment;
        bool operator==(const Note&) const = default;
    };

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t /* ipBytes */,
                   const PacketExtras* extras) override
    {
        notes.push_back({now, packet.segment});
        if (packet.hasAck)
        {
            acks.push_back(extras->ackNumber);
        }
    }

    std::vector<Note> notes;
    std::vector<uint32_t> acks; //!< in the packets' headers
};

/// A server with a core of its own: 10 ns per packet, and 1 ns per 10 bytes.
struct Program
{
    explicit Program(uint32_t limit, const PacketCostSpec& cost = {10, 0.1})
        : server(thread, cost, limit)
    {
    }

    Cores cores{TestLoop(), 1, 0};
    Cpu cpu{cores, 1};
    CpuThread thread{cpu};
    PacketServer server;
    Notes notes;

    void Offer(int64_t now, uint32_t segment)
    {
        server.Enqueue(now, MakeData(segment), 100, nullptr, notes);
    }

    void OfferWithAck(int64_t now, uint32_t segment, uint32_t ackNumber)
    {
        Packet packet = MakeData(segment);
        packet.hasAck = true;
        PacketExtras extras{};
        extras.ackNumber = ackNumber;
        server.Enqueue(now, packet, 100, &extras, notes);
    }
};

TEST_CASE(SimulationTestCase,
          PacketServerTest,
          "A program handles one packet after the other and drops what waits")
{
    Program program(2);
    At(0, [&] {
        for (uint32_t segment = 0; segment < 5; ++segment)
        {
            program.Offer(0, segment); // one at work, two wait
            uint32_t drops = segment < 3 ? 0 : segment - 2;
            NS_TEST_EXPECT_MSG_EQ(program.server.Counters().drops, drops, "packet " << segment);
        }
        NS_TEST_EXPECT_MSG_EQ(program.server.Waiting(), 2, "without the one at work");
    });
    At(100, [&] { program.Offer(100, 5); });
    RunUntil(SECOND);
    const std::vector<Notes::Note> expected{{20, 0}, {40, 1}, {60, 2}, {120, 5}};
    NS_TEST_EXPECT_MSG_EQ((program.notes.notes == expected), true, "20 ns each, in order");
    NS_TEST_EXPECT_MSG_EQ(program.server.Counters().packets, 6, "offered");
    NS_TEST_EXPECT_MSG_EQ(program.server.Counters().drops, 2, "dropped");
    NS_TEST_EXPECT_MSG_EQ(program.server.Counters().maxWaiting, 2, "the limit");
}

TEST_CASE(SimulationTestCase, PiggybackTest, "ACKs in data packets stay with them and cost nothing")
{
    Program program(2);
    At(0, [&] {
        program.OfferWithAck(0, 1, 100);
        program.Offer(0, 2);
        program.OfferWithAck(0, 3, 200);
    });
    RunUntil(SECOND);
    const std::vector<Notes::Note> expected{{20, 1}, {40, 2}, {60, 3}};
    NS_TEST_EXPECT_MSG_EQ((program.notes.notes == expected), true, "20 ns each, in order");
    const std::vector<uint32_t> acks{100, 200};
    NS_TEST_EXPECT_MSG_EQ((program.notes.acks == acks), true, "each with its packet");
}

class BlockedProgramTest : public SimulationTestCase
{
  public:
    /// \param cost of a packet, 10 ns or nothing
    explicit BlockedProgramTest(double cost)
        : SimulationTestCase(cost > 0 ? "A program that blocks goes on where it was"
                                      : "So does one whose work costs nothing"),
          m_cost(cost)
    {
    }

  private:
    void DoRun() override
    {
        Program program(2, {m_cost, 0});
        program.server.Block();
        At(0, [&] {
            program.Offer(0, 0);
            program.Offer(0, 1);
            NS_TEST_EXPECT_MSG_EQ(program.server.Counters().drops, 0, "both wait");
            program.Offer(0, 2);
            NS_TEST_EXPECT_MSG_EQ(program.server.Counters().drops, 1, "no room");
        });
        At(1000, [&] { program.server.Unblock(1000); });
        RunUntil(SECOND);
        auto cost = static_cast<int64_t>(m_cost);
        const std::vector<Notes::Note> expected{{1000 + cost, 0}, {1000 + 2 * cost, 1}};
        NS_TEST_EXPECT_MSG_EQ((program.notes.notes == expected), true, "after it was unblocked");
        NS_TEST_EXPECT_MSG_EQ(program.server.Waiting(), 0, "nothing left");
    }

    double m_cost;
};

class ReassemblerTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    static Packet Lead(const Packet& packet)
    {
        Packet lead = packet;
        lead.kind = PacketKind::FRAGMENT;
        return lead;
    }

    void DoRun() override
    {
        Reassembler reassembler;
        Packet first = MakeData(1, 10);
        Packet again = MakeData(1, 20); // its retransmission
        Packet other = MakeData(2, 20);
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, Lead(first), 0), false, "the last is missing");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, first, 1), true, "in order");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, first, 1), false, "used up");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, again, 1), false, "no part of another copy");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, other, 2), false, "two are missing");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, Lead(other), 0), false, "one is missing");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, Lead(again), 0), true, "the last came first");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, Lead(other), 0), true, "three parts");
        Forget(reassembler);
    }

    void Forget(Reassembler& reassembler)
    {
        Packet old = MakeData(1000);
        reassembler.Add(Lead(old), nullptr, 0);
        for (uint32_t segment = 0; segment < 64; ++segment)
        {
            reassembler.Add(Lead(MakeData(2000 + segment)), nullptr, 0);
        }
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, old, 1), false, "forgotten");
        NS_TEST_EXPECT_MSG_EQ(IsWhole(reassembler, MakeData(2063), 1), true, "a recent one is not");
    }

    static bool IsWhole(Reassembler& reassembler, const Packet& fragment, uint32_t leads)
    {
        const Reassembler::Whole* whole = reassembler.Add(fragment, nullptr, leads);
        return whole && whole->packet.kind == PacketKind::DATA &&
               whole->packet.segment == fragment.segment;
    }
};

ADD_CASE(ReassemblerTest, "Fragments make a packet in any order, once all are there");

/// Notes what the host is given.
class HostNotes final : public PacketSink
{
  public:
    void Receive(int64_t /* now */, const Packet& packet, const PacketExtras* extras) override
    {
        segments.push_back(packet.segment);
        if (packet.hasAck)
        {
            acks.push_back(extras->ackNumber);
        }
    }

    std::vector<uint32_t> segments;
    std::vector<uint32_t> acks; //!< in the packets' headers
};

TEST_CASE(SimulationTestCase,
          PacketsInStreamTest,
          "A packet in a stream arrives with its last byte, and its extras too")
{
    constexpr uint32_t IP_BYTES = 100;
    StreamTunnelSpec spec;
    spec.writes.assign(IP_BYTES + 1, {2, IP_BYTES}); // a length, then the packet
    Cores cores(TestLoop(), 2, 0);
    Cpu cpu(cores, 1);
    FakeStreamPair wire;
    PacketLogs logs;
    StreamTunnelEnd client(spec, End::CLIENT, {}, wire.client, cpu, logs);
    StreamTunnelEnd server(spec, End::SERVER, {}, wire.server, cpu, logs);
    wire.client.Connect(0);
    wire.server.Connect(0);

    HostNotes host;
    wire.client.room = 250;
    for (uint32_t i = 0; i < 5; ++i)
    {
        Packet packet = MakeData(i);
        packet.sink = &host;
        packet.hasAck = i % 2;
        PacketExtras extras{};
        extras.ackNumber = 10 * i;
        client.Send(0, packet, IP_BYTES, &extras);
    }
    NS_TEST_EXPECT_MSG_EQ(wire.client.inFlight, 250, "as much as there is room for");
    NS_TEST_EXPECT_MSG_EQ(client.Queue().Waiting(), 2, "the program waits with the third");
    wire.ToServer(203);
    NS_TEST_EXPECT_MSG_EQ((host.segments == std::vector<uint32_t>{0}), true, "one is whole");
    wire.ToServer(1);
    NS_TEST_EXPECT_MSG_EQ((host.segments == std::vector<uint32_t>{0, 1}), true, "and another");

    wire.client.Drain(1'000);
    RunUntil(1 * US);
    NS_TEST_EXPECT_MSG_EQ(client.Queue().Waiting(), 0, "the program goes on");
    wire.client.DeliverAll(wire.server);
    NS_TEST_EXPECT_MSG_EQ((host.segments == std::vector<uint32_t>{0, 1, 2, 3, 4}),
                          true,
                          "all arrive, in order");
    NS_TEST_EXPECT_MSG_EQ((host.acks == std::vector<uint32_t>{10, 30}), true, "its own each");
}

ADD_CASES
{
    AddCase(new BlockedProgramTest(10));
    AddCase(new BlockedProgramTest(0));
}

} // namespace
