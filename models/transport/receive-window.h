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
 * The receive buffer and the window that it lets a receiver advertise, as in Linux.
 *
 * Dynamic right-sizing (tcp_rcv_space_adjust()) makes the buffer larger: once a round trip, if the
 * application read more than in any round before, room is made for twice as much and for the
 * growth to come, up to the maximum. Linux before 6.16 adds a cushion of 16 segments against
 * losses; since then what waits unread is taken off what was read, and room is made for the data
 * out of order, whenever some arrives (tcp_rcvbuf_grow() as of 6.18).
 *
 * The limit of the window (rcv_ssthresh) grows towards the buffer's size, by two segments for each
 * segment that arrives (tcp_grow_window()), if the host's memory allows it (see TcpMemory). Data
 * that waits in the buffer, in order or not, takes space (tcp_space()), which limits the window.
 * The window's right edge never moves back. Left out: the memory that a socket buffer takes beyond
 * its payload; the maximum is in payload bytes.
 */
class ReceiveWindow
{
  public:
    /**
     * \param initial window at first, bytes; 0: the maximum, and no adjustment
     * \param room size of the buffer at first, bytes
     * \param maximum size of the buffer, bytes
     * \param mss payload of a full segment, bytes
     * \param scale window scale (RFC 7323): windows are told in units of 2^scale bytes
     * \param growth Linux's rule for the growth of the buffer
     */
    ReceiveWindow(uint64_t initial,
                  uint64_t room,
                  uint64_t maximum,
                  uint32_t mss,
                  uint32_t scale,
                  ReceiveGrowth growth)
        : m_maximum(maximum),
          m_mss(mss),
          m_scale(scale),
          m_unit(uint64_t{1} << scale),
          m_most(scale > 0 ? MOST_UNITS << scale : UINT32_MAX),
          m_growth(growth),
          m_room(initial > 0 ? std::min(std::max(initial, room), maximum) : maximum),
          m_limit(initial > 0 ? std::min(initial, m_room) : m_room),
          m_told(m_limit),
          m_edge(m_limit),
          m_roundBytes(std::min<uint64_t>(INITIAL_SEGMENTS * mss, m_limit))
    {
    }

    /// \param spec of the host
    explicit ReceiveWindow(const TcpSpec& spec)
        : ReceiveWindow(spec.initialReceiveWindow,
                        spec.initialReceiveRoom,
                        spec.receiveWindow,
                        spec.mss,
                        spec.windowScale,
                        spec.receiveGrowth)
    {
    }

    /// The first round trip begins. \param now ns
    void Begin(int64_t now)
    {
        m_roundStart = now;
    }

    /// Largest window to advertise, bytes: that of a SYN, and later that of an empty buffer.
    uint64_t Limit() const
    {
        return m_limit;
    }

    /// The window told last, bytes.
    uint64_t Told() const
    {
        return m_told;
    }

    /// Size of the buffer as payload, bytes: the limit grows up to it.
    uint64_t Room() const
    {
        return m_room;
    }

    /**
     * A segment arrived, in order or not.
     * \param buffered payload in the buffer, bytes; with the segment if it is in order
     * \returns whether the limit has grown by it
     */
    bool OnSegment(uint64_t buffered)
    {
        const uint64_t space = Space(buffered);
        if (m_limit >= space)
        {
            return false;
        }
        m_limit = std::min(m_limit + 2 * m_mss, space);
        return true;
    }

    /**
     * The window of an ACK that is about to be sent (tcp_select_window()).
     * \param received bytes that arrived in order so far
     * \param buffered payload in the buffer, in order or not, bytes
     * \returns bytes beyond `received`, as told
     */
    uint32_t Advertise(uint64_t received, uint64_t buffered)
    {
        const uint64_t window = Align(std::max(Select(buffered), Left(received)));
        m_told = window;
        m_edge = received + window;
        return static_cast<uint32_t>(std::min(window, m_most));
    }

    /// Whether a reader has made so much room that the sender is told at once: the window has at
    /// least doubled (tcp_cleanup_rbuf()). \param received, buffered as of Advertise()
    bool NeedsUpdate(uint64_t received, uint64_t buffered) const
    {
        const uint64_t left = Left(received);
        if (2 * left > m_room)
        {
            return false;
        }
        const uint64_t window = Align(Select(buffered));
        return window > 0 && window >= 2 * left;
    }

    /// Whether more than half of the buffer is taken, which ends quick ACKs
    /// (__tcp_select_window()). \param buffered as of Advertise()
    bool IsCrowded(uint64_t buffered) const
    {
        return Space(buffered) < m_room / 2;
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
        EndRound(now, totalRead, unread, span);
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
    static constexpr uint64_t LEAST_PART = 16;       //!< of the buffer, __tcp_select_window()
    static constexpr uint64_t MOST_UNITS = 65'535;   //!< 16 bits of the header

    /// Room that no data takes, bytes (tcp_space()).
    uint64_t Space(uint64_t buffered) const
    {
        return m_room - std::min(m_room, buffered);
    }

    /// Bytes left of the window advertised last. More may have arrived: windows are rounded up.
    uint64_t Left(uint64_t received) const
    {
        return m_edge - std::min(m_edge, received);
    }

    /// Round up to whole units of the window scale.
    uint64_t Align(uint64_t window) const
    {
        return (window + m_unit - 1) & ~(m_unit - 1);
    }

    /// The window that the buffer has room for, bytes (__tcp_select_window()): 0 where there is
    /// little room. Not in whole units yet.
    uint64_t Select(uint64_t buffered) const
    {
        uint64_t space = Space(buffered);
        if (space < m_room / 2)
        {
            space = space >> m_scale << m_scale;
            if (space < m_room / LEAST_PART || space < std::min(m_mss, m_room))
            {
                return 0;
            }
        }
        return std::min(space, m_limit);
    }

    /// A round trip has passed. Not inline: reading would pay for its registers each time.
    [[gnu::noinline]] void EndRound(int64_t now, uint64_t totalRead, uint64_t unread, uint64_t span)
    {
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

    void MakeRoom(double wanted)
    {
        double limited = std::min(wanted, static_cast<double>(m_maximum));
        m_room = std::max(m_room, static_cast<uint64_t>(limited));
    }

    uint64_t m_maximum;
    uint64_t m_mss;
    uint32_t m_scale;
    uint64_t m_unit; //!< of the window scale, bytes
    uint64_t m_most; //!< largest window that the header can tell, bytes
    ReceiveGrowth m_growth;
    uint64_t m_room;  //!< size of the buffer
    uint64_t m_limit; //!< of the window (rcv_ssthresh)
    uint64_t m_told;  //!< window told last
    uint64_t m_edge;  //!< its right edge, stream offset
    uint64_t m_roundBytes;
    uint64_t m_readAtStart{0};
    int64_t m_roundStart{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RECEIVE_WINDOW_H
