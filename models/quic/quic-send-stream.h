/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_SEND_STREAM_H
#define TUNNELCC_QUIC_SEND_STREAM_H

#include "event/fifo.h"
#include "packet-history.h"
#include "variable-length.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace tunnelcc
{

/// The sending half of a stream: the bytes that were written, and those that are to be sent
/// (again).
class QuicSendStream
{
  public:
    /// \param number its place among the connection's streams  \param limit bytes that it may send
    QuicSendStream(uint32_t number, uint64_t limit)
        : m_number(number),
          m_idBytes(VariableLength(4ULL * number)),
          m_limit(limit)
    {
    }

    /// Its place among the connection's streams.
    uint32_t Number() const
    {
        return m_number;
    }

    /// Append bytes. \param isApart they share no frame with what was written before
    void Write(uint64_t bytes, bool isApart)
    {
        m_boundary = isApart ? m_written : m_boundary;
        m_written += bytes;
    }

    /// Nothing more will be written.
    void Close()
    {
        m_closes = true;
    }

    /// Bytes that were written, but are in no packet yet.
    uint64_t Unsent() const
    {
        return m_written - m_sent;
    }

    /// Whether new data, or the stream's end, may go into a packet now. \param credit bytes that
    /// the connection may send
    bool CanSend(uint64_t credit) const
    {
        return std::min({Unsent(), m_limit - m_sent, credit}) > 0 || IsEndDue();
    }

    bool HasLost() const
    {
        return !m_lost.IsEmpty() || m_isEndLost;
    }

    /// The peer has told a new limit, bytes.
    void SetLimit(uint64_t limit)
    {
        m_limit = std::max(m_limit, limit);
    }

    /// Make a frame of new data. \param room bytes left in the packet, for the frame with its
    /// header
    /// \param credit as of CanSend() \returns none: there is no data, or no room
    std::optional<QuicFrame> TakeNew(uint32_t room, uint64_t credit)
    {
        const uint32_t header = HeaderBytes(m_sent);
        const uint64_t most = std::min({Unsent(), m_limit - m_sent, credit});
        if (header >= room || (most == 0 && !IsEndDue()))
        {
            return {};
        }
        const uint64_t end = m_sent < m_boundary ? m_boundary : m_written;
        QuicFrame frame =
            MakeFrame(m_sent, std::min({most, end - m_sent, room - uint64_t{header}}));
        m_sent += frame.length;
        m_isEndSent |= frame.isFin;
        return frame;
    }

    /// Make a frame of lost data, what was lost first before the rest. \param room as of TakeNew()
    std::optional<QuicFrame> TakeLost(uint32_t room)
    {
        const bool hasData = !m_lost.IsEmpty();
        const uint64_t offset = hasData ? m_lost.Front().begin : m_written;
        const uint32_t header = HeaderBytes(offset);
        if (header >= room)
        {
            return {};
        }
        const uint64_t left = hasData ? m_lost.Front().end - offset : 0;
        QuicFrame frame = MakeFrame(offset, std::min<uint64_t>(left, room - header));
        frame.isAgain = true;
        if (hasData && frame.length == left)
        {
            m_lost.Pop();
        }
        else if (hasData)
        {
            m_lost.Front().begin += frame.length;
        }
        m_isEndLost &= !frame.isFin;
        return frame;
    }

    /// A frame was lost.
    void OnLost(const QuicFrame& frame)
    {
        if (frame.length > 0)
        {
            m_lost.Push({frame.offset, frame.offset + frame.length});
        }
        m_isEndLost |= frame.isFin;
    }

    /// A frame was acknowledged. \returns whether it is the first that ends the stream
    bool OnAcked(const QuicFrame& frame)
    {
        return frame.isFin && !std::exchange(m_isEndAcked, true);
    }

    /// Bytes of a frame around its data, without the length field (RFC 9000, section 19.8).
    uint32_t HeaderBytes(uint64_t offset) const
    {
        return 1 + m_idBytes + (offset > 0 ? VariableLength(offset) : 0);
    }

  private:
    bool IsEndDue() const
    {
        return m_closes && !m_isEndSent && Unsent() == 0;
    }

    QuicFrame MakeFrame(uint64_t offset, uint64_t length) const
    {
        const bool isFin = m_closes && offset + length == m_written;
        return {offset, m_number, static_cast<uint16_t>(length), QuicFrameKind::STREAM, isFin};
    }

    const uint32_t m_number;
    /// Of its identifier: the client opens streams 0, 4, 8, … in both directions (section 2.1).
    const uint32_t m_idBytes;
    uint64_t m_limit;
    uint64_t m_written{0};
    uint64_t m_boundary{0}; //!< no frame has bytes on both sides of it
    uint64_t m_sent{0};     //!< bytes sent at least once
    bool m_closes{false};
    bool m_isEndSent{false};
    bool m_isEndLost{false};
    bool m_isEndAcked{false};
    Fifo<NumberRange> m_lost; //!< in the order in which it was lost
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_SEND_STREAM_H
