/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RECEIVE_WINDOW_H
#define TUNNELCC_RECEIVE_WINDOW_H

#include "spec/tcp-spec.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * How much a receiver offers to buffer: Linux's dynamic right-sizing (tcp_rcv_space_adjust()).
 *
 * Once a round trip, if the application read more than in any round before, room is made for
 * twice as much and for the growth to come, up to the maximum. Linux before 6.16 adds a cushion of
 * 16 segments against losses; since then what waits unread is taken off what was read, and room is
 * made for the data out of order, whenever some arrives (tcp_rcvbuf_grow() as of 6.18). What is
 * advertised follows by two segments for each one that arrives (tcp_grow_window()), while the
 * host's memory lets it (see TcpMemory). Left out: the true size of socket buffers, for which the
 * maximum stands.
 */
class ReceiveWindow
{
  public:
    /**
     * \param initial offered at first, bytes; 0: the maximum, and no adjustment
     * \param room size of the first buffer, bytes
     * \param maximum bytes
     * \param mss payload of a full segment, bytes
     * \param growth by which law room is made
     */
    ReceiveWindow(uint64_t initial,
                  uint64_t room,
                  uint64_t maximum,
                  uint32_t mss,
                  ReceiveGrowth growth)
        : m_maximum(maximum),
          m_mss(mss),
          m_growth(growth),
          m_room(initial > 0 ? std::min(std::max(initial, room), maximum) : maximum),
          m_offered(initial > 0 ? std::min(initial, m_room) : m_room),
          m_roundBytes(INITIAL_SEGMENTS * mss)
    {
    }

    /// The first round trip begins. \param now ns
    void Begin(int64_t now)
    {
        m_roundStart = now;
    }

    /// What to advertise beyond what was read, bytes.
    uint64_t Offered() const
    {
        return m_offered;
    }

    /// Size of the buffer as payload, bytes: what is offered grows up to it.
    uint64_t Room() const
    {
        return m_room;
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
     * \param unread bytes in order that are left
     * \param span bytes from the next one expected to the end of what arrived out of order
     * \param rtt estimate of the round-trip time, ns; 0: none
     */
    void OnRead(int64_t now, uint64_t totalRead, uint64_t unread, uint64_t span, int64_t rtt)
    {
        if (m_room >= m_maximum || rtt == 0 || now - m_roundStart < rtt)
        {
            return;
        }
        uint64_t copied = totalRead - m_readAtStart;
        if (m_growth == ReceiveGrowth::OUT_OF_ORDER)
        {
            copied -= std::min(copied, unread);
        }
        if (copied > m_roundBytes)
        {
            double cushion = m_growth == ReceiveGrowth::CUSHION
                                 ? static_cast<double>(CUSHION_SEGMENTS * m_mss)
                                 : 0;
            double wanted = 2 * static_cast<double>(copied) + cushion;
            double growth =
                static_cast<double>(copied - m_roundBytes) / static_cast<double>(m_roundBytes);
            wanted += 2 * wanted * growth;
            MakeRoom(wanted + (m_growth == ReceiveGrowth::CUSHION ? 0 : static_cast<double>(span)));
            m_roundBytes = copied;
        }
        m_roundStart = now;
        m_readAtStart = totalRead;
    }

    /// A segment arrived out of order. \param span as of OnRead()
    void OnOutOfOrder(uint64_t span)
    {
        if (m_growth == ReceiveGrowth::OUT_OF_ORDER && m_room < m_maximum)
        {
            MakeRoom(static_cast<double>(2 * m_roundBytes + span));
        }
    }

  private:
    static constexpr uint64_t INITIAL_SEGMENTS = 10; //!< TCP_INIT_CWND
    static constexpr uint64_t CUSHION_SEGMENTS = 16; //!< tcp_rcv_space_adjust() before 6.16

    void MakeRoom(double wanted)
    {
        double limited = std::min(wanted, static_cast<double>(m_maximum));
        m_room = std::max(m_room, static_cast<uint64_t>(limited));
    }

    uint64_t m_maximum;
    uint64_t m_mss;
    ReceiveGrowth m_growth;
    uint64_t m_room;    //!< size of the buffer
    uint64_t m_offered; //!< part of it that is advertised
    uint64_t m_roundBytes;
    uint64_t m_readAtStart{0};
    int64_t m_roundStart{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RECEIVE_WINDOW_H
