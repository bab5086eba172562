/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * RFC 8985: its own examples, and how RACK takes to reordering. The RTT is 100 ms, the connection
 * begins at 100 ms.
 */
#include "support/exchange.h"
#include "support/sender-script.h"
#include "support/test-case.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-transport-rack");

TEST_CASE(SimulationTestCase,
          FastRecoveryExampleTest,
          "A lost tail and a lost retransmission, no time-out"
          " -> segment 3 at 402, 1 and 2 at 502, 1 at 602 ms (RFC 8985, 3.4)")
{
    SenderScript script(Exchange::Spec(), std::make_unique<FixedWindow>(10), 100 * MS);
    script.Write(100 * MS, 4);
    NS_TEST_EXPECT_MSG_EQ(script.Sent(), "0@100 1@100 2@100 3@100", "event 1");
    script.Ack(200 * MS, 1);
    script.RunUntil(450 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.Sent(), "3@402", "3: a probe, two RTTs (and 2 ms) later");
    script.Ack(502 * MS, 1, {{3, 4}});
    NS_TEST_EXPECT_MSG_EQ(script.Sent(), "1@502 2@502", "5: P1 and P2 are lost");
    script.Ack(602 * MS, 1, {{2, 4}});
    NS_TEST_EXPECT_MSG_EQ(script.Sent(), "1@602", "7: so is P1's retransmission");
    script.Ack(702 * MS, 4);
    script.RunUntil(5'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.Sent(), "", "8: done");
    NS_TEST_EXPECT_MSG_EQ(script.sender.Counters().rtos, 0, "no time-out");
}

TEST_CASE(SimulationTestCase,
          TimeOutExampleTest,
          "What was sent just before a time-out is not lost"
          " -> time-out at 700 ms, segments 1 and 2 of 690 ms not sent again (RFC 8985, 3.5)")
{
    SenderScript script(Exchange::Spec(), std::make_unique<FixedWindow>(10), 100 * MS);
    script.Write(100 * MS, 1);
    script.Write(690 * MS, 2);
    script.RunUntil(710 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.Sent(),
                          "0@100 0@400 1@690 2@690 0@700",
                          "a probe, the time-out of 300 ms after it");
    NS_TEST_EXPECT_MSG_EQ(script.sender.Board().LostOut(), 1, "P1 alone is lost");
    script.Ack(790 * MS, 0, {{1, 2}});
    script.Ack(790 * MS, 0, {{1, 3}});
    script.Ack(800 * MS, 3);
    script.RunUntil(5'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(script.Sent(), "", "nothing needless");
}

class OvertakenTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // Linux tcp_try_undo_partial() tells by timestamps that the original arrived.
        Exchange exchange;
        exchange.client.control.cwnd = 20;
        exchange.Connect();
        Wire& wire = exchange.toServer;
        wire.HoldSegment(5, 20 * MS);
        exchange.WriteSegments(100 * MS, 200);
        RunUntil(210 * MS);
        NS_TEST_EXPECT_MSG_EQ(Retransmits(exchange), 1, "three SACKs at 200 ms");
        NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::RECOVERY), true, "");
        RunUntil(221 * MS);
        NS_TEST_EXPECT_MSG_EQ((exchange.client.State().caState == CaState::OPEN), true, "undone");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().undos, 1, "once");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.State().cwnd, 20, "as if nothing had been");
        for (uint32_t segment : {65, 105, 145})
        {
            wire.HoldSegment(segment, 20 * MS);
        }
        RunUntil(3'000 * MS);
        NS_TEST_EXPECT_MSG_EQ(Retransmits(exchange), 1, "20 ms are within a quarter of the RTT");
        NS_TEST_EXPECT_MSG_EQ(exchange.client.control.reductions.size(), 1, "one reduction");
        NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().Received(), 200 * 1'448, "all");
    }

    static uint64_t Retransmits(const Exchange& exchange)
    {
        return exchange.client.tcp.GetSender().Counters().retransmits;
    }
};

ADD_CASE(OvertakenTest,
         "A segment overtaken by many is retransmitted once, the next are not"
         " -> 1 retransmission, undone by 221 ms; none of the next three (RFC "
         "8985, 6.2; Linux tcp_try_undo_partial())");

TEST_CASE(SimulationTestCase,
          LateAboveHoleTest,
          "A D-SACK of a segment that was sacked before shows reordering"
          " -> 3 retransmissions, none of segment 85 (RFC 2883; Linux tcp_sacktag_one())")
{
    // Linux tcp_sacktag_one(). Without timestamps nothing else would.
    TcpSpec spec = Exchange::Spec();
    spec.headerBytes = 40;
    Exchange exchange(100 * MS, spec, spec);
    exchange.client.control.cwnd = 20;
    exchange.client.control.ssthresh = 20;
    exchange.Connect();
    Wire& wire = exchange.toServer;
    wire.LoseSegment(2, 2);
    wire.HoldSegment(5, 20 * MS);
    exchange.WriteSegments(100 * MS, 200);
    RunUntil(310 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.toClient.Acks(249 * MS, 251 * MS).substr(0, 12),
                          "2[D5-6)[3-24",
                          "the retransmission of 5, while 2 is missing");
    wire.HoldSegment(85, 20 * MS);
    RunUntil(3'000 * MS);
    NS_TEST_EXPECT_MSG_EQ(exchange.client.tcp.GetSender().Counters().retransmits,
                          3,
                          "2 twice, 5 once, 85 never");
    NS_TEST_EXPECT_MSG_EQ(exchange.server.tcp.GetReceiver().Received(), 200 * 1'448, "all");
}

class WindowStepsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    int64_t Window() const
    {
        return m_rack.ReorderingWindow(m_state, 0) / MS;
    }

    void DoRun() override
    {
        m_state.minRtt = m_state.srtt = 100 * MS;
        m_rack.OnReordering(3, 5);
        m_rack.OnDuplicate();
        NS_TEST_EXPECT_MSG_EQ(Window(), 25, "until an ACK delivers something");
        m_rack.UpdateWindow(10, 20);
        NS_TEST_EXPECT_MSG_EQ(Window(), 50, "a step");
        m_rack.OnDuplicate();
        m_rack.UpdateWindow(15, 25);
        NS_TEST_EXPECT_MSG_EQ(Window(), 50, "one in a round trip");
        for (int i = 0; i < 3; ++i)
        {
            m_rack.OnDuplicate();
            m_rack.UpdateWindow(30 + 20 * i, 40 + 20 * i);
        }
        NS_TEST_EXPECT_MSG_EQ(Window(), 100, "no more than SRTT");
        for (int i = 0; i < 15; ++i)
        {
            m_rack.OnRecoveryEnd();
        }
        NS_TEST_EXPECT_MSG_EQ(Window(), 100, "fifteen recoveries later");
        m_rack.OnNeedlessRecovery(); // Linux tcp_try_undo_dsack()
        m_rack.OnRecoveryEnd();
        NS_TEST_EXPECT_MSG_EQ(Window(), 100, "one that was undone does not count");
        m_rack.OnRecoveryEnd();
        NS_TEST_EXPECT_MSG_EQ(Window(), 25, "the sixteenth");
    }

    SenderState m_state;
    Rack m_rack;
};

ADD_CASE(WindowStepsTest,
         "D-SACKs widen the window for sixteen recoveries"
         " -> 25, 50, 100 ms; 25 ms after the sixteenth (RFC 8985, 6.2; Linux "
         "tcp_try_undo_dsack())");

class ReorderedGrowthTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    /// Window of Reno in slow start, after SACKs of `segments` behind a late one.
    uint32_t CwndAfter(uint32_t lateBy)
    {
        SenderScript script(Exchange::Spec(), MakeCongestionControl("reno", {}, 0), 100 * MS);
        script.Write(100 * MS, 100);
        script.Ack(200 * MS, 0, {{1, 1 + lateBy}});
        script.Ack(201 * MS, 1 + lateBy); // the late one
        script.Ack(202 * MS, 10);
        uint32_t before = script.sender.State().cwnd;
        script.Ack(300 * MS, 10, {{11, 16}});
        uint32_t grown = script.sender.State().cwnd - before;
        ns3::Simulator::Destroy();
        return grown;
    }

    void DoRun() override
    {
        // Linux tcp_may_raise_cwnd()
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(2), 0, "overtaken by two");
        NS_TEST_EXPECT_MSG_EQ(CwndAfter(5), 5, "overtaken by five");
    }
};

ADD_CASE(ReorderedGrowthTest,
         "With much reordering the window grows with SACKs, too"
         " -> by 0 after two overtook one, by 5 after five did (Linux tcp_may_raise_cwnd())");

} // namespace
