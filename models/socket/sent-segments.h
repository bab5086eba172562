/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SENT_SEGMENTS_H
#define TUNNELCC_SENT_SEGMENTS_H

#include "wire/segment-offsets.h"

#include "ns3/sequence-number.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace tunnelcc
{

/**
 * What one end of a connection has sent, by sequence number. The models number segments, headers
 * number bytes.
 *
 * Both ends hold it: a receiver cannot tell from a header how many segments a gap had. The other
 * end finds it by the initial sequence number, which no two ends of a process share.
 */
class SentSegments
{
  public:
    /// For a new end. The initial sequence numbers are the same in each run of a program.
    static std::shared_ptr<SentSegments> Make();

    /// That of the end that sent a SYN; null: it is no end of this kind.
    static std::shared_ptr<SentSegments> Find(ns3::SequenceNumber32 initial);

    ~SentSegments();
    SentSegments(const SentSegments&) = delete;
    SentSegments& operator=(const SentSegments&) = delete;

    /// Of the SYN.
    ns3::SequenceNumber32 Initial() const
    {
        return ns3::SequenceNumber32(m_initial);
    }

    /// As SegmentOffsets::OnSent().
    void OnSent(uint32_t number, uint32_t bytes)
    {
        m_offsets.OnSent(number, bytes);
    }

    /// As SegmentOffsets::OnAcked().
    void OnAcked(uint32_t number)
    {
        m_offsets.OnAcked(number);
    }

    /// Stream offset of a segment that was sent, or of the next.
    uint64_t OffsetOf(uint32_t number) const
    {
        return m_offsets.Of(number);
    }

    /// Sequence number of a segment that was sent, or of the next.
    ns3::SequenceNumber32 SequenceOf(uint32_t number) const
    {
        return AtOffset(m_offsets.Of(number));
    }

    /// Sequence number behind all that was sent.
    ns3::SequenceNumber32 Next() const
    {
        return AtOffset(m_offsets.End());
    }

    /// Number of the segment that begins there, or of the next; none: no known one does.
    std::optional<uint32_t> At(ns3::SequenceNumber32 sequence) const
    {
        const uint64_t end = m_offsets.End();
        const auto distance = static_cast<int32_t>(sequence.GetValue() - AtOffset(end).GetValue());
        return m_offsets.At(end + static_cast<int64_t>(distance));
    }

  private:
    explicit SentSegments(uint32_t initial);

    ns3::SequenceNumber32 AtOffset(uint64_t offset) const
    {
        return ns3::SequenceNumber32(m_initial + 1 + static_cast<uint32_t>(offset));
    }

    const uint32_t m_initial;
    SegmentOffsets m_offsets;
};

} // namespace tunnelcc

#endif // TUNNELCC_SENT_SEGMENTS_H
