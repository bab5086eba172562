/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks BBRv3 (draft-ietf-ccwg-bbr) over a pipe of known rate and delay, and its parts by
 * themselves.
 */
#include "congestion/bbr3/bbr3.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <vector>

namespace
{

using namespace tunnelcc;
using Mode = Bbr3::Mode;

TEST_SUITE("tunnelcc-congestion-bbr3");

/// Segments in flight that fill the pipe.
constexpr double BDP = 101;

/// A stay in one state.
struct Stay
{
    Mode mode;
    double gain;
    int64_t start;
    int64_t length;
};

/// The states that a pipe's sender goes through.
std::vector<Stay>
CollectStays(FakePipe& pipe, const Bbr3& bbr, int64_t length)
{
    std::vector<Stay> stays;
    pipe.Run(length, [&] {
        if (stays.empty() || stays.back().mode != bbr.GetMode())
        {
            stays.push_back({bbr.GetMode(), bbr.GetPacingGain(), pipe.now, 0});
        }
        stays.back().length = pipe.now - stays.back().start;
    });
    return stays;
}

std::vector<Stay>
Select(const std::vector<Stay>& stays, Mode mode)
{
    std::vector<Stay> selected;
    for (const Stay& stay : stays)
    {
        if (stay.mode == mode)
        {
            selected.push_back(stay);
        }
    }
    return selected;
}

class PartsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        CheckFullPipe();
        CheckMaxBandwidth();
        CheckMinRtt();
        CheckShortTerm();
        CheckSchedule();
    }

    void CheckFullPipe()
    {
        Bbr3FullPipe pipe;
        for (double bandwidth : {100., 125., 150., 150.})
        {
            pipe.EndRound(bandwidth, 1.25, 3);
        }
        NS_TEST_EXPECT_MSG_EQ(pipe.IsFull(), false, "two rounds with growth below a quarter");
        pipe.EndRound(156, 1.25, 3);
        NS_TEST_EXPECT_MSG_EQ(pipe.IsFull(), true, "three");
        pipe.Reset(200);
        NS_TEST_EXPECT_MSG_EQ(pipe.IsFull(), false, "anew");
    }

    void CheckMaxBandwidth()
    {
        Bbr3MaxBandwidth bandwidth;
        bandwidth.Take(10);
        bandwidth.EndCycle();
        bandwidth.Take(7);
        NS_TEST_EXPECT_MSG_EQ(bandwidth.Get(), 10, "of the cycle before");
        bandwidth.EndCycle();
        NS_TEST_EXPECT_MSG_EQ(bandwidth.Get(), 7, "which then is forgotten");
        bandwidth.EndCycle();
        NS_TEST_EXPECT_MSG_EQ(bandwidth.Get(), 7, "but not for a cycle without samples");
    }

    void CheckMinRtt()
    {
        Bbr3MinRtt rtt(5 * SECOND, 10 * SECOND);
        rtt.Init(100, 0);
        rtt.Update(120, false, 5 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(rtt.IsProbeDue(), false, "not after 5 s");
        rtt.Update(130, true, 5 * SECOND + 1);
        NS_TEST_EXPECT_MSG_EQ(rtt.IsProbeDue(), true, "but after more");
        rtt.Update(140, false, 5 * SECOND + 2);
        NS_TEST_EXPECT_MSG_EQ(rtt.Get(), 100, "the minimum stays for 10 s");
        rtt.Update(200, false, 10 * SECOND + 1);
        NS_TEST_EXPECT_MSG_EQ(rtt.Get(), 140, "then it is the recent one, no delayed ACK's");
        rtt.Update(90, false, 11 * SECOND);
        NS_TEST_EXPECT_MSG_EQ(rtt.Get(), 90, "or a smaller one at once");
    }

    void CheckShortTerm()
    {
        Bbr3ShortTermModel model;
        model.Init(1000, 200);
        model.Cut(0.7, 600, 100);
        NS_TEST_EXPECT_MSG_EQ_TOL(model.bandwidth, 700, 1e-9, "beta");
        NS_TEST_EXPECT_MSG_EQ(model.inflight, 140, "beta");
        const Bbr3ShortTermModel earlier = model;
        model.Cut(0.7, 600, 130);
        NS_TEST_EXPECT_MSG_EQ_TOL(model.bandwidth, 600, 1e-9, "not below what was delivered");
        NS_TEST_EXPECT_MSG_EQ(model.inflight, 130, "not below what was delivered");
        model.RaiseTo(earlier);
        NS_TEST_EXPECT_MSG_EQ(model.inflight, 140, "undone");
    }

    void CheckSchedule()
    {
        int64_t least = NEVER;
        int64_t most = 0;
        Bbr3ProbeSchedule schedule({2, 1, 63, 2}, 7);
        uint32_t late = 0;
        for (int i = 0; i < 1000; ++i)
        {
            schedule.StartCycle(0);
            least = std::min(least, schedule.GetDeadline());
            most = std::max(most, schedule.GetDeadline());
            for (int round = 0; round < 62; ++round)
            {
                schedule.CountRound();
            }
            late += schedule.IsDue(0, 1000) ? 0 : 1;
            schedule.CountRound();
            NS_TEST_ASSERT_MSG_EQ(schedule.IsDue(0, 1000), true, "after 63 rounds at the latest");
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(least, 2 * SECOND, 10 * MS, "from 2 s");
        NS_TEST_EXPECT_MSG_EQ_TOL(most, 3 * SECOND, 10 * MS, "to 3 s");
        NS_TEST_EXPECT_MSG_EQ_TOL(late, 500, 60, "62 or 63 rounds, evenly");
    }
};

ADD_CASE(PartsTest, "Filters and schedules of BBRv3");

TEST_CASE(SimulationTestCase,
          StartupTest,
          "STARTUP finds the bandwidth, DRAIN empties the queue, cruising follows")
{
    Bbr3 bbr(Bbr3Parameters{}, 1);
    FakePipe pipe(bbr, RATE, RTT);
    NS_TEST_EXPECT_MSG_EQ_TOL(pipe.state.pacingRate,
                              2.77 * 10 / 0.1 * pipe.state.mss,
                              1,
                              "startup gain · 10/RTT");
    const auto stays = CollectStays(pipe, bbr, 2 * SECOND);
    NS_TEST_ASSERT_MSG_GT(stays.size(), 3, "states");
    NS_TEST_EXPECT_MSG_EQ((stays[0].mode == Mode::STARTUP), true, "first STARTUP");
    NS_TEST_EXPECT_MSG_EQ((stays[1].mode == Mode::DRAIN), true, "then DRAIN");
    NS_TEST_EXPECT_MSG_EQ(stays[1].gain, 0.5, "drain gain");
    NS_TEST_EXPECT_MSG_LT(stays[1].length, 4 * RTT, "for three rounds at most");
    NS_TEST_EXPECT_MSG_EQ((stays[2].mode == Mode::PROBE_BW_DOWN), true, "then down");
    NS_TEST_EXPECT_MSG_EQ(stays[2].gain, 0.9, "down gain");
    NS_TEST_EXPECT_MSG_EQ((stays[3].mode == Mode::PROBE_BW_CRUISE), true, "then cruise");
    NS_TEST_EXPECT_MSG_EQ_TOL(bbr.GetMaxBandwidth(), RATE, 0.02 * RATE, "within 2 %");
    NS_TEST_EXPECT_MSG_LT(pipe.GetQueue(), 5, "and no queue");
    NS_TEST_EXPECT_MSG_EQ(bbr.GetInflightLongterm(), BBR3_UNBOUNDED, "and no bound");
}

TEST_CASE(SimulationTestCase,
          StartupLossTest,
          "A round of heavy loss ends STARTUP and bounds the volume")
{
    constexpr uint32_t BUFFER = 20;
    Bbr3 bbr(Bbr3Parameters{}, 1);
    FakePipe pipe(bbr, RATE, RTT);
    pipe.SetBuffer(BUFFER);
    while (bbr.GetMode() == Mode::STARTUP && pipe.now < 5 * SECOND)
    {
        pipe.Run(MS);
    }
    NS_TEST_EXPECT_MSG_GT(pipe.state.lost, 6, "there was loss");
    NS_TEST_EXPECT_MSG_LT(bbr.GetInflightLongterm(), BDP + BUFFER + 10, "what fits");
    NS_TEST_EXPECT_MSG_GT(bbr.GetInflightLongterm(), 0.9 * BDP, "is remembered");

    Bbr3 lucky(Bbr3Parameters{}, 1);
    FakePipe wide(lucky, RATE, RTT);
    wide.SetLossEvery(100);
    while (lucky.GetMode() == Mode::STARTUP && wide.now < 5 * SECOND)
    {
        wide.Run(MS);
    }
    NS_TEST_EXPECT_MSG_GT(wide.state.lost, 1, "a loss of 1 %");
    NS_TEST_EXPECT_MSG_EQ(lucky.GetInflightLongterm(), BBR3_UNBOUNDED, "is no sign");
}

class CycleTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        Bbr3Parameters parameters;
        parameters.probeRttInterval = 1000;
        parameters.minRttWindow = 1000;
        Bbr3 bbr(parameters, 1);
        FakePipe pipe(bbr, RATE, RTT);
        pipe.Run(2 * SECOND);
        const auto stays = CollectStays(pipe, bbr, 40 * SECOND);
        CheckOrder(stays);
        const auto downs = Select(stays, Mode::PROBE_BW_DOWN);
        const auto refills = Select(stays, Mode::PROBE_BW_REFILL);
        NS_TEST_ASSERT_MSG_GT(downs.size(), 10, "cycles");
        for (size_t i = 0; i + 1 < std::min(downs.size(), refills.size()); ++i)
        {
            // The first refill of the list precedes the first down.
            const int64_t wait = refills[i + 1].start - downs[i].start;
            NS_TEST_EXPECT_MSG_GT(wait, 2 * SECOND - RTT, "wait");
            NS_TEST_EXPECT_MSG_LT(wait, 3 * SECOND + RTT, "wait");
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(bbr.GetMaxBandwidth(), RATE, 0.02 * RATE, "within 2 %");
        CheckStreams();
        CheckRenoRounds();
    }

    void CheckOrder(const std::vector<Stay>& stays)
    {
        for (size_t i = 0; i + 1 < stays.size(); ++i)
        {
            const Mode next = stays[i + 1].mode;
            switch (stays[i].mode)
            {
            case Mode::PROBE_BW_DOWN:
                NS_TEST_EXPECT_MSG_EQ((next == Mode::PROBE_BW_CRUISE), true, "down, cruise");
                break;
            case Mode::PROBE_BW_CRUISE:
                NS_TEST_EXPECT_MSG_EQ((next == Mode::PROBE_BW_REFILL), true, "cruise, refill");
                break;
            case Mode::PROBE_BW_REFILL:
                NS_TEST_EXPECT_MSG_EQ((next == Mode::PROBE_BW_UP), true, "refill, up");
                NS_TEST_EXPECT_MSG_EQ_TOL(stays[i].length, RTT, RTT / 4, "one round of refill");
                break;
            default:
                NS_TEST_EXPECT_MSG_EQ((next == Mode::PROBE_BW_DOWN), true, "up, down");
                NS_TEST_EXPECT_MSG_EQ(stays[i].gain, 1.25, "up gain");
            }
        }
    }

    /// Waits depend on the stream, and on nothing else.
    void CheckStreams()
    {
        const auto first = GetProbeTime(1);
        NS_TEST_EXPECT_MSG_EQ(GetProbeTime(1), first, "the same stream");
        NS_TEST_EXPECT_MSG_NE(GetProbeTime(2), first, "another stream");
    }

    int64_t GetProbeTime(int64_t stream)
    {
        ns3::Simulator::Destroy();
        Bbr3 bbr(Bbr3Parameters{}, stream);
        FakePipe pipe(bbr, RATE, RTT);
        while (bbr.GetMode() != Mode::PROBE_BW_UP && pipe.now < 10 * SECOND)
        {
            pipe.Run(MS);
        }
        return pipe.now;
    }

    /// With a BDP of 20 segments, a Reno flow would lose one every 20 rounds.
    void CheckRenoRounds()
    {
        constexpr int64_t SHORT_RTT = 19 * MS;
        ns3::Simulator::Destroy();
        Bbr3 bbr(Bbr3Parameters{}, 1);
        FakePipe pipe(bbr, RATE, SHORT_RTT);
        pipe.Run(2 * SECOND);
        const auto refills = Select(CollectStays(pipe, bbr, 2 * SECOND), Mode::PROBE_BW_REFILL);
        NS_TEST_ASSERT_MSG_GT(refills.size(), 2, "probes");
        const double cycle = static_cast<double>(refills.back().start - refills[0].start) /
                             static_cast<double>(refills.size() - 1);
        // Probing itself takes about five rounds more.
        NS_TEST_EXPECT_MSG_GT(cycle, 19. * SHORT_RTT, "a Reno flow's rounds");
        NS_TEST_EXPECT_MSG_LT(cycle, 32. * SHORT_RTT, "a Reno flow's rounds");
    }
};

ADD_CASE(CycleTest, "PROBE_BW: 2 to 3 s, or a Reno flow's rounds, from probe to probe");

TEST_CASE(SimulationTestCase, ProbeRttTest, "PROBE_RTT: every 5 s, half of the BDP for 200 ms")
{
    Bbr3 bbr(Bbr3Parameters{}, 1);
    FakePipe pipe(bbr, RATE, RTT);
    std::vector<int64_t> starts;
    uint32_t window = 0;
    int64_t length = 0;
    pipe.Run(30 * SECOND, [&] {
        const bool isIn = bbr.GetMode() == Mode::PROBE_RTT;
        if (isIn && (starts.empty() || pipe.now - starts.back() > SECOND))
        {
            starts.push_back(pipe.now);
        }
        if (isIn)
        {
            window = pipe.state.cwnd;
            length = pipe.now - starts.back();
        }
    });
    NS_TEST_ASSERT_MSG_GT(starts.size(), 4, "in 30 s");
    for (size_t i = 1; i < starts.size(); ++i)
    {
        NS_TEST_EXPECT_MSG_GT(starts[i] - starts[i - 1], 5 * SECOND, "apart");
        NS_TEST_EXPECT_MSG_LT(starts[i] - starts[i - 1], 6 * SECOND, "apart");
    }
    NS_TEST_EXPECT_MSG_EQ_TOL(window, BDP / 2, 2, "half of the BDP");
    NS_TEST_EXPECT_MSG_GT(length, 200 * MS, "long");
    NS_TEST_EXPECT_MSG_LT(length, 450 * MS, "and two rounds for the window to fall");
    NS_TEST_EXPECT_MSG_EQ_TOL(bbr.GetMinRtt(), RTT + MS, MS, "least RTT");
    NS_TEST_EXPECT_MSG_EQ_TOL(bbr.GetMaxBandwidth(), RATE, 0.02 * RATE, "bandwidth kept");
}

class LossTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(RunWithLoss(100), BBR3_UNBOUNDED, "1 %");
        const uint32_t bound = RunWithLoss(25);
        NS_TEST_EXPECT_MSG_LT(bound, 2 * BDP, "4 %");
        CheckHeadroom();
    }

    /// The long-term volume after ten seconds.
    uint32_t RunWithLoss(uint64_t every)
    {
        ns3::Simulator::Destroy();
        Bbr3 bbr(Bbr3Parameters{}, 1);
        FakePipe pipe(bbr, RATE, RTT);
        pipe.Run(2 * SECOND);
        pipe.SetLossEvery(every);
        bool isCut = false;
        pipe.Run(8 * SECOND, [&] {
            if (bbr.GetMode() == Mode::PROBE_BW_CRUISE)
            {
                isCut = isCut || bbr.GetBandwidth() < bbr.GetMaxBandwidth();
            }
            else if (bbr.GetMode() == Mode::PROBE_BW_UP)
            {
                NS_TEST_EXPECT_MSG_EQ(bbr.GetBandwidth(), bbr.GetMaxBandwidth(), "while probing");
            }
        });
        NS_TEST_EXPECT_MSG_EQ(isCut, true, "loss while cruising lowers the rate");
        return bbr.GetInflightLongterm();
    }

    void CheckHeadroom()
    {
        constexpr uint32_t BUFFER = 30;
        ns3::Simulator::Destroy();
        Bbr3 bbr(Bbr3Parameters{}, 1);
        FakePipe pipe(bbr, RATE, RTT);
        pipe.SetBuffer(BUFFER);
        uint32_t visits = 0;
        pipe.Run(30 * SECOND, [&] {
            const uint32_t bound = bbr.GetInflightLongterm();
            if (bbr.GetMode() == Mode::PROBE_BW_CRUISE && bound != BBR3_UNBOUNDED)
            {
                ++visits;
                NS_TEST_EXPECT_MSG_LT(pipe.state.cwnd, 0.85 * bound + 1, "headroom while cruising");
            }
        });
        NS_TEST_EXPECT_MSG_GT(visits, 1000, "cruised");
        NS_TEST_EXPECT_MSG_LT(bbr.GetInflightLongterm(), 1.1 * (BDP + BUFFER), "what fits");
        NS_TEST_EXPECT_MSG_LT(static_cast<double>(pipe.state.lost),
                              0.02 * static_cast<double>(pipe.state.delivered),
                              "less than 2 % lost");
    }
};

ADD_CASE(LossTest, "Loss above 2 % while probing bounds the volume; below, it does not");

TEST_CASE(SimulationTestCase, UndoTest, "A spurious loss is taken back, bounds, window and state")
{
    Bbr3Parameters parameters;
    parameters.probeRttInterval = 1000;
    Bbr3 bbr(parameters, 1);
    FakePipe pipe(bbr, RATE, RTT);
    while (bbr.GetMode() != Mode::PROBE_BW_UP && pipe.now < 10 * SECOND)
    {
        pipe.Run(MS);
    }
    const uint32_t cwnd = pipe.state.cwnd;
    const LostSegment lost{pipe.state.sndNxt, 100, pipe.state.lost, false};
    pipe.state.lost += 10;
    bbr.OnSegmentLost(pipe.state, lost, pipe.now);
    NS_TEST_EXPECT_MSG_EQ((bbr.GetMode() == Mode::PROBE_BW_DOWN), true, "the probe ends");
    // Of 99 in flight before it 9 were lost, more than 2 %: what was in flight before it, but
    // not below beta of the BDP.
    NS_TEST_EXPECT_MSG_EQ(bbr.GetInflightLongterm(), 99, "and bounds the volume");
    bbr.GetSsThresh(pipe.state, pipe.now);
    pipe.state.cwnd = 10;
    NS_TEST_EXPECT_MSG_EQ(bbr.GetUndoCwnd(pipe.state, 0), cwnd, "the window from before");
    NS_TEST_EXPECT_MSG_EQ(bbr.GetInflightLongterm(), BBR3_UNBOUNDED, "no bound");
    NS_TEST_EXPECT_MSG_EQ((bbr.GetMode() == Mode::PROBE_BW_REFILL), true, "and a new probe");
}

} // namespace
