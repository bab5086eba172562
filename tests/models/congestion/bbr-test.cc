/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the state machine of BBRv1 (draft-cardwell-iccrg-bbr-congestion-control-00) over a pipe of
 * known rate and delay.
 */
#include "congestion/bbr.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <string>
#include <vector>

namespace
{

using namespace tunnelcc;
using Mode = Bbr::Mode;

TEST_SUITE("tunnelcc-congestion-bbr");

/// Segments in flight that fill the pipe.
constexpr double BDP = 101;

TEST_CASE(SimulationTestCase,
          StartupTest,
          "STARTUP doubles per round, ends after three flat rounds, and DRAIN empties")
{
    Bbr bbr(BbrParameters{}, 1);
    FakePipe pipe(bbr, RATE, RTT);
    const double first = 739. / 256 * 10 / 0.1 * 0.99 * pipe.state.mss;
    NS_TEST_EXPECT_MSG_EQ_TOL(pipe.state.pacingRate, first, 1, "high gain · 10/RTT less 1 %");

    uint32_t round = 0;
    uint32_t flatRounds = 0;
    double lastBandwidth = 0;
    int64_t drainStart = 0;
    uint32_t peakQueue = 0;
    pipe.Run(5 * SECOND, [&] {
        const bool isNewRound = bbr.GetRoundCount() != round;
        round = bbr.GetRoundCount();
        peakQueue = std::max(peakQueue, pipe.GetQueue());
        if (bbr.GetMode() == Mode::DRAIN && drainStart == 0)
        {
            drainStart = pipe.now;
        }
        if (!isNewRound || bbr.GetMode() == Mode::PROBE_BW)
        {
            return;
        }
        if (round > 2 && lastBandwidth < RATE / 2)
        {
            // Less than 2 because an interval covers parts of two rounds.
            NS_TEST_EXPECT_MSG_GT(bbr.GetBandwidth(), 1.7 * lastBandwidth, "in " << round);
        }
        flatRounds += bbr.GetBandwidth() < 1.25 * lastBandwidth ? 1 : 0;
        lastBandwidth = bbr.GetBandwidth();
        if (bbr.GetMode() == Mode::STARTUP)
        {
            NS_TEST_EXPECT_MSG_LT(flatRounds, 3, "still in STARTUP");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(flatRounds, 3, "left STARTUP");
            flatRounds = 0;
        }
    });
    NS_TEST_EXPECT_MSG_GT(drainStart, 0, "DRAIN was entered");
    NS_TEST_EXPECT_MSG_LT(drainStart, 2 * SECOND, "soon");
    NS_TEST_EXPECT_MSG_GT(peakQueue, 1.5 * BDP, "STARTUP fills a queue of its window gain");
    NS_TEST_EXPECT_MSG_EQ(bbr.GetPhase(), "PROBE_BW", "then PROBE_BW");
    NS_TEST_EXPECT_MSG_EQ_TOL(bbr.GetBandwidth(), RATE, 1, "the rate of the link");
}

/// A stay in one phase of PROBE_BW.
struct Phase
{
    double gain;
    int64_t start;
    int64_t length;
};

/// Phases of PROBE_BW between two times.
std::vector<Phase>
CollectPhases(int64_t stream,
              int64_t begin,
              int64_t length,
              const BbrParameters& parameters = BbrParameters{})
{
    Bbr bbr(parameters, stream);
    FakePipe pipe(bbr, RATE, RTT);
    pipe.Run(begin);
    std::vector<Phase> phases{{bbr.GetPacingGain(), pipe.now, 0}};
    pipe.Run(length, [&] {
        if (bbr.GetPacingGain() != phases.back().gain)
        {
            phases.push_back({bbr.GetPacingGain(), pipe.now, 0});
        }
        phases.back().length = pipe.now - phases.back().start;
    });
    ns3::Simulator::Destroy();
    return phases;
}

class OtherCycleTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        BbrParameters parameters;
        parameters.cruisePhases = 2;
        CheckTime(parameters, 4 * RTT, "2 phases at the estimate, after a probe and a drain");
        parameters.cruisePhases = 0;
        CheckTime(parameters, 2 * RTT, "no phase at the estimate");
        parameters.probeInterval = 1.1;
        CheckTime(parameters, 1100 * MS, "an interval, whatever the phases are");
    }

    void CheckTime(const BbrParameters& parameters, int64_t expected, const std::string& what)
    {
        std::vector<int64_t> probes;
        for (const Phase& phase : CollectPhases(3, 2500 * MS, 6 * SECOND, parameters))
        {
            if (phase.gain == 1.25)
            {
                probes.push_back(phase.start);
            }
        }
        NS_TEST_ASSERT_MSG_GT(probes.size(), 4, what);
        for (std::size_t i = 2; i < probes.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(probes[i] - probes[i - 1], expected, RTT / 2, what);
        }
    }
};

ADD_CASE(OtherCycleTest, "cruise_phases and probe_interval set the time between two probes");

class GainCycleTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        auto phases = CollectPhases(3, 2500 * MS, 6 * SECOND);
        phases.erase(phases.begin());
        phases.pop_back();
        NS_TEST_ASSERT_MSG_GT(phases.size(), 15, "several cycles");
        for (std::size_t i = 0; i + 1 < phases.size(); ++i)
        {
            const double gain = phases[i].gain;
            const double next = gain == 1 ? 1.25 : gain == 1.25 ? 0.75 : 1;
            NS_TEST_EXPECT_MSG_EQ(phases[i + 1].gain, next, "after a gain of " << gain);
            const double rtts = static_cast<double>(phases[i].length) / RTT;
            if (gain == 1)
            {
                NS_TEST_EXPECT_MSG_EQ_TOL(rtts, 6, 0.2, "six round trips of cruising");
            }
            else
            {
                const double least = gain == 1.25 ? 1 : 0.3;
                NS_TEST_EXPECT_MSG_GT(rtts, least, "length of a probe or drain");
                NS_TEST_EXPECT_MSG_LT(rtts, 1.5, "length of a probe or drain");
            }
        }
        CheckRandomPhase();
    }

    void CheckRandomPhase()
    {
        std::vector<int64_t> starts;
        for (int64_t stream = 0; stream < 40; ++stream)
        {
            starts.push_back(GetFirstProbe(stream));
            NS_TEST_EXPECT_MSG_EQ(GetFirstProbe(stream), starts.back(), "the stream decides");
        }
        std::sort(starts.begin(), starts.end());
        const auto different = std::unique(starts.begin(), starts.end()) - starts.begin();
        NS_TEST_EXPECT_MSG_EQ(different, 7, "all phases but the draining one are drawn");
    }

    int64_t GetFirstProbe(int64_t stream)
    {
        for (const auto& phase : CollectPhases(stream, 1700 * MS, 1500 * MS))
        {
            if (phase.gain == 1.25)
            {
                return phase.start;
            }
        }
        return -1;
    }
};

ADD_CASE(GainCycleTest, "PROBE_BW cycles through 1.25, 0.75 and six round trips at 1");

class ProbeRttTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    void DoRun() override
    {
        Check(10 * SECOND, BbrParameters{});
        BbrParameters often;
        often.probeRttInterval = 3;
        Check(3 * SECOND, often);
    }

    void Check(int64_t interval, const BbrParameters& parameters)
    {
        Bbr bbr(parameters, 1);
        FakePipe pipe(bbr, RATE, RTT);
        Mode mode = bbr.GetMode();
        uint32_t before = 0;
        int64_t start = 0;
        std::vector<int64_t> starts;
        std::vector<int64_t> lengths;
        pipe.Run(3 * interval + 2 * SECOND, [&] {
            if (bbr.GetMode() == Mode::PROBE_RTT)
            {
                NS_TEST_EXPECT_MSG_EQ(pipe.state.cwnd, 4, "the window of PROBE_RTT");
                start = mode == Mode::PROBE_RTT ? start : pipe.now;
            }
            else if (mode == Mode::PROBE_RTT)
            {
                starts.push_back(start);
                lengths.push_back(pipe.now - start);
                NS_TEST_EXPECT_MSG_EQ_TOL(pipe.state.cwnd, before, 2, "the window is restored");
                NS_TEST_EXPECT_MSG_EQ_TOL(bbr.GetMinRtt(), RTT + MS, 1, "queue is gone");
            }
            else
            {
                before = pipe.state.cwnd;
            }
            mode = bbr.GetMode();
        });
        NS_TEST_ASSERT_MSG_EQ(starts.size(), 3, "three in three intervals");
        // 200 ms count from four segments in flight, one round trip after the cut.
        const double longest = (RTT + 200. * MS + RTT) / MS;
        for (std::size_t i = 0; i < starts.size(); ++i)
        {
            const double length = static_cast<double>(lengths[i]) / MS;
            NS_TEST_EXPECT_MSG_GT(length, 200, "at least 200 ms");
            NS_TEST_EXPECT_MSG_LT(length, longest, "and a round trip or two");
            const int64_t since = i == 0 ? 0 : starts[i - 1] + lengths[i - 1];
            const double gap = static_cast<double>(starts[i] - since) / interval;
            NS_TEST_EXPECT_MSG_EQ_TOL(gap, 1, 0.03, "an interval after the last renewal");
        }
        ns3::Simulator::Destroy();
    }
};

ADD_CASE(ProbeRttTest, "PROBE_RTT comes every ten seconds, for 200 ms at four segments");

TEST_CASE(SimulationTestCase,
          UtilisationTest,
          "PROBE_BW fills the link with a short queue and follows its rate")
{
    constexpr int64_t SHORT_RTT = 40 * MS;
    Bbr bbr(BbrParameters{}, 1);
    FakePipe pipe(bbr, RATE, SHORT_RTT);
    pipe.Run(3 * SECOND);
    const uint64_t before = pipe.state.delivered;
    double queue = 0;
    pipe.Run(5 * SECOND, [&] { queue += pipe.GetQueue(); });
    const auto delivered = static_cast<double>(pipe.state.delivered - before);
    NS_TEST_EXPECT_MSG_GT(delivered / (5 * RATE), 0.98, "the link is full");
    NS_TEST_EXPECT_MSG_LT(queue / delivered, 0.25 * 41, "less than a probe's queue on average");

    // A probe adds 25 % per round trip and lasts while the bandwidth grows with it: doubling
    // takes at least log 2 / log 1.25 = 3.1 round trips, after a cycle's wait at most.
    pipe.SetRate(2 * RATE);
    int64_t found = 0;
    pipe.Run(1900 * MS, [&] {
        if (found == 0 && bbr.GetBandwidth() > 0.95 * 2 * RATE)
        {
            found = pipe.now - 8 * SECOND;
        }
    });
    NS_TEST_EXPECT_MSG_GT(found, 3 * SHORT_RTT, "no faster than the gain");
    NS_TEST_EXPECT_MSG_LT(found, (8 + 8) * SHORT_RTT, "in the next cycle");
    pipe.SetRate(RATE);
    pipe.Run(4 * SECOND);
    NS_TEST_EXPECT_MSG_EQ_TOL(bbr.GetBandwidth(), RATE, 0.02 * RATE, "down within the filter");
}

} // namespace
