/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks the coupled congestion controls by the equations of their sources.
 */
#include "congestion/coupled.h"
#include "support/fake-transport.h"
#include "support/simulation-test-case.h"

#include <cmath>
#include <memory>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-congestion-coupled");

/// Two subflows in congestion avoidance, of which the first is acknowledged.
template <class Algorithm>
class Pair
{
  public:
    /// \param cwnds segments  \param rtts ns
    Pair(std::vector<uint32_t> cwnds, std::vector<int64_t> rtts)
    {
        for (size_t i = 0; i < cwnds.size(); ++i)
        {
            states.emplace_back();
            states[i].cwnd = cwnds[i];
            states[i].ssthresh = cwnds[i];
            states[i].srtt = rtts[i];
            states[i].isCwndLimited = true;
            algorithms.push_back(std::make_unique<Algorithm>(NoParameters{}));
            algorithms[i]->Couple(group, states[i]);
            algorithms[i]->Init(states[i], 0);
        }
    }

    /// Segments that must be acknowledged on a path until its window grows.
    uint32_t UntilGrowth(size_t path)
    {
        const uint32_t before = states[path].cwnd;
        for (uint32_t acked = 1; acked < 100'000; ++acked)
        {
            AckEvent event;
            event.ackedSacked = 1;
            algorithms[path]->OnAck(states[path], event, true);
            if (states[path].cwnd != before)
            {
                return acked;
            }
        }
        return 0;
    }

    CoupledGroup group;
    std::deque<SenderState> states;
    std::vector<std::unique_ptr<Algorithm>> algorithms;
};

TEST_CASE(SimulationTestCase,
          LiaTest,
          "LIA: RFC 6356, equations 1 and 2 -> equal paths grow by a quarter of a segment each")
{
    // alpha = 40 * (20 / 0.01) / (20 / 0.1 + 20 / 0.1)^2 = 0.5; min(0.5 / 40, 1 / 20) = 1 / 80
    Pair<Lia> equal({20, 20}, {100 * MS, 100 * MS});
    const uint32_t acked1 = equal.UntilGrowth(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked1, 80U, 1U, "a segment in four windows");
    // 30 / 0.0004 / (30 / 0.02 + 10 / 0.1)^2 = 0.02930; 1 / 30 is more
    Pair<Lia> unequal({30, 10}, {20 * MS, 100 * MS});
    const uint32_t acked2 = unequal.UntilGrowth(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked2, 35U, 1U, "1 / 0.0293");
    const uint32_t acked3 = unequal.UntilGrowth(1);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked3, 36U, 1U, "the same step; the first window has grown");
    Pair<Lia> alone({20}, {100 * MS});
    const uint32_t acked4 = alone.UntilGrowth(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked4, 20U, 1U, "as Reno");
    const uint32_t left1 = alone.algorithms[0]->GetSsThresh(alone.states[0], 0);
    NS_TEST_EXPECT_MSG_EQ(left1, 10, "half");
}

TEST_CASE(SimulationTestCase,
          OliaTest,
          "OLIA: the largest window loses what the best path gains (draft-"
          "congestion-control-05, section 3)")
{
    // 20 / 0.01 / (20 / 0.1 + 20 / 0.1)^2 = 1 / 80; both are largest: no alpha
    Pair<Olia> equal({20, 20}, {100 * MS, 100 * MS});
    const uint32_t acked5 = equal.UntilGrowth(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked5, 80U, 1U, "as LIA with equal paths");
    // The second path is best by what was delivered since its loss, and has the smaller window: it
    // gains 1 / (2 * 1) / 10 beside 10 / 0.01 / (40 / 0.1)^2 = 1 / 160: 0.05625
    Pair<Olia> pair({30, 10}, {100 * MS, 100 * MS});
    pair.group.paths[1].sinceLoss = 10'000;
    const uint32_t acked6 = pair.UntilGrowth(1);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked6, 18U, 1U, "1 / 0.05625");
    // The first one loses 1 / 2 / 30 beside 30 / 0.01 / (41 / 0.1)^2 = 0.01785: it grows slowly.
    const uint32_t acks = pair.UntilGrowth(0);
    NS_TEST_EXPECT_MSG_GT(acks, 500, "0.01785 - 0.01667 is 1 / 850");
}

TEST_CASE(SimulationTestCase,
          BaliaTest,
          "BALIA: draft-walid-mptcp-congestion-control-04, section 3.1")
{
    // x = 200/s each, alpha = 1: 200 / (0.1 * 400^2) * 1 * 1 = 1 / 80
    Pair<Balia> equal({20, 20}, {100 * MS, 100 * MS});
    const uint32_t acked7 = equal.UntilGrowth(0);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked7, 80U, 1U, "as LIA with equal paths");
    const uint32_t left2 = equal.algorithms[1]->GetSsThresh(equal.states[1], 0);
    NS_TEST_EXPECT_MSG_EQ(left2, 9, "half, and a little more: the first one is faster now");
    // x = 300/s and 100/s: alpha = 3 on the second one.
    // 100 / (0.1 * 400^2) * (1 + 3) / 2 * (4 + 3) / 5 = 0.0175; a loss takes 3/4
    Pair<Balia> pair({30, 10}, {100 * MS, 100 * MS});
    const uint32_t acked8 = pair.UntilGrowth(1);
    NS_TEST_EXPECT_MSG_EQ_TOL(acked8, 58U, 1U, "1 / 0.0175");
    pair.states[1].cwnd = 12; // alpha = 2.5, above 1.5
    const uint32_t left3 = pair.algorithms[1]->GetSsThresh(pair.states[1], 0);
    NS_TEST_EXPECT_MSG_EQ(left3, 3, "a quarter");
}

} // namespace
