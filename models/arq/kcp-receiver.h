/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_RECEIVER_H
#define TUNNELCC_KCP_RECEIVER_H

#include "event/fifo.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// The receiving half of a KCP session: puts segments in order, and lists what to acknowledge.
class KcpReceiver
{
  public:
    /// An ACK that is to be sent.
    struct Ack
    {
        uint32_t number; //!< number of the segment
        uint32_t time;   //!< timestamp of the segment, ms
    };

    /// \param window segments in order that may wait for the reader
    explicit KcpReceiver(uint32_t window)
        : m_window(window),
          m_lengths(std::bit_ceil(window))
    {
    }

    /// A segment arrived.
    void OnPush(uint32_t number, uint32_t time, uint16_t length)
    {
        auto ahead = static_cast<int32_t>(number - m_next);
        if (ahead >= static_cast<int32_t>(m_window))
        {
            return; // no room, as if it were lost
        }
        m_acks.push_back({number, time});
        if (ahead >= 0)
        {
            LengthOf(number) = length;
            Deliver();
        }
    }

    /// Numbers below this one have arrived.
    uint32_t Next() const
    {
        return m_next;
    }

    /// Receive window, segments. Segments out of order take no room.
    uint32_t Window() const
    {
        return m_window - std::min(m_window, static_cast<uint32_t>(m_unread.Size()));
    }

    /// ACKs to be sent, in order of arrival; the caller clears them once they are sent.
    std::vector<Ack>& Acks()
    {
        return m_acks;
    }

    /// Bytes in order that wait for the reader.
    uint64_t Readable() const
    {
        return m_readable;
    }

    /// Read `bytes`, at most Readable(). \returns whether that opened a closed window
    bool Read(uint64_t bytes)
    {
        bool wasClosed = m_unread.Size() >= m_window;
        m_readable -= bytes;
        m_totalRead += bytes;
        while (bytes > m_begun)
        {
            // A segment is taken out as a whole when its first byte is read.
            m_begun += m_unread.Front();
            m_unread.Pop();
            Deliver();
        }
        m_begun -= static_cast<uint32_t>(bytes);
        return wasClosed && m_unread.Size() < m_window;
    }

    uint64_t TotalRead() const
    {
        return m_totalRead;
    }

  private:
    uint16_t& LengthOf(uint32_t number)
    {
        return m_lengths[number & (m_lengths.size() - 1)];
    }

    /// Move segments that are in order to the reader's queue, if that has room.
    void Deliver()
    {
        while (LengthOf(m_next) > 0 && m_unread.Size() < m_window)
        {
            uint16_t& length = LengthOf(m_next);
            m_unread.Push(length);
            m_readable += length;
            length = 0;
            ++m_next;
        }
    }

    const uint32_t m_window;
    std::vector<uint16_t> m_lengths; //!< lengths of segments out of order, in a ring; 0: missing
    uint32_t m_next{0};
    std::vector<Ack> m_acks;
    Fifo<uint16_t> m_unread; //!< lengths of segments in order
    uint64_t m_begun{0};     //!< bytes left of a segment that was taken out
    uint64_t m_readable{0};
    uint64_t m_totalRead{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_RECEIVER_H
