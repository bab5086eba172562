/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks CUBIC (RFC 9438).
 */
#include "congestion/congestion-parameters.h"
#include "congestion/cubic.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <cmath>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-cubic");

/// CUBIC without HyStart, which has tests of its own.
CubicParameters
WithoutHyStart()
{
    CubicParameters parameters;
    parameters.hystart = 0;
    return parameters;
}

TEST_CASE(SimulationTestCase,
          CubicCurveTest,
          "CUBIC follows W(t) of RFC 9438 through plateau and probing")
{
    constexpr double C = 0.4;
    constexpr double MAX = 1000;
    constexpr double RTT = 0.1;
    Cubic cubic(WithoutHyStart());
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.Lose();
    NS_TEST_ASSERT_MSG_EQ(transport.state.cwnd, 700, "beta is 0.7");
    NS_TEST_ASSERT_MSG_EQ(cubic.GetLastMax(), 1000, "W_max");

    const int64_t start = transport.now;
    const double k = std::cbrt(MAX * 0.3 / C);
    const auto curve = [&](double t) { return C * (t - k) * (t - k) * (t - k) + MAX; };
    // The window is whole segments and reacts once per ACK: it must lie between the curve one
    // round trip ago and one ahead.
    for (int round = 0; round < 200; ++round)
    {
        transport.AckWindow();
        const double t = static_cast<double>(transport.now - start) / SECOND;
        NS_TEST_ASSERT_MSG_GT_OR_EQ(transport.state.cwnd, curve(t - RTT) - 1, "at " << t);
        NS_TEST_ASSERT_MSG_LT_OR_EQ(transport.state.cwnd, curve(t + RTT) + 1, "at " << t);
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(cubic.GetK(), k, 1e-9, "K");
    NS_TEST_EXPECT_MSG_GT(transport.state.cwnd, 1.3 * MAX, "far into probing");
}

TEST_CASE(SimulationTestCase,
          CubicFlatTest,
          "The flattest curve that a user can ask for has its plateau where RFC 9438 has it")
{
    const auto parameters =
        ParseParameters("cubic", Cubic::GetParameterTable(), {{"c", 1e-6}, {"hystart", false}});
    Cubic cubic(parameters);
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.Lose();
    transport.AckSegments(1);
    // Section 4.2, equation 2: from 700 segments back to 1000.
    NS_TEST_EXPECT_MSG_EQ_TOL(cubic.GetK(), std::cbrt(300 / 1e-6), 1e-6, "K, 669 s");
}

TEST_CASE(SimulationTestCase,
          CubicLossTest,
          "CUBIC converges fast, forgets after a time-out, and caps growth")
{
    Cubic cubic(WithoutHyStart());
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.Lose();
    transport.Lose();
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 490, "0.7 of 700");
    NS_TEST_EXPECT_MSG_EQ(cubic.GetLastMax(), 595, "W_max is 700 (1 + beta)/2");

    CubicParameters slow = WithoutHyStart();
    slow.fastConvergence = 0;
    Cubic unyielding(slow);
    FakeTransport other(unyielding, 100 * MS, 1000);
    other.Lose();
    other.Lose();
    NS_TEST_EXPECT_MSG_EQ(unyielding.GetLastMax(), 700, "W_max without fast convergence");

    other.TimeOut();
    NS_TEST_EXPECT_MSG_EQ(other.state.ssthresh, 343, "0.7 of 490");
    NS_TEST_EXPECT_MSG_EQ(unyielding.GetLastMax(), 0, "a time-out forgets the maximum");

    // Far below the curve: at most half a window per round trip.
    FakeTransport capped(cubic, SECOND, 1000);
    capped.Lose();
    capped.state.cwnd = 20;
    capped.state.ssthresh = 20;
    capped.AckSegments(20);
    NS_TEST_EXPECT_MSG_EQ(capped.state.cwnd, 30, "growth by half in one round trip");
}

class CubicRenoFriendlyTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // One segment of tolerance: the window follows the Reno-friendly one by a step.
        constexpr double ALPHA = 3 * 0.3 / 1.7;
        NS_TEST_EXPECT_MSG_EQ_TOL(Grow(1, 0), 40 * ALPHA, 1.2, "alpha segments a round");
        NS_TEST_EXPECT_MSG_LT(Grow(0, 0), 10, "the cubic curve alone is still below its plateau");
        // The window before the loss, 9 segments up, is reached after 9/alpha = 17 rounds.
        NS_TEST_EXPECT_MSG_EQ_TOL(Grow(1, 1), 9 + (40 - 9 / ALPHA), 2, "alpha is 1 above it");
    }

    /// Segments gained in 40 round trips of 40 ms from a window of 20.
    double Grow(double isFriendly, double isAlphaOne)
    {
        CubicParameters parameters = WithoutHyStart();
        parameters.renoFriendly = isFriendly;
        parameters.renoFriendlyAlphaOne = isAlphaOne;
        Cubic cubic(parameters);
        FakeTransport transport(cubic, 40 * MS, 29);
        transport.Lose();
        const uint32_t before = transport.state.cwnd;
        for (int round = 0; round < 40; ++round)
        {
            transport.AckWindow();
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd - before;
    }
};

ADD_CASE(CubicRenoFriendlyTest, "On short paths CUBIC grows as the Reno-friendly window does");

class CubicClockTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        // The step of a window that stands still is renewed after more than seven jiffies. From the
        // third round trip to the sixth, 30 ms, eight begin or seven.
        NS_TEST_EXPECT_MSG_EQ(GrowFor50Ms(3 * MS), 13, "from 23 to 53 ms: eight");
        NS_TEST_EXPECT_MSG_EQ(GrowFor50Ms(0), 10, "from 20 to 50 ms: seven");

        // Linux's beta_scale: W_est grows by one for more than 9 * 15/8 segments, not 9 * 17/9.
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 10 * MS, 9);
        transport.state.ssthresh = 9;
        transport.AckSegments(1);
        transport.TimePasses(40 * MS);
        transport.AckSegments(16);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, 10, "17 segments for one more");
    }

    /// The window 50 ms after a loss at 13 segments, 10 ms a round trip, that began at `time`.
    uint32_t GrowFor50Ms(int64_t time)
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 10 * MS, 13);
        transport.Lose();
        transport.TimePasses(time);
        transport.AckSegments(transport.state.cwnd - 1);
        for (int round = 0; round < 5; ++round)
        {
            transport.TimePasses(10 * MS);
            transport.AckSegments(transport.state.cwnd);
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd;
    }
};

ADD_CASE(CubicClockTest, "CUBIC counts time in jiffies, and Reno's slope in eighths");

class CubicIdleTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const uint32_t busy = RunWithPause(0);
        NS_TEST_EXPECT_MSG_EQ_TOL(RunWithPause(20 * SECOND), busy, 1, "the curve waits");
    }

    uint32_t RunWithPause(int64_t pause)
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 100 * MS, 1000);
        transport.Lose();
        for (int round = 0; round < 20; ++round)
        {
            transport.AckWindow();
        }
        transport.TimePasses(pause);
        cubic.OnTransmitStart(transport.state, transport.now, pause);
        for (int round = 0; round < 20; ++round)
        {
            transport.AckWindow();
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd;
    }
};

ADD_CASE(CubicIdleTest, "Idle time does not advance CUBIC's curve");

class CubicMinRttTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        const int64_t same = 100 * MS;
        const int64_t less = 10 * MS;
        NS_TEST_EXPECT_MSG_EQ(Run(SECOND, less), Run(SECOND, same), "the first second");
        NS_TEST_EXPECT_MSG_LT(Run(3 * SECOND, less),
                              Run(3 * SECOND, same),
                              "then the target is the curve a shorter RTT ahead");
    }

    /// The window so long after a loss, when the RTT has gone from 100 ms to `rtt`.
    uint32_t Run(int64_t time, int64_t rtt)
    {
        Cubic cubic(WithoutHyStart());
        FakeTransport transport(cubic, 100 * MS, 1000);
        transport.Lose();
        transport.AckSegments(1); // starts the epoch
        transport.SetRtt(rtt);
        while (transport.now < time)
        {
            transport.AckSegments(1);
            transport.TimePasses(MS / 10);
        }
        ns3::Simulator::Destroy();
        return transport.state.cwnd;
    }
};

ADD_CASE(CubicMinRttTest, "CUBIC takes no RTT samples in the first second after a loss");

TEST_CASE(SimulationTestCase,
          CubicSearchTest,
          "With no known maximum CUBIC grows by at least 5 % per round trip")
{
    Cubic cubic(WithoutHyStart());
    FakeTransport transport(cubic, 100 * MS, 1000);
    transport.state.ssthresh = 1000;
    transport.AckWindow();
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 1050, 1, "5 % of 1000");
}

} // namespace
