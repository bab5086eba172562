/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * What a socket counts of its host's TCP memory, in scripted exchanges with an RTT of 100 ms.
 */
#include "host/tcp-memory.h"
#include "support/exchange.h"
#include "support/test-case.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-memory");

constexpr uint64_t LIMIT = 6 << 20;
constexpr uint64_t RESERVE = 1 << 20;
constexpr uint64_t SEGMENT = 1'448;

TEST_CASE(SimulationTestCase,
          ReserveTest,
          "A socket releases memory, and later its timer runs -> the memory counts, "
          "up to a limit, until then (Linux sk_mem_uncharge(), "
          "tcp_write_timer_handler() of 5.10)")
{
    TcpMemory memory(LIMIT, RESERVE);
    TcpSpec spec = Exchange::Spec();
    spec.sendBuffer = 4 << 20;
    Exchange exchange(100 * MS, spec);
    exchange.client.tcp.SetMemory(memory);
    exchange.client.control.cwnd = 1'000;
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 400);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 400 * SEGMENT, "what was written");
    RunUntil(350 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Buffer().Queued(), 0, "all arrived");
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 400 * SEGMENT, "and still counts");
    exchange.WriteSegments(350 * MS, 200);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 400 * SEGMENT, "no more is needed");
    RunUntil(460 * MS);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 400 * SEGMENT, "acknowledged");

    exchange.WriteSegments(460 * MS, 900);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 900 * SEGMENT, "without pressure");
    RunUntil(700 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Buffer().Queued(), 0, "all arrived");
    NS_TEST_EXPECT_MSG_LT(memory.Total(), RESERVE + 1, "at most the reserve");
    NS_TEST_EXPECT_MSG_GT(memory.Total(), RESERVE / 2 - 1, "of which half stays");
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 0, "the timer ran: it is not deleted");
}

TEST_CASE(SimulationTestCase,
          PressureTest,
          "A socket takes a buffer, without and with pressure -> under pressure it "
          "returns its reserve (Linux sk_stream_alloc_skb() of 5.10)")
{
    TcpMemory memory(LIMIT, RESERVE);
    Exchange exchange;
    exchange.client.tcp.SetMemory(memory);
    exchange.client.control.cwnd = 1'000;
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 400);
    RunUntil(220 * MS);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 400 * SEGMENT, "acknowledged, and still counts");
    exchange.WriteSegments(220 * MS, 10);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), 400 * SEGMENT, "no pressure");

    const uint64_t others = LIMIT / 3 * 2; // of other sockets, the second threshold
    memory.Charge(static_cast<int64_t>(others));
    NS_TEST_EXPECT_MSG_EQ(memory.IsUnderPressure(), true, "pressure");
    exchange.WriteSegments(225 * MS, 10);
    NS_TEST_EXPECT_MSG_EQ(memory.Total(), others + 20 * SEGMENT, "what is in the buffer");
}

} // namespace
