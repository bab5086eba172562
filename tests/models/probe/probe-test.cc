/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Checks what probes measure with: histograms.
 */
#include "path/histogram.h"
#include "support/test-case.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace
{

using namespace tunnelcc;

TEST_SUITE("tunnelcc-probe");

class HistogramTest : public ns3::TestCase
{
  public:
    using ns3::TestCase::TestCase;

  private:
    void CheckQuantiles(std::vector<int64_t> records)
    {
        Histogram histogram;
        double sum = 0;
        for (const int64_t record : records)
        {
            histogram.Record(record);
            sum += static_cast<double>(record);
        }
        std::sort(records.begin(), records.end());
        for (const double q : {0.01, 0.5, 0.75, 0.95, 0.99, 1.0})
        {
            const auto rank =
                static_cast<size_t>(std::ceil(q * static_cast<double>(records.size()) - 1e-9));
            const auto exact = static_cast<double>(records[std::max<size_t>(rank, 1) - 1]);
            const double tolerance = exact < 128 ? 0.001 : 0.008 * exact;
            NS_TEST_EXPECT_MSG_EQ_TOL(histogram.Quantile(q),
                                      exact,
                                      tolerance,
                                      "quantile " << q << " of " << records.size());
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(histogram.Mean() * static_cast<double>(records.size()),
                                  sum,
                                  1e-9 * sum,
                                  "mean");
        NS_TEST_EXPECT_MSG_EQ(histogram.Count(), records.size(), "count");
    }

    void DoRun() override
    {
        std::mt19937 random(7);
        std::uniform_real_distribution<double> exponent(0, 30);
        for (const size_t size : {1, 2, 7, 10, 1'000, 100'000})
        {
            std::vector<int64_t> records;
            for (size_t i = 0; i < size; ++i)
            {
                records.push_back(static_cast<int64_t>(std::exp(exponent(random))));
            }
            CheckQuantiles(records);
        }
        CheckQuantiles({0, 0, 0});
        CheckQuantiles({127, 128, 129, 130, 255, 256, 257, int64_t{1} << 60});
        NS_TEST_EXPECT_MSG_EQ(Histogram().Quantile(0.5), 0, "without records");
        NS_TEST_EXPECT_MSG_EQ(Histogram().Mean(), 0, "without records");
    }
};

ADD_CASE(HistogramTest, "A histogram's quantiles are those of the sorted records");

} // namespace
