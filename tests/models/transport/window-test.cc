/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * What the transport does to windows that are not used (RFC 2861), and how much an ACK counts
 * (RFC 3465). The RTT is 100 ms, the connection begins at 100 ms.
 */
#include "support/exchange.h"
#include "support/sender-script.h"
#include "support/test-case.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-window");

class IdleRestartTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Window with which data is sent so long after the last.
    uint32_t CwndAfter(int64_t idle)
    {
        Exchange exchange;
        exchange.client.control.cwnd = 80;
        exchange.Connect();
        exchange.WriteSegments(100 * MS, 80);
        RunUntil(201 * MS);
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().PacketsOut(), 0, "all");
        int64_t rto = exchange.client.tcp.GetSender().Rtt().Rto();
        NS_TEST_EXPECT_MSG_EQ_TOL(rto, 300 * MS, MS, "SRTT and 200 ms");
        exchange.WriteSegments(100 * MS + idle, 100);
        uint32_t cwnd = exchange.client.State().cwnd;
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Board().InFlight(), cwnd, "sent");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().ssthresh,
                              INFINITE_SSTHRESH,
                              "slow start leads back");
        ns3::Simulator::Destroy();
        return cwnd;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(298 * MS), 80, "less than a time-out");
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(305 * MS), 40, "one");
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(605 * MS), 20, "two");
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(905 * MS), 10, "three");
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(60'000 * MS), 10, "never below ten");
    }
};

ADD_CASE(IdleRestartTest,
         "An idle time-out halves the window, down to the initial one"
         " -> 80, 40, 20, 10 segments after 298, 305, 605, 905 ms (RFC 2861; "
         "Linux tcp_cwnd_restart())");

TEST_CASE(SimulationTestCase,
          IdleBbrTest,
          "Algorithms with cong_control keep their windows while idle"
          " -> 80 segments at 10 s, idle for 9.8 s (Linux tcp_slow_start_after_idle_check())")
{
    SenderScript script(Exchange::Spec(), std::make_unique<FixedWindow>(80), 100 * MS);
    script.Write(100 * MS, 80);
    script.Ack(200 * MS, 80);
    script.Write(10'000 * MS, 100);
    NS_TEST_EXPECT_MSG_EQ(script.sender.Board().InFlight(), 80, "as in Linux");
}

TEST_CASE(SimulationTestCase,
          UnusedWindowTest,
          "An unused window stays while ACKs come, and shrinks when they don't"
          " -> 40 segments; 25 after a time-out without ACKs (RFC 2861; Linux "
          "tcp_cwnd_application_limited())")
{
    // Measured on Linux 6.18: 20 Mbit/s over a path of 40 ms, 70 segments in use of 794, for
    // 20 s: tcp_cong_avoid() sets snd_cwnd_stamp with each ACK.
    Exchange exchange;
    exchange.client.control.cwnd = 40;
    exchange.Connect();
    for (int64_t time = 100; time < 5'000; time += 10)
    {
        exchange.WriteSegments(time * MS, 1);
    }
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 40, "10 segments in use");

    // tcp_cwnd_application_limited(): no ACK for a time-out, which a probe puts off.
    RunUntil(6'000 * MS);
    exchange.WriteSegments(6'000 * MS, 2);
    RunUntil(6'110 * MS);
    exchange.client.control.SetCwnd(40);
    exchange.toServer.LoseNext(PacketKind::DATA, 3);
    exchange.WriteSegments(6'150 * MS, 2);
    RunUntil(6'400 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().tailLossProbes, 1, "one");
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 40, "250 ms without an ACK");
    exchange.WriteSegments(6'420 * MS, 1);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 25, "half way to the initial window");
    exchange.WriteSegments(6'430 * MS, 1);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 25, "once in a time-out");
}

class StretchAckTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    uint32_t CwndAfter(const std::string& name, uint32_t acked)
    {
        SenderScript script(Exchange::Spec(), MakeCongestionControl(name, {}, 0), 100 * MS);
        script.Write(100 * MS, 100);
        script.Ack(200 * MS, acked);
        uint32_t cwnd = script.sender.State().cwnd;
        ns3::Simulator::Destroy();
        return cwnd;
    }

    void DoRun() override
    {
        // Linux tcp_slow_start(): RFC 3465 without its limit L of two segments (section 2.2).
        for (const char* name : {"reno", "cubic"})
        {
            NS_TEST_EXPECT_MSG_EQ(CwndAfter(name, 1), 11, name);
            NS_TEST_EXPECT_MSG_EQ(CwndAfter(name, 2), 12, name);
            NS_TEST_EXPECT_MSG_EQ(CwndAfter(name, 10), 20, name);
        }
    }
};

ADD_CASE(StretchAckTest,
         "In slow start an ACK of many segments counts for all of them"
         " -> 10 become 11, 12, 20 with an ACK of 1, 2, 10 (RFC 3465; Linux tcp_slow_start())");

TEST_CASE(ns3::TestCase,
          ReceiveRttTest,
          "Receivers learn the RTT from echoes -> the least at once, larger ones by an "
          "eighth while all is read; before 6.16 always by an eighth "
          "(Linux tcp_rcv_rtt_update())")
{
    ReceiveRtt now(true, 1'448);
    ReceiveRtt before(false, 1'448);
    auto echo = [&](uint32_t clock, uint32_t echoed, bool isAllRead) {
        now.OnEcho(clock, echoed, 1'448, isAllRead);
        before.OnEcho(clock, echoed, 1'448, isAllRead);
    };
    echo(1'040, 1'000, true);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 40 * MS, "the first");
    echo(1'200, 1'080, true);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 50 * MS, "an eighth of 80 ms more");
    echo(1'300, 1'080, true);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 50 * MS, "the same echo tells nothing new");
    echo(1'400, 1'270, false);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 50 * MS, "the reader is late");
    NS_TEST_EXPECT_MSG_EQ(before.Rtt(), 60 * MS, "which did not matter");
    echo(1'500, 1'480, true);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 20 * MS, "less");
    NS_TEST_EXPECT_MSG_EQ(before.Rtt(), 55 * MS, "by an eighth");
    now.OnEcho(1'600, 1'400, 100, true);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 20 * MS, "a short packet may have waited");
    echo(1'700, 1'700, true);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 20 * MS, "less than a millisecond cannot be told");

    now.OnInOrder(100 * MS, 10'000, 5'000);
    now.OnInOrder(105 * MS, 14'999, 5'000);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 20 * MS, "not yet a window");
    now.OnInOrder(110 * MS, 15'000, 5'000);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 10 * MS, "a window of data took less");
    now.OnInOrder(140 * MS, 20'000, 5'000);
    NS_TEST_EXPECT_MSG_EQ(now.Rtt(), 10 * MS, "or more, which counts for nothing");

    ReceiveRtt small(true, 400);
    small.OnEcho(1'040, 1'000, 400, true);
    NS_TEST_EXPECT_MSG_EQ(small.Rtt(), 40 * MS, "a full segment, though a small one");
}

} // namespace
