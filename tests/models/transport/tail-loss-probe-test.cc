/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Tail loss probes (RFC 8985): scripted exchanges, and the probe alone. The RTT is 100 ms, the
 * handshake ends at 100 ms, and data written then is acknowledged at 200 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"
#include "transport/tail-loss-probe.h"

#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-tail-loss-probe");

TEST_CASE(SimulationTestCase,
          TailLossProbeTest,
          "A probe after two SRTT and 2 ms turns a lost tail into a SACK"
          " -> segment 9 at 402, 8 at 502 ms (RFC 8985, 7.2 and 7.3)")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.LoseSegment(8);
    exchange.toServer.LoseSegment(9);
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS),
                          "9@402 8@502",
                          "the last segment, then what its SACK shows lost");
    const SenderCounters& counters = exchange.client.tcp.GetSender().Counters();
    NS_TEST_EXPECT_MSG_EQ(counters.tailLossProbes, 1, "one probe");
    NS_TEST_EXPECT_MSG_EQ(counters.rtos, 0, "no time-out");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.control.reductions == std::vector<int64_t>{502 * MS}),
                          true,
                          "one reduction");
}

TEST_CASE(SimulationTestCase,
          ProbeNewDataTest,
          "A probe is new data where there is any, beyond the window"
          " -> segment 2 at 302, 0 at 402, 1 at 502 ms (RFC 8985, 7.3)")
{
    Exchange exchange;
    exchange.client.control.cwnd = 2;
    exchange.client.control.ssthresh = 2;
    exchange.Connect();
    exchange.toServer.LoseSegment(0);
    exchange.toServer.LoseSegment(1);
    exchange.WriteSegments(100 * MS, 3);
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS),
                          "2@302 0@402 1@502",
                          "segment 2 probes; then PRR, a segment for each delivered");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos, 0, "no time-out");
}

TEST_CASE(SimulationTestCase,
          ProbeRepairTest,
          "A loss that only the probe repaired costs a reduction all the same"
          " -> segment 9 at 500 ms, window 5 at 1100 ms (RFC 8985, 7.4)")
{
    // RFC 8985, section 7.4.2: an ACK beyond the probe, and no D-SACK for it.
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.LoseSegment(9);
    exchange.WriteSegments(100 * MS, 10);
    exchange.WriteSegments(1'000 * MS, 2);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS, 1'000 * MS),
                          "9@500",
                          "the probe is due when the RTO is (section 7.2)");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos, 0, "no time-out");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 0, "not known yet");
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ((exchange.client.control.reductions == std::vector<int64_t>{1'100 * MS}),
                          true,
                          "with the first ACK beyond it");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 5, "as after any loss");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::OPEN), true, "at once");
}

TEST_CASE(SimulationTestCase,
          NeedlessProbeTest,
          "A probe of what was only late costs nothing"
          " -> segment 9 at 402 ms, window 10 (RFC 8985, 7.4)")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.HoldSegment(8, 250 * MS);
    exchange.toServer.HoldSegment(9, 250 * MS);
    exchange.WriteSegments(100 * MS, 10);
    exchange.WriteSegments(1'000 * MS, 2);
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS, 1'000 * MS), "9@402", "a probe");
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(151 * MS, 1'000 * MS),
                          "9@400 10@400 10[D9-10)@452",
                          "the original, then the probe");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 0, "no loss");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 10, "the window stays");
}

TEST_CASE(ns3::TestCase,
          ProbeTest,
          "A probe's ACK comes -> it repaired a loss, unless new or reported by"
          " a D-SACK (RFC 8985, 7.4.2)")
{
    TailLossProbe probe;
    probe.OnSent(10, true);
    NS_TEST_EXPECT_MSG_EQ(probe.Is(9), true, "the last segment");
    NS_TEST_EXPECT_MSG_EQ(probe.OnAck(9, false), false, "not yet acknowledged");
    NS_TEST_EXPECT_MSG_EQ(probe.OnAck(10, false), false, "original or probe");
    NS_TEST_EXPECT_MSG_EQ(probe.IsOut(), true, "a D-SACK may follow");
    NS_TEST_EXPECT_MSG_EQ(probe.OnAck(11, false), true, "none did");
    NS_TEST_EXPECT_MSG_EQ(probe.IsOut(), false, "over");
    probe.OnSent(20, true);
    NS_TEST_EXPECT_MSG_EQ(probe.OnAck(20, true), false, "the original had arrived");
    NS_TEST_EXPECT_MSG_EQ(probe.IsOut(), false, "over");
    probe.OnSent(30, false);
    NS_TEST_EXPECT_MSG_EQ(probe.IsRetransmissionOut(), false, "new data");
    NS_TEST_EXPECT_MSG_EQ(probe.OnAck(30, false), false, "nothing was lost");
}

} // namespace
