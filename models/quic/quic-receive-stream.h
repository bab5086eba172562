/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_RECEIVE_STREAM_H
#define TUNNELCC_QUIC_RECEIVE_STREAM_H

#include "flow-window.h"
#include "number-ranges.h"
#include "packet-history.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// The receiving half of a stream: the bytes that have arrived, in order and beyond gaps.
class QuicReceiveStream
{
  public:
    explicit QuicReceiveStream(const QuicFlowSpec& spec)
        : m_window(spec)
    {
    }

    /// A frame has arrived. \returns whether there is more to read, or the end
    bool OnFrame(const QuicFrame& frame)
    {
        const uint64_t before = m_arrived;
        if (frame.isFin)
        {
            m_end = frame.offset + frame.length;
        }
        if (frame.offset <= m_arrived)
        {
            m_arrived = std::max(m_arrived, frame.offset + frame.length);
        }
        else if (frame.length > 0)
        {
            m_beyond.Add(frame.offset, frame.offset + frame.length);
        }
        while (!m_beyond.All().empty() && m_beyond.All().front().begin <= m_arrived)
        {
            m_arrived = std::max(m_arrived, m_beyond.All().front().end);
            m_beyond.RemoveFirst(1);
        }
        return m_arrived > before || (frame.isFin && m_arrived == m_end);
    }

    /// Bytes that can be read.
    uint64_t Readable() const
    {
        return m_arrived - m_window.TotalRead();
    }

    /// Whether the end was read.
    bool IsAtEof() const
    {
        return m_end && m_window.TotalRead() == *m_end;
    }

    /// Whether the peer may need a larger limit.
    bool IsUpdateDue() const
    {
        return !m_end && m_window.IsUpdateDue();
    }

    FlowWindow& Window()
    {
        return m_window;
    }

  private:
    FlowWindow m_window;
    uint64_t m_arrived{0};         //!< bytes that arrived without a gap
    NumberRanges m_beyond;         //!< bytes that arrived after the first gap
    std::optional<uint64_t> m_end; //!< length of the stream, once the peer has told its end
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_RECEIVE_STREAM_H
