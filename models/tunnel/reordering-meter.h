/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_REORDERING_METER_H
#define TUNNELCC_REORDERING_METER_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * Which packets come after one that was sent later, and how far (RFC 4737).
 *
 * A packet is reordered if its number is less than the greatest so far (section 3.3). Its extent is
 * how many arrivals ago the first one with a greater number came, which the RFC calls so, too.
 */
class ReorderingMeter
{
  public:
    /// A packet came. \param number by which they were sent, from 0
    void Count(int64_t number)
    {
        ++m_arrivals;
        ++m_packets;
        if (number >= m_next)
        {
            // The first one with a greater number than these is this one.
            for (int64_t passed = std::max(m_next, number - REMEMBERED); passed < number; ++passed)
            {
                m_passedAt[passed % REMEMBERED] = m_arrivals;
            }
            m_next = number + 1;
            return;
        }
        ++m_reordered;
        const bool isKnown = m_next - number <= REMEMBERED;
        const uint64_t extent =
            isKnown ? m_arrivals - m_passedAt[number % REMEMBERED] : uint64_t{REMEMBERED};
        m_extents += static_cast<double>(extent);
        m_longest = std::max(m_longest, extent);
    }

    /// Count from now on.
    void StartMeasuring()
    {
        m_packets = m_reordered = m_longest = 0;
        m_extents = 0;
    }

    /// Share of the packets that were reordered; 0 of none.
    double Share() const
    {
        return m_packets ? static_cast<double>(m_reordered) / static_cast<double>(m_packets) : 0;
    }

    /// Mean extent of those; 0 of none.
    double MeanExtent() const
    {
        return m_reordered ? m_extents / static_cast<double>(m_reordered) : 0;
    }

    uint64_t LongestExtent() const
    {
        return m_longest;
    }

  private:
    static constexpr int64_t REMEMBERED = 1 << 14; //!< greater extents count as this

    std::vector<uint64_t> m_passedAt = std::vector<uint64_t>(REMEMBERED);
    int64_t m_next{0}; //!< one more than the greatest number so far
    uint64_t m_arrivals{0};
    uint64_t m_packets{0};
    uint64_t m_reordered{0};
    uint64_t m_longest{0};
    double m_extents{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_REORDERING_METER_H
