/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SEGMENT_OFFSETS_H
#define TUNNELCC_SEGMENT_OFFSETS_H

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace tunnelcc
{

/// Where segments begin in their stream, by number: TCP's sequence numbers count bytes.
class SegmentOffsets
{
  public:
    /// A segment is sent. \param number modulo 2^32 \param bytes of sequence space, FIN included
    void OnSent(uint32_t number, uint32_t bytes)
    {
        if (number - m_first + 1 == m_offsets.size())
        {
            m_offsets.push_back(m_offsets.back() + bytes);
        }
    }

    /// Every segment before `number` was acknowledged.
    void OnAcked(uint32_t number)
    {
        for (; static_cast<int32_t>(number - m_first) > KEPT && m_offsets.size() > 1; ++m_first)
        {
            m_offsets.pop_front();
        }
    }

    /// Offset of a segment that was sent, or of the next; of one forgotten, that of the first
    /// known.
    uint64_t Of(uint32_t number) const
    {
        const auto index = static_cast<int32_t>(number - m_first);
        return index < 0                                       ? m_offsets.front()
               : static_cast<size_t>(index) < m_offsets.size() ? m_offsets[index]
                                                               : m_offsets.back();
    }

    /// Number of the segment that begins at `offset`, or of the next one to be sent; none: no known
    /// segment begins there.
    std::optional<uint32_t> At(uint64_t offset) const
    {
        const auto found = std::lower_bound(m_offsets.begin(), m_offsets.end(), offset);
        if (found == m_offsets.end() || *found != offset)
        {
            return std::nullopt;
        }
        return m_first + static_cast<uint32_t>(found - m_offsets.begin());
    }

    /// Offset behind all that was sent.
    uint64_t End() const
    {
        return m_offsets.back();
    }

  private:
    /// Segments that others may overtake, or late ACKs tell of.
    static constexpr int32_t KEPT = 1 << 16;

    uint32_t m_first{0};               //!< number of the first known
    std::deque<uint64_t> m_offsets{0}; //!< from that one to the next to be sent
};

} // namespace tunnelcc

#endif // TUNNELCC_SEGMENT_OFFSETS_H
