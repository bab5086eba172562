/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks PCC Allegro and PCC Vivace against the rules of their Linux modules.
 */
#include "congestion/pcc-allegro.h"
#include "congestion/pcc-vivace.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <cmath>
#include <string>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-pcc");

constexpr int64_t PATH_RTT = 50 * MS;
constexpr uint32_t MSS = 1448;
constexpr int64_t INITIAL_RATE = 524'288; // bytes/s

TEST_CASE(SimulationTestCase,
          PccUtilityTest,
          "PCC's utility is the rate times sigmoid · (1 − L) − L")
{
    const PccAllegro pcc(PccAllegroParameters{}, 1);
    constexpr int64_t TOTAL = 1000;
    for (const int64_t lost : {0, 10, 20, 40, 50, 60, 80, 200, 500})
    {
        const double loss = static_cast<double>(lost) / TOTAL;
        const double expected = 1e6 * ((1 - loss) / (1 + std::exp(100 * (loss - 0.05))) - loss);
        const auto utility = static_cast<double>(pcc.GetUtility(1'000'000, lost, TOTAL - lost));
        NS_TEST_EXPECT_MSG_EQ_TOL(utility, expected, 2000, "loss " << loss);
    }
    NS_TEST_EXPECT_MSG_EQ(pcc.GetUtility(1'000'000, 0, 0), INT64_MIN, "nothing was counted");
    NS_TEST_EXPECT_MSG_EQ(pcc.GetUtility(1000, 1, 0), -1000, "all was lost");
    PccAllegroParameters tolerant;
    tolerant.lossMargin = 1;
    NS_TEST_EXPECT_MSG_EQ(PccAllegro(tolerant, 1).GetUtility(1'000'000, 0, TOTAL),
                          1'000'000,
                          "far below the margin, a rate is worth itself");
}

TEST_CASE(SimulationTestCase,
          PccStartTest,
          "PCC leaves slow start with the second interval and goes up by steps")
{
    PccAllegro pcc(PccAllegroParameters{}, 1);
    FakePipe pipe(pcc, 4000, PATH_RTT);
    NS_TEST_EXPECT_MSG_EQ(pipe.state.pacingRate, INITIAL_RATE, "first rate");
    NS_TEST_EXPECT_MSG_EQ(pipe.state.cwnd, 2 * (INITIAL_RATE / 20 / MSS), "2 · rate · RTT");
    int64_t most = 0;
    while (pcc.GetMode() == PccSender::Mode::SLOW_START)
    {
        pipe.Run(MS);
        most = std::max(most, pcc.GetRate());
    }
    NS_TEST_EXPECT_MSG_GT(most, INITIAL_RATE, "it grew once");
    NS_TEST_EXPECT_MSG_LT(most, INITIAL_RATE + 100 * MSS, "by what an interval delivered");
    NS_TEST_EXPECT_MSG_EQ(pcc.GetRate(), INITIAL_RATE, "and went back");
    NS_TEST_EXPECT_MSG_LT(pipe.now, SECOND, "soon");
    // An experiment takes four intervals, an adjustment one; both last two round trips at most.
    double last = static_cast<double>(pcc.GetRate());
    while (pcc.GetRate() < 2 * INITIAL_RATE && pipe.now < 20 * SECOND)
    {
        pipe.Run(MS);
        const auto rate = static_cast<double>(pcc.GetRate());
        NS_TEST_EXPECT_MSG_LT(rate, 1.11 * last, "5 % beyond 1 ± 5 % at the most");
        last = rate;
    }
    NS_TEST_EXPECT_MSG_LT(pipe.now, 10 * SECOND, "twice the rate");
}

/// Runs an algorithm over a pipe of 2000 segments/s.
template <typename Pcc, typename Parameters>
double
MeasureShare(uint64_t lossEvery, uint32_t buffer, int64_t time)
{
    ns3::Simulator::Destroy();
    constexpr double RATE = 2000;
    Pcc pcc(Parameters{}, 1);
    FakePipe pipe(pcc, RATE, PATH_RTT);
    pipe.SetBuffer(buffer);
    pipe.SetLossEvery(lossEvery);
    pipe.Run(time);
    const uint64_t before = pipe.state.delivered;
    constexpr int64_t MEASURED = 20;
    pipe.Run(MEASURED * SECOND);
    return static_cast<double>(pipe.state.delivered - before) / MEASURED / RATE;
}

template <typename Pcc, typename Parameters>
class PccLinkTest : public SimulationTestCase
{
  public:
    explicit PccLinkTest(const std::string& name)
        : SimulationTestCase(name + " fills a link with up to a few percent of losses")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t lossEvery : {0, 100, 50})
        {
            const double share = MeasureShare<Pcc, Parameters>(lossEvery, 100, 40 * SECOND);
            NS_TEST_EXPECT_MSG_GT(share, 0.85, "a loss every " << lossEvery);
        }
        const double share = MeasureShare<Pcc, Parameters>(8, 100, 40 * SECOND);
        NS_TEST_EXPECT_MSG_LT(share, 0.25, "not with 12.5 %");
    }
};

TEST_CASE(SimulationTestCase,
          VivaceStartTest,
          "Vivace grows by halves until the utility falls, then experiments")
{
    PccVivace vivace(PccVivaceParameters{}, 1);
    FakePipe pipe(vivace, 4000, PATH_RTT);
    pipe.SetBuffer(50);
    int64_t rate = INITIAL_RATE;
    while (vivace.GetMode() == PccSender::Mode::SLOW_START && pipe.now < 10 * SECOND)
    {
        pipe.Run(MS);
        if (vivace.GetRate() > rate)
        {
            NS_TEST_EXPECT_MSG_EQ(vivace.GetRate(), rate + rate / 2, "by half");
            rate = vivace.GetRate();
        }
    }
    NS_TEST_EXPECT_MSG_GT(rate, 4000 * MSS, "beyond the link's rate");
    NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(vivace.GetRate()),
                              static_cast<double>(rate) / 1.5,
                              2,
                              "and back by that step");
    NS_TEST_EXPECT_MSG_EQ(vivace.GetPhase(), "experiment", "then");
}

TEST_CASE(SimulationTestCase,
          PccTimeOutTest,
          "After a time-out PCC keeps its window and experiments anew")
{
    PccAllegro pcc(PccAllegroParameters{}, 1);
    FakeTransport transport(pcc, PATH_RTT);
    const uint32_t window = transport.state.cwnd;
    transport.TimeOut();
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, window, "whatever the transport set");
    NS_TEST_EXPECT_MSG_EQ(transport.state.ssthresh, INFINITE_SSTHRESH, "no threshold");
    transport.AckSegments(1);
    NS_TEST_EXPECT_MSG_EQ(transport.state.cwnd, window, "meanwhile");
    transport.LeaveRecovery();
    NS_TEST_EXPECT_MSG_EQ(pcc.GetPhase(), "decision", "afterwards");
}

ADD_CASES
{
    AddCase(new PccLinkTest<PccAllegro, PccAllegroParameters>("PCC"));
    AddCase(new PccLinkTest<PccVivace, PccVivaceParameters>("Vivace"));
}

} // namespace
