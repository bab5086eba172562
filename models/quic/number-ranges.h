/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NUMBER_RANGES_H
#define TUNNELCC_NUMBER_RANGES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// Numbers [begin, end).
struct NumberRange
{
    uint64_t begin{0};
    uint64_t end{0};
};

/// A set of numbers, kept as ranges that do not touch, lowest first.
class NumberRanges
{
  public:
    /// Add numbers.
    void Add(uint64_t begin, uint64_t end)
    {
        if (!m_ranges.empty() && begin == m_ranges.back().end)
        {
            m_ranges.back().end = end; // in order, as almost all
            return;
        }
        ++m_version;
        auto first =
            std::lower_bound(m_ranges.begin(),
                             m_ranges.end(),
                             begin,
                             [](const NumberRange& it, uint64_t at) { return it.end < at; });
        NumberRange joined{begin, end};
        auto last = first;
        for (; last != m_ranges.end() && last->begin <= end; ++last)
        {
            joined.begin = std::min(joined.begin, last->begin);
            joined.end = std::max(joined.end, last->end);
        }
        if (first == last)
        {
            m_ranges.insert(first, joined);
        }
        else
        {
            *first = joined;
            m_ranges.erase(first + 1, last);
        }
    }

    bool Contains(uint64_t number) const
    {
        if (m_ranges.empty() || number >= m_ranges.back().end)
        {
            return false; // as almost all that are asked for
        }
        auto found =
            std::upper_bound(m_ranges.begin(),
                             m_ranges.end(),
                             number,
                             [](uint64_t at, const NumberRange& it) { return at < it.end; });
        return found != m_ranges.end() && found->begin <= number;
    }

    /// Forget numbers below.
    void RemoveBelow(uint64_t number)
    {
        size_t gone = 0;
        while (gone < m_ranges.size() && m_ranges[gone].end <= number)
        {
            ++gone;
        }
        RemoveFirst(gone);
        if (!m_ranges.empty() && m_ranges.front().begin < number)
        {
            m_ranges.front().begin = number;
            ++m_version;
        }
    }

    /// Forget the lowest ranges.
    void RemoveFirst(size_t ranges)
    {
        m_version += ranges > 0;
        m_ranges.erase(m_ranges.begin(), m_ranges.begin() + static_cast<ptrdiff_t>(ranges));
    }

    const std::vector<NumberRange>& All() const
    {
        return m_ranges;
    }

    /// Another number after each change but of the end of the last range: as long as it is the
    /// same, so are all ranges before.
    uint64_t Version() const
    {
        return m_version;
    }

  private:
    std::vector<NumberRange> m_ranges;
    uint64_t m_version{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_NUMBER_RANGES_H
