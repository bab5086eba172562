/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks NewReno (RFC 5681), and the pacing of algorithms that set a window.
 */
#include "congestion/reno.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-reno");

TEST_CASE(SimulationTestCase,
          RenoTest,
          "Reno doubles, then adds one segment per round trip, and halves")
{
    Reno reno{RenoParameters{}};
    FakeTransport transport(reno, 100 * MS);
    for (uint32_t expected = 20; expected <= 320; expected *= 2)
    {
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, expected, "slow start doubles");
    }
    NS_TEST_EXPECT_MSG_EQ(transport.state.pacingRate, 0, "Reno is not paced");

    transport.Lose();
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 160, "a loss halves");
    for (uint32_t expected = 161; expected <= 170; ++expected)
    {
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, expected, "one segment per round trip");
    }

    transport.SetCwndLimited(false);
    transport.AckWindow();
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 170, "no growth unless the window limits");
    transport.SetCwndLimited(true);
    transport.EnterRecovery();
    transport.AckWindow();
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 170, "the transport owns it in recovery");
}

TEST_CASE(SimulationTestCase,
          RenoFractionsTest,
          "With fractions, Reno's window is a number of bytes")
{
    RenoParameters parameters;
    parameters.beta = 0.7;
    parameters.fractions = 1;
    Reno reno(parameters);
    FakeTransport transport(reno, 100 * MS);
    transport.Lose(); // 10 · 0.7 = 7
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 7, "0.7 of it");
    transport.LeaveRecovery();
    transport.Lose(); // 4.9: while 4 are in flight, a fifth may leave
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 5, "the next whole number");
    transport.LeaveRecovery();
    transport.AckSegments(3);
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 5, "three of four");
    transport.AckSegments(1); // 5.9
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 6, "whole packets of 4.9 were acknowledged");
    transport.Lose(); // 4.13, where whole packets would have 6 · 0.7 = 4.2, rounded to 4
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 5, "0.7 of 5.9");
    for (int i = 0; i < 9; ++i)
    {
        transport.LeaveRecovery();
        transport.Lose();
    }
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 2, "at least two");
}

TEST_CASE(SimulationTestCase,
          RenoHyStartTest,
          "With HyStart, Reno leaves slow start when the RTT rises by an eighth")
{
    for (bool hasHyStart : {false, true})
    {
        RenoParameters parameters;
        parameters.hystart = hasHyStart;
        Reno reno(parameters);
        FakeTransport transport(reno, 80 * MS);
        transport.AckWindow();
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, INFINITE_SSTHRESH, "80 ms");
        transport.SetRtt(95 * MS); // 80 + 10 is the bound
        transport.AckWindow();
        transport.AckWindow();
        NS_TEST_EXPECT_MSG_EQ((transport.state.ssthresh < INFINITE_SSTHRESH), hasHyStart, "95 ms");
    }
}

TEST_CASE(SimulationTestCase,
          RenoTimeOutTest,
          "After a time-out Reno slow-starts to half its window")
{
    Reno reno{RenoParameters{}};
    FakeTransport transport(reno, 100 * MS, 100);
    transport.TimeOut();
    NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, 50, "half of the window");
    transport.AckSegments(1);
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 2, "slow start from one segment");
    transport.state.cwnd = 40;
    transport.AckSegments(30);
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 50, "a stretch ACK stops at the threshold");
    transport.AckSegments(30);
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 51, "and its rest counts for the next step");

    FakeTransport small(reno, 100 * MS, 3);
    small.Lose();
    NS_TEST_EXPECT_MSG_EQ(small.state.ssthresh, 2, "never below two segments");
}

TEST_CASE(SimulationTestCase,
          WindowPacingTest,
          "Pacing of window-based algorithms follows the window when asked for")
{
    RenoParameters parameters;
    parameters.pacing = 1;
    Reno reno(parameters);
    FakeTransport transport(reno, 100 * MS, 100);
    const double rate = 100. * transport.state.mss / 0.1;
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.pacingRate, 2 * rate, 1, "slow start: 200 %");
    transport.Lose();
    transport.AckSegments(1);
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.pacingRate, 0.6 * rate, 1, "later: 120 %");
}

} // namespace
