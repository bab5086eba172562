/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks Vegas, FAST, Westwood+ and HyStart++ (RFC 9406).
 */
#include "congestion/cubic.h"
#include "congestion/fast.h"
#include "congestion/hystart-plus-plus.h"
#include "congestion/vegas.h"
#include "congestion/westwood.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <algorithm>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-delay");

class VegasQueueTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        CheckQueue({2, 4, 1});
        CheckQueue({8, 12, 1});
    }

    void CheckQueue(const VegasParameters& parameters)
    {
        ns3::Simulator::Destroy();
        Vegas vegas(parameters);
        FakePipe pipe(vegas, 1000, RTT);
        pipe.Run(60 * SECOND);
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        pipe.Run(20 * SECOND, [&] {
            least = std::min(least, pipe.state.cwnd);
            most = std::max(most, pipe.state.cwnd);
        });
        // The least RTT holds a BDP of 101, the segment on the link included. One more in the
        // window while it moves, and one for the whole segments in which waiting is counted.
        NS_TEST_EXPECT_MSG_GT(least + 1, 101 + parameters.alpha, "not below alpha");
        NS_TEST_EXPECT_MSG_LT(most, 101 + parameters.beta + 2, "not above beta");
    }
};

ADD_CASE(VegasQueueTest, "Vegas keeps alpha to beta segments in the queue");

class VegasRoundTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        Vegas vegas(VegasParameters{});
        FakeTransport transport(vegas, RTT, 80);
        transport.state.ssthresh = 20;
        transport.AckSegments(1);
        transport.SetRtt(RTT * 11 / 10);
        AckRound(transport);
        AckRound(transport);
        const uint32_t before = transport.state.cwnd;
        AckRound(transport);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, before - 1, "seven wait: one less");
        NS_TEST_EXPECT_MSG_EQ(vegas.GetBaseRtt(), RTT + 1000, "least RTT");
        transport.Lose();
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, (before - 1) / 2, "half after a loss");
        vegas.OnTransmitStart(transport.state, transport.now, SECOND);
        NS_TEST_EXPECT_MSG_EQ(vegas.GetBaseRtt(), NEVER, "the RTT is learned anew after a pause");
        CheckNoRtt();
    }

    void CheckNoRtt()
    {
        Vegas vegas(VegasParameters{});
        FakeTransport transport(vegas, 0, 80);
        transport.state.ssthresh = 20;
        AckRound(transport);
        const uint32_t before = transport.state.cwnd;
        AckRound(transport);
        NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, before + 1, "nothing waits: one more");
    }

    static void AckRound(FakeTransport& transport)
    {
        const uint64_t end = transport.state.sndNxt;
        while (transport.state.sndUna <= end)
        {
            transport.TimePasses(MS);
            transport.AckSegments(1);
        }
    }
};

ADD_CASE(VegasRoundTest, "Vegas moves by one segment a round trip; Reno's ways with few samples");

TEST_CASE(SimulationTestCase,
          FastTest,
          "FAST keeps alpha segments in the queue, whatever it began with")
{
    constexpr double RATE = 1000; // 100 segments in a round trip
    for (double alpha : {5, 20, 60})
    {
        Fast fast({.alpha = alpha});
        FakePipe pipe(fast, RATE, RTT);
        pipe.Run(10 * SECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(pipe.GetQueue(), alpha, 2, "of " << alpha);
        pipe.SetRate(2 * RATE);
        pipe.Run(10 * SECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(pipe.GetQueue(), alpha, 2, "at twice the rate");
    }
}

TEST_CASE(SimulationTestCase,
          FastStepTest,
          "FAST moves by gamma towards its target, and at most doubles")
{
    Fast fast({.alpha = 1000, .gamma = 0.5});
    FakeTransport doubling(fast, RTT, 10);
    doubling.AckWindow();
    const uint32_t before = doubling.state.cwnd;
    doubling.AckWindow();
    NS_TEST_EXPECT_MSG_LT_OR_EQ(doubling.state.cwnd, 2 * before, "in a round trip");
    NS_TEST_EXPECT_MSG_GT(doubling.state.cwnd, 3 * before / 2, "but not less");
    NS_TEST_EXPECT_MSG_EQ(fast.GetSsThresh(doubling.state, 0),
                          doubling.state.cwnd / 2,
                          "a loss halves it");

    Fast steady({.alpha = 20, .gamma = 0.5});
    FakeTransport transport(steady, RTT, 100);
    for (int i = 0; i < 3; ++i)
    {
        transport.AckWindow(); // no queue: half of alpha is added
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(transport.state.cwnd, 125, 6, "two or three steps of ten");
}

TEST_CASE(SimulationTestCase,
          WestwoodTest,
          "Westwood+ goes back to the bandwidth times the least RTT")
{
    constexpr double RATE = 1000;
    Westwood westwood(WestwoodParameters{});
    FakePipe pipe(westwood, RATE, RTT);
    pipe.state.ssthresh = 150;
    pipe.Run(20 * SECOND);
    const double bytes = RATE * pipe.state.mss;
    NS_TEST_EXPECT_MSG_EQ_TOL(westwood.GetBandwidth(), bytes, 0.02 * bytes, "bandwidth");
    NS_TEST_EXPECT_MSG_GT(pipe.state.cwnd, 200, "with a queue");
    const uint32_t half = pipe.state.cwnd / 2;
    NS_TEST_EXPECT_MSG_EQ(westwood.GetSsThresh(pipe.state, pipe.now), half, "Reno's threshold");
    pipe.state.caState = CaState::RECOVERY;
    westwood.OnReductionEnd(pipe.state, pipe.now);
    NS_TEST_EXPECT_MSG_EQ_TOL(pipe.state.cwnd, 101, 3, "the BDP once recovery is over");
    NS_TEST_EXPECT_MSG_EQ(pipe.state.ssthresh, pipe.state.cwnd, "and threshold");
    pipe.state.caState = CaState::OPEN;
    pipe.state.ssthresh = 7;
    westwood.GetSsThresh(pipe.state, pipe.now);
    westwood.OnCaState(pipe.state, CaState::LOSS, pipe.now);
    NS_TEST_EXPECT_MSG_EQ_TOL(pipe.state.ssthresh, 101, 3, "after a time-out too");
}

class HyStartPlusPlusTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(CubicParameters{}.hystartPlusPlus, 0, "off by default");
        CheckThreshold(100 * MS, 12'500'000);
        CheckThreshold(16 * MS, 4 * MS);
        CheckThreshold(400 * MS, 16 * MS);
        CheckRounds();
        CheckReturn();
        CheckGrowth();
    }

    void CheckThreshold(int64_t rtt, int64_t threshold)
    {
        NS_TEST_EXPECT_MSG_EQ(IsSlowed(rtt, threshold - 1), false, rtt << " + " << threshold);
        NS_TEST_EXPECT_MSG_EQ(IsSlowed(rtt, threshold), true, rtt << " + " << threshold);
    }

    /// Take the samples of one round. \returns whether slow start is to end
    static bool RunRound(HyStartPlusPlus& detector, SenderState& state, int64_t rtt)
    {
        constexpr int SAMPLES = 8;
        bool isOver = false;
        state.sndUna = state.sndNxt + 1;
        state.sndNxt += 100;
        for (int i = 0; i < SAMPLES; ++i)
        {
            isOver = detector.OnRtt(state, rtt) || isOver;
        }
        return isOver;
    }

    static bool IsSlowed(int64_t rtt, int64_t rise)
    {
        SenderState state;
        HyStartPlusPlus detector({4, 5});
        detector.Reset(state);
        RunRound(detector, state, rtt);
        RunRound(detector, state, rtt + rise);
        return detector.IsConservative();
    }

    void CheckRounds()
    {
        SenderState state;
        HyStartPlusPlus detector({4, 5});
        detector.Reset(state);
        RunRound(detector, state, RTT);
        for (int round = 0; round < 5; ++round)
        {
            NS_TEST_EXPECT_MSG_EQ(RunRound(detector, state, 2 * RTT), false, "round " << round);
        }
        NS_TEST_EXPECT_MSG_EQ(RunRound(detector, state, 2 * RTT), true, "after five rounds");
    }

    void CheckReturn()
    {
        SenderState state;
        HyStartPlusPlus detector({4, 5});
        detector.Reset(state);
        RunRound(detector, state, RTT);
        RunRound(detector, state, 2 * RTT);
        RunRound(detector, state, 2 * RTT - 1);
        NS_TEST_EXPECT_MSG_EQ(detector.IsConservative(), false, "the RTT fell again");
    }

    void CheckGrowth()
    {
        SenderState state;
        HyStartPlusPlus detector({4, 5});
        detector.Reset(state);
        NS_TEST_EXPECT_MSG_EQ(detector.LimitGrowth(state, 20), 8, "L = 8 without pacing");
        state.pacingRate = 1;
        NS_TEST_EXPECT_MSG_EQ(detector.LimitGrowth(state, 20), 20, "no limit with it");
        RunRound(detector, state, RTT);
        RunRound(detector, state, 2 * RTT);
        uint32_t growth = 0;
        for (int i = 0; i < 40; ++i)
        {
            growth += detector.LimitGrowth(state, 1);
        }
        NS_TEST_EXPECT_MSG_EQ(growth, 10, "a quarter");
    }
};

ADD_CASE(HyStartPlusPlusTest, "HyStart++ slows down when the RTT rises, and then ends slow start");

class CubicHyStartPlusPlusTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        CubicParameters parameters;
        parameters.hystartPlusPlus = 1;
        const uint32_t slow = GetSlowStartEnd(parameters);
        NS_TEST_EXPECT_MSG_GT(slow, 101, "beyond the BDP");
        NS_TEST_EXPECT_MSG_LT(slow, 1000, "but it ends");
        parameters.hystartPlusPlus = 0;
        NS_TEST_EXPECT_MSG_LT(GetSlowStartEnd(parameters), slow, "later than with HyStart");
    }

    /// Threshold that slow start ends with, segments.
    static uint32_t GetSlowStartEnd(const CubicParameters& parameters)
    {
        ns3::Simulator::Destroy();
        Cubic cubic(parameters);
        FakePipe pipe(cubic, 1000, RTT);
        pipe.Run(10 * SECOND);
        return pipe.state.ssthresh;
    }
};

ADD_CASE(CubicHyStartPlusPlusTest,
         "CUBIC with HyStart++ leaves slow start a few rounds after the queue grows");

} // namespace
