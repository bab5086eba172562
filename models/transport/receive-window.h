/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RECEIVE_WINDOW_H
#define TUNNELCC_RECEIVE_WINDOW_H

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * How much a receiver offers to buffer: Linux's dynamic right-sizing (tcp_rcv_space_adjust()).
 *
 * Once a round trip, if the application read more than in any round before, room is made for
 * twice as much and for the growth to come, up to the maximum. What is advertised follows by two
 * segments for each one that arrives (tcp_grow_window()), while the host's memory lets it (see
 * TcpMemory). Left out: the true size of socket buffers, for which the maximum stands.
 */
class ReceiveWindow
{
  public:
    /**
     * \param initial offered at first, bytes; 0: the maximum, and no adjustment
     * \param room size of the first buffer, bytes
     * \param maximum bytes
     * \param mss payload of a full segment, bytes
     */
    ReceiveWindow(uint64_t initial, uint64_t room, uint64_t maximum, uint32_t mss)
        : m_maximum(maximum),
          m_mss(mss),
          m_room(initial > 0 ? std::min(std::max(initial, room), maximum) : maximum),
          m_offered(initial > 0 ? std::min(initial, m_room) : m_room),
          m_roundBytes(INITIAL_SEGMENTS * mss)
    {
    }

    /// What to advertise beyond what was read, bytes.
    uint64_t Offered() const
    {
        return m_offered;
    }

    /// Least by which the edge of the window moves (RFC 9293, section 3.8.6.2.2), bytes.
    uint64_t LeastStep() const
    {
        return std::min(m_mss, m_offered / 2);
    }

    /// A segment arrived, in order or not. \returns whether the window has grown by it
    bool OnSegment()
    {
        if (m_offered >= m_room)
        {
            return false;
        }
        m_offered = std::min(m_offered + 2 * m_mss, m_room);
        return true;
    }

    /**
     * The application read.
     * \param now ns
     * \param totalRead bytes read so far
     * \param rtt estimate of the round-trip time, ns; 0: none
     */
    void OnRead(int64_t now, uint64_t totalRead, int64_t rtt)
    {
        if (m_room >= m_maximum || rtt == 0 || now - m_roundStart < rtt)
        {
            return;
        }
        uint64_t copied = totalRead - m_readAtStart;
        if (copied > m_roundBytes)
        {
            double wanted = static_cast<double>(2 * copied + MARGIN_SEGMENTS * m_mss);
            double growth =
                static_cast<double>(copied - m_roundBytes) / static_cast<double>(m_roundBytes);
            wanted += 2 * wanted * growth;
            double limited = std::min(wanted, static_cast<double>(m_maximum));
            m_room = std::max(m_room, static_cast<uint64_t>(limited));
            m_roundBytes = copied;
        }
        m_roundStart = now;
        m_readAtStart = totalRead;
    }

  private:
    static constexpr uint64_t INITIAL_SEGMENTS = 10; //!< TCP_INIT_CWND
    static constexpr uint64_t MARGIN_SEGMENTS = 16;  //!< tcp_rcv_space_adjust()

    uint64_t m_maximum;
    uint64_t m_mss;
    uint64_t m_room;    //!< size of the buffer
    uint64_t m_offered; //!< part of it that is advertised
    uint64_t m_roundBytes;
    uint64_t m_readAtStart{0};
    int64_t m_roundStart{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RECEIVE_WINDOW_H
