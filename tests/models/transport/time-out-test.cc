/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Scripted exchanges: retransmission time-outs (RFC 6298), what is sent after them, and the
 * kernel's timers. The RTT is 100 ms, the handshake ends at 100 ms, and data written then is
 * acknowledged at 200 ms.
 */
#include "support/exchange.h"
#include "support/test-case.h"
#include "transport/timer-wheel.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-time-out");

TEST_CASE(SimulationTestCase,
          HeadTimeOutTest,
          "The time-out starts anew when the first segment is sent again"
          " -> segment 10 at 1100 and 1400 ms (Linux tcp_xmit_retransmit_queue())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 10);
    exchange.toServer.LoseSegment(10, 2);
    exchange.WriteSegments(1'000 * MS, 4);
    RunUntil(2'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(1'001 * MS),
                          "10@1100 10@1400",
                          "300 ms after the retransmission, not after the first ACK before it");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos, 1, "a time-out");
}

TEST_CASE(SimulationTestCase,
          TimeOutInRecoveryTest,
          "After a time-out in recovery what is lost goes before new data"
          " -> segment 10 at 737, 12 at 837 ms (RFC 5682, 3.1; Linux tcp_enter_loss())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 10);
    exchange.toServer.LoseSegment(10, 2);
    exchange.toServer.LoseSegment(12, 2);
    exchange.WriteSegments(310 * MS, 4);
    exchange.WriteSegments(500 * MS, 4);
    RunUntil(838 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(311 * MS),
                          "10@437 10@737 12@837",
                          "no test of whether the time-out was spurious");
}

TEST_CASE(SimulationTestCase,
          SecondTimeOutTest,
          "A time-out after progress reduces the window again"
          " -> 3 time-outs, 3 reductions (Linux tcp_enter_loss())")
{
    Exchange exchange;
    exchange.Connect();
    for (uint32_t segment = 0; segment < 10; ++segment)
    {
        exchange.toServer.LoseSegment(segment);
    }
    exchange.toServer.LoseSegment(9, 1);
    exchange.toServer.LoseSegment(1, 1);
    exchange.toServer.LoseSegment(2, 1);
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(5'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos,
                          3,
                          "of segment 0, of 1 once 0 has arrived, of 2 once 1 has");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 3, "one for each");
}

TEST_CASE(SimulationTestCase,
          TimeOutAfterMarkTest,
          "A time-out once all that a mark reduced for was acknowledged reduces the window again"
          " -> 2 reductions (Linux tcp_enter_loss(): high_seq is not after snd_una)")
{
    TcpSpec spec = Exchange::Spec();
    spec.ecn = true;
    Exchange exchange(100 * MS, spec, spec);
    exchange.Connect();
    exchange.toServer.MarkSegment(9);
    exchange.toServer.LoseSegment(10, 2);
    exchange.WriteSegments(100 * MS, 10);
    exchange.WriteSegments(1'000 * MS, 1);
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::CWR),
                          true,
                          "held until the segment with CWR is acknowledged");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "for the mark");
    RunUntil(1'650 * MS); // before the peer, which has not seen a CWR, echoes the mark again
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(900 * MS),
                          "10@1000 10@1300 10@1600",
                          "a probe, then the time-out");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos, 1, "of segment 10");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 2, "another for its loss");
}

TEST_CASE(SimulationTestCase,
          TimeOutDuringMarkTest,
          "A time-out of what was sent before a mark does not reduce the window again"
          " -> 1 reduction (Linux tcp_enter_loss(): high_seq is after snd_una)")
{
    TcpSpec spec = Exchange::Spec();
    spec.ecn = true;
    Exchange exchange(100 * MS, spec, spec);
    exchange.Connect();
    exchange.toServer.MarkSegment(0);
    for (uint32_t segment = 1; segment < 10; ++segment)
    {
        exchange.toServer.LoseSegment(segment, 2);
    }
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(250 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "for the mark");
    while (exchange.client.tcp.GetSender().Counters().rtos == 0 &&
           ns3::Simulator::Now().GetSeconds() < 5)
    {
        RunUntil(ns3::Simulator::Now().GetNanoSeconds() + 10 * MS);
    }
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos, 1, "of segment 1");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::LOSS), true, "at once");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "still");
}

TEST_CASE(SimulationTestCase,
          TimerWheelTest,
          "Timers fire by jiffies, and the longer ones by eight of them"
          " -> 40 ms become 44, 252 become 280, 2016 become 2048 (Linux calc_wheel_index())")
{
    const TimerWheel wheel(4 * MS);
    // Linux 6.18 at HZ 250: delayed ACKs after 40 to 44 ms, 212 ms after 212 to 216, 424 ms
    // after 428 to 456, 848 ms after 864 or so.
    NS_TEST_EXPECT_MSG_EQ(wheel.Expiry(1'000 * MS, 1'040 * MS), 1'044 * MS, "at a tick");
    NS_TEST_EXPECT_MSG_EQ(wheel.Expiry(1'003 * MS, 1'043 * MS), 1'044 * MS, "before one");
    NS_TEST_EXPECT_MSG_EQ(wheel.Expiry(1'000 * MS, 1'211 * MS), 1'216 * MS, "rounded up");
    NS_TEST_EXPECT_MSG_EQ(wheel.Expiry(1'000 * MS, 1'248 * MS), 1'252 * MS, "62 jiffies");
    NS_TEST_EXPECT_MSG_EQ(wheel.Expiry(1'000 * MS, 1'252 * MS), 1'280 * MS, "63 jiffies");
    NS_TEST_EXPECT_MSG_EQ(wheel.Expiry(1'000 * MS, 1'424 * MS), 1'440 * MS, "of 32 ms");
    NS_TEST_EXPECT_MSG_EQ(wheel.Expiry(0, 2'016 * MS), 2'048 * MS, "of 256 ms");
    NS_TEST_EXPECT_MSG_EQ(TimerWheel(0).Expiry(0, 7), 7, "exact");
}

TEST_CASE(SimulationTestCase,
          TimeOutTest,
          "The retransmission time-out doubles, and starts again afresh"
          " -> at 400 (a probe), 700, 1300, 2500, 4900 ms (RFC 6298, 5)")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.LoseSegment(0, 5);
    exchange.WriteSegments(100 * MS, 1);
    RunUntil(6'000 * MS);
    // SRTT 100 ms, RTTVAR 50 ms: 300 ms; the first of them is a probe's.
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(),
                          "0@100 0@400 0@700 0@1300 0@2500 0@4900",
                          "300, 300, 600, 1200, 2400 ms");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().rtos, 4, "time-outs");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().tailLossProbes, 1, "");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "one episode");

    exchange.toServer.LoseSegment(1, 2);
    exchange.WriteSegments(6'000 * MS, 1);
    RunUntil(8'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(6'000 * MS),
                          "1@6000 1@6300 1@6600",
                          "no back-off after an RTT sample");
}

TEST_CASE(SimulationTestCase,
          TimeOutFloorTest,
          "The time-out is SRTT and at least 200 ms"
          " -> segment 10 at 1210 and 1420 ms (Linux tcp_rtt_estimator(), tcp_rto_min())")
{
    Exchange exchange(10 * MS);
    exchange.Connect();
    exchange.WriteSegments(100 * MS, 10);
    exchange.toServer.LoseSegment(10, 2);
    exchange.WriteSegments(1'000 * MS, 1);
    RunUntil(3'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(1'000 * MS),
                          "10@1000 10@1210 10@1420",
                          "10 + 200 ms");
}

TEST_CASE(SimulationTestCase,
          TimeOutRecoveryTest,
          "After a time-out everything is sent again, from one segment on"
          " -> segment 9 at 302 (a probe), 0 at 602 ms; window 1, 10 lost (RFC "
          "5681, 3.1; RFC 6298, 5)")
{
    Exchange exchange;
    exchange.Connect();
    for (uint32_t segment = 0; segment < 10; ++segment)
    {
        exchange.toServer.LoseSegment(segment, 1);
    }
    exchange.toServer.LoseSegment(9, 1);
    exchange.WriteSegments(100 * MS, 10);
    RunUntil(603 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(101 * MS),
                          "9@302 0@602",
                          "the probe is lost too; 300 ms after it, the first segment");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 1, "one segment");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().LostOut(), 10, "all lost");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::LOSS), true, "loss");
    RunUntil(5'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().TotalRead(), 14'480, "all read");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().Duplicates(), 0, "nothing twice");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "one reduction");
}

TEST_CASE(SimulationTestCase,
          RepairLostInLossTest,
          "A repair that is lost after a time-out reduces the window again"
          " -> state Recovery, two reductions (Linux tcp_rack_reo_timeout())")
{
    Exchange exchange;
    exchange.Connect();
    exchange.toServer.HoldSegment(0, 5 * MS); // so that RACK waits for what may be reordered
    exchange.WriteSegments(100 * MS, 3);
    for (uint32_t segment = 3; segment < 13; ++segment)
    {
        exchange.toServer.LoseSegment(segment, 1);
    }
    exchange.toServer.LoseSegment(12, 1);
    exchange.toServer.LoseSegment(4, 1);
    exchange.WriteSegments(1'000 * MS, 10);
    RunUntil(1'550 * MS);
    exchange.client.control.SetCwnd(3);
    RunUntil(1'710 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toServer.Data(1'550 * MS, 1'700 * MS),
                          "12@1603.88 4@1603.88 5@1603.88",
                          "the window, lost repairs first");
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::LOSS), true, "5 came");
    RunUntil(1'740 * MS);
    NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::RECOVERY),
                          true,
                          "4 did not come for a quarter of the RTT");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 2, "once more");
    RunUntil(5'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().TotalRead(), 18'824, "all read");
}

} // namespace
