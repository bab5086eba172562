/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks packet loss: random loss against the geometric distribution, periodic loss, bursts.
 */
#include "event/random-stream.h"
#include "event/time-units.h"
#include "path/link.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-path-loss");

RandomStream
LossStream(uint64_t seed = 1)
{
    return MakeRandomStream(seed, RandomComponent::FORWARD_LOSS);
}

class RandomLossTest : public SimulationTestCase
{
  public:
    explicit RandomLossTest(double probability)
        : SimulationTestCase("Loss of " + std::to_string(probability) + " is independent"),
          m_p(probability)
    {
    }

  private:
    static constexpr int LOSSES = 100'000;

    void DoRun() override
    {
        PacketSampler loss(m_p, LossStream(3));
        std::vector<int64_t> gaps(LOSSES);
        int64_t packets = 0;
        for (int64_t& gap : gaps)
        {
            while (!loss.PickNext())
            {
                ++gap;
            }
            packets += gap + 1;
        }
        const double mean = LOSSES / static_cast<double>(packets);
        const double sigma = m_p * std::sqrt((1 - m_p) / LOSSES);
        NS_TEST_EXPECT_MSG_EQ_TOL(mean, m_p, 4 * sigma, "share of packets lost");
        CheckGaps(gaps);
        CheckIndependence(gaps);
    }

    /// Chi-square of the packets between losses, in 20 bins of about equal probability.
    void CheckGaps(const std::vector<int64_t>& gaps)
    {
        constexpr int BINS = 20;
        std::vector<int64_t> edges; // bin i holds edges[i] <= gap < edges[i + 1]
        for (int i = 0; i < BINS; ++i)
        {
            const double share = static_cast<double>(i) / BINS;
            const auto edge = static_cast<int64_t>(std::log1p(-share) / std::log1p(-m_p));
            if (edges.empty() || edge > edges.back())
            {
                edges.push_back(edge);
            }
        }
        std::vector<double> counts(edges.size());
        for (const int64_t gap : gaps)
        {
            const auto bin = std::upper_bound(edges.begin(), edges.end(), gap) - edges.begin() - 1;
            ++counts[bin];
        }
        double chiSquare = 0;
        for (size_t i = 0; i < edges.size(); ++i)
        {
            auto survival = [this](int64_t gap) {
                return std::pow(1 - m_p, static_cast<double>(gap));
            };
            const double next = i + 1 < edges.size() ? survival(edges[i + 1]) : 0;
            const double expected = LOSSES * (survival(edges[i]) - next);
            chiSquare += (counts[i] - expected) * (counts[i] - expected) / expected;
        }
        // Wilson and Hilferty's approximation of the 99.9 % quantile.
        const double freedom = static_cast<double>(edges.size()) - 1;
        const double root = 1 - 2 / (9 * freedom) + 3.09 * std::sqrt(2 / (9 * freedom));
        NS_TEST_EXPECT_MSG_LT(chiSquare, freedom * root * root * root, "gaps are geometric");
    }

    /// A short gap says nothing about the next one.
    void CheckIndependence(const std::vector<int64_t>& gaps)
    {
        std::vector<int64_t> sorted = gaps;
        std::sort(sorted.begin(), sorted.end());
        const int64_t median = sorted[LOSSES / 2];
        std::map<std::pair<bool, bool>, double> pairs;
        double shortGaps = 0;
        for (int i = 0; i + 1 < LOSSES; ++i)
        {
            ++pairs[{gaps[i] < median, gaps[i + 1] < median}];
            shortGaps += gaps[i] < median;
        }
        const double share = shortGaps / LOSSES;
        const double expected = share * share * LOSSES;
        const double sigma = std::sqrt(LOSSES) * share * (1 - share);
        NS_TEST_EXPECT_MSG_EQ_TOL((pairs[{true, true}]), expected, 4 * sigma, "neighbours");
    }

    double m_p;
};

class NoLossTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static std::vector<bool> Draw(double probability, uint64_t seed)
    {
        PacketSampler loss(probability, LossStream(seed));
        std::vector<bool> lost;
        for (int i = 0; i < 10'000; ++i)
        {
            lost.push_back(loss.PickNext());
        }
        return lost;
    }

    void DoRun() override
    {
        const auto none = Draw(0, 1);
        NS_TEST_EXPECT_MSG_EQ(std::count(none.begin(), none.end(), true), 0, "none");
        NS_TEST_EXPECT_MSG_EQ((Draw(0.1, 1) == Draw(0.1, 1)), true, "the same seed");
        NS_TEST_EXPECT_MSG_EQ((Draw(0.1, 1) == Draw(0.1, 2)), false, "another seed");
    }
};

ADD_CASE(NoLossTest, "No loss is none; another seed loses other packets");

TEST_CASE(SimulationTestCase,
          PeriodicLossTest,
          "Periodic loss takes every n-th packet, whatever the seed")
{
    for (const int period : {1, 2, 3, 50, 1'000})
    {
        LinkSpec spec;
        spec.loss = 1.0 / period;
        spec.lossPattern = LossPattern::PERIODIC;
        for (const uint64_t seed : {1, 2})
        {
            Link link(spec, LossStream(seed));
            for (int packet = 1; packet <= 10 * period; ++packet)
            {
                const bool isLost = link.Enqueue(0, 1'000) == Link::DROPPED;
                NS_TEST_EXPECT_MSG_EQ(isLost, (packet % period == 0), "packet " << packet);
            }
            NS_TEST_EXPECT_MSG_EQ(link.RandomLosses().all, 10, "counted");
        }
    }
    LinkSpec none;
    none.lossPattern = LossPattern::PERIODIC;
    Link link(none, LossStream());
    NS_TEST_EXPECT_MSG_EQ(link.Enqueue(7, 1'000), 7, "no loss is none");
}

class PeriodicLossStepsTest : public SimulationTestCase
{
  public:
    using SimulationTestCase::SimulationTestCase;

  private:
    static constexpr int PACKETS = 22'490;

    /// Numbers of the packets that a link loses whose loss has a value of `losses` in turn, from
    /// each `every`-th packet on.
    static std::vector<int> Lost(const std::vector<double>& losses, int every)
    {
        LinkSpec spec;
        spec.loss = losses.front();
        spec.lossPattern = LossPattern::PERIODIC;
        for (int turn = 1; turn * every < PACKETS; ++turn)
        {
            spec.lossSteps.push_back({int64_t{turn} * every, losses[turn % losses.size()]});
        }
        Link link(spec, LossStream());
        std::vector<int> lost;
        for (int packet = 0; packet < PACKETS; ++packet)
        {
            if (link.Enqueue(packet, 1'000) == Link::DROPPED)
            {
                lost.push_back(packet);
            }
        }
        return lost;
    }

    void DoRun() override
    {
        const std::vector<int> plain = Lost({0.02}, PACKETS);
        NS_TEST_EXPECT_MSG_EQ(plain.size(), PACKETS / 50, "2 %");
        for (const int every : {1, 7, 26, 49, 50, 1'000})
        {
            NS_TEST_EXPECT_MSG_EQ((Lost({0.02}, every) == plain),
                                  true,
                                  "a step each " << every << " packets that changes nothing");
        }
        // 375 packets at 0.1 % and 375 at 0.15 % are 0.94 of a loss.
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(Lost({0.001, 0.0015}, 375).size()),
                                  PACKETS * 0.00125,
                                  1,
                                  "two values in turn");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(Lost({0.01, 0, 0.03}, 20).size()),
                                  PACKETS * 0.04 / 3,
                                  2,
                                  "one of them none");
        // After half of the way to a loss of 1 %, 5 packets are the other half at 10 %.
        const std::vector<int> faster = Lost({0.01, 0.1}, 50);
        NS_TEST_EXPECT_MSG_EQ(faster.front(), 54, "the way that is left");
    }
};

ADD_CASE(PeriodicLossStepsTest, "Periodic loss goes on where it was when a step comes");

TEST_CASE(SimulationTestCase, OutageTest, "A cut link loses what would leave it, and nothing else")
{
    LinkSpec spec;
    spec.rate = 8e6; // 1000 bytes a millisecond
    spec.outages = {{10 * MS, 20 * MS}, {20 * MS, 21 * MS}, {30 * MS, 31 * MS}};
    Link link(spec, LossStream());
    for (int packet = 0; packet < 40; ++packet)
    {
        const int64_t leaves = (packet + 1) * MS;
        const bool isCut =
            (leaves >= 10 * MS && leaves < 21 * MS) || (leaves >= 30 * MS && leaves < 31 * MS);
        NS_TEST_EXPECT_MSG_EQ(link.Enqueue(packet * MS, 1'000),
                              (isCut ? Link::DROPPED : leaves),
                              "packet " << packet);
    }
    NS_TEST_EXPECT_MSG_EQ(link.RandomLosses().all, 12, "counted");
}

class GilbertElliottTest : public SimulationTestCase
{
  public:
    explicit GilbertElliottTest(const GilbertElliottSpec& spec)
        : SimulationTestCase("Bursty loss follows the chain of two states, h = " +
                             std::to_string(spec.h) + ", k = " + std::to_string(spec.k)),
          m_spec(spec)
    {
    }

  private:
    static constexpr int PACKETS = 4'000'000;

    void DoRun() override
    {
        LinkSpec spec;
        spec.gilbertElliott = m_spec;
        PacketSampler loss(spec, LossStream(5));
        std::vector<bool> lost;
        for (int i = 0; i < PACKETS; ++i)
        {
            lost.push_back(loss.PickNext());
        }
        // Stationary probability of the bad state, and how fast the chain forgets.
        const double bad = m_spec.p / (m_spec.p + m_spec.r);
        const double memory = 1 - m_spec.p - m_spec.r;
        const double inBad = 1 - m_spec.h;
        const double inGood = 1 - m_spec.k;
        const double mean = bad * inBad + (1 - bad) * inGood;
        const double covariance = bad * (1 - bad) * (inBad - inGood) * (inBad - inGood);
        // Variance of the mean: that of one packet and the covariances of all pairs.
        const double variance =
            (mean * (1 - mean) + 2 * covariance * memory / (1 - memory)) / PACKETS;
        const double share = std::count(lost.begin(), lost.end(), true) / double{PACKETS};
        NS_TEST_EXPECT_MSG_EQ_TOL(share, mean, 4 * std::sqrt(variance), "share lost");
        for (const int lag : {1, 2, 5, 10})
        {
            double both = 0;
            for (int i = lag; i < PACKETS; ++i)
            {
                both += lost[i] && lost[i - lag];
            }
            const double expected = mean * mean + covariance * std::pow(memory, lag);
            NS_TEST_EXPECT_MSG_EQ_TOL(both / PACKETS,
                                      expected,
                                      0.02 * expected + 1e-5,
                                      "both of two packets " << lag << " apart");
        }
        if (m_spec.h == 0 && m_spec.k == 1)
        {
            CheckBursts(lost);
        }
    }

    /// Where all of the bad state is lost and nothing else, bursts are geometric with mean 1/r.
    void CheckBursts(const std::vector<bool>& lost)
    {
        std::map<int, double> lengths;
        double bursts = 0;
        int length = 0;
        for (const bool isLost : lost)
        {
            if (!isLost && length > 0)
            {
                ++lengths[length];
                ++bursts;
                length = 0;
            }
            length += isLost;
        }
        for (int n = 1; n <= 10; ++n)
        {
            const double share = m_spec.r * std::pow(1 - m_spec.r, n - 1);
            const double sigma = std::sqrt(share * (1 - share) / bursts);
            NS_TEST_EXPECT_MSG_EQ_TOL(lengths[n] / bursts, share, 4 * sigma, "bursts of " << n);
        }
    }

    GilbertElliottSpec m_spec;
};

ADD_CASES
{
    for (const double probability : {1e-4, 0.01, 0.1, 0.5, 0.9})
    {
        AddCase(new RandomLossTest(probability));
    }
    AddCase(new GilbertElliottTest({0.01, 0.2, 0, 1}));
    AddCase(new GilbertElliottTest({0.02, 0.1, 0.3, 1}));
    AddCase(new GilbertElliottTest({0.05, 0.25, 0.5, 0.99}));
}

} // namespace
