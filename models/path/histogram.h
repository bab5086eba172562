/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HISTOGRAM_H
#define TUNNELCC_HISTOGRAM_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * A distribution of durations. It gives quantiles of millions of values in constant memory.
 *
 * Each duration below 128 ns has its own bucket; above, a bucket is 1/64 of an octave wide. So a
 * quantile is within 0.8 % of a recorded value. The mean is exact.
 */
class Histogram
{
  public:
    /// \param duration ns, not negative
    void Record(int64_t duration)
    {
        ++m_counts[Bucket(static_cast<uint64_t>(duration))];
        ++m_total;
        m_sum += duration;
    }

    uint64_t Count() const
    {
        return m_total;
    }

    /// Mean, ns; 0 if nothing was recorded.
    double Mean() const
    {
        return m_total ? static_cast<double>(m_sum) / static_cast<double>(m_total) : 0;
    }

    /// Quantile, ns: the least duration that at least a share `q` of the values do not exceed. 0 if
    /// nothing was recorded.
    double Quantile(double q) const
    {
        auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(m_total)));
        uint64_t below = 0;
        for (uint32_t bucket = 0; bucket < m_counts.size(); ++bucket)
        {
            below += m_counts[bucket];
            if (m_counts[bucket] && below >= rank)
            {
                return Middle(bucket);
            }
        }
        return 0;
    }

    /// Mean of the share `q` of the values that is least, ns, within 0.8 %; 0 if nothing was
    /// recorded.
    double TrimmedMean(double q) const
    {
        const double most = q * static_cast<double>(m_total);
        double count = 0;
        double sum = 0;
        for (uint32_t bucket = 0; bucket < m_counts.size() && count < most; ++bucket)
        {
            const double taken = std::min(static_cast<double>(m_counts[bucket]), most - count);
            count += taken;
            sum += taken * Middle(bucket);
        }
        return count > 0 ? sum / count : 0;
    }

  private:
    static constexpr int SUB_BITS = 6;              //!< 64 buckets per octave
    static constexpr int EXACT_BITS = SUB_BITS + 1; //!< values below 2^7 have their own
    static constexpr uint64_t SUB = uint64_t{1} << SUB_BITS;
    static constexpr uint32_t BUCKETS = (63 - SUB_BITS) * SUB + SUB;

    static uint32_t Bucket(uint64_t value)
    {
        const int shift = static_cast<int>(std::bit_width(value)) - EXACT_BITS;
        const uint64_t bucket =
            shift <= 0 ? value : static_cast<uint64_t>(shift) * SUB + (value >> shift);
        return static_cast<uint32_t>(bucket);
    }

    static double Middle(uint32_t bucket)
    {
        if (bucket < 2 * SUB)
        {
            return bucket;
        }
        const auto shift = static_cast<uint32_t>(bucket / SUB - 1);
        uint64_t mantissa = bucket - shift * SUB;
        return (static_cast<double>(mantissa) + 0.5) * static_cast<double>(uint64_t{1} << shift);
    }

    std::vector<uint64_t> m_counts = std::vector<uint64_t>(BUCKETS);
    uint64_t m_total{0};
    int64_t m_sum{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_HISTOGRAM_H
