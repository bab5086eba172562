/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RECEIVE_RTT_H
#define TUNNELCC_RECEIVE_RTT_H

#include "event/time-units.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * A receiver's own estimate of the round-trip time, as in Linux (tcp_rcv_rtt_update()). It takes
 * samples from echoes of its timestamps in full data packets, and from the time that a window of
 * data takes, of which the least counts.
 *
 * Since Linux 6.16, any smaller sample replaces the estimate, larger samples are ignored while data
 * waits for the reader, and echoes within the same millisecond are ignored, which before counted as
 * 1 ms.
 */
class ReceiveRtt
{
  public:
    /// \param seeksLeast behave as Linux since 6.16
    /// \param mss payload of a full segment, bytes
    ReceiveRtt(bool seeksLeast, uint32_t mss)
        : m_seeksLeast(seeksLeast),
          m_fullLength(std::min(mss, DEFAULT_MSS))
    {
    }

    /// Estimate, ns; 0: none yet.
    int64_t Rtt() const
    {
        return m_rtt;
    }

    /**
     * A data packet came (tcp_rcv_rtt_measure_ts()).
     * \param clock our timestamp clock now, ms
     * \param echo our timestamp that the packet echoes, ms
     * \param length payload bytes
     * \param isAllRead nothing waits for the reader
     */
    void OnEcho(uint32_t clock, uint32_t echo, uint32_t length, bool isAllRead)
    {
        if (echo == m_latestEcho)
        {
            return;
        }
        m_latestEcho = echo;
        if (length < m_fullLength)
        {
            return;
        }
        m_fullLength = length;
        const int64_t elapsed = clock - echo;
        if (m_seeksLeast && elapsed == 0)
        {
            return;
        }
        const int64_t sample = elapsed > 0 ? elapsed * MS : MS;
        if (m_rtt == 0 || (m_seeksLeast && sample < m_rtt))
        {
            m_rtt = sample;
        }
        else if (!m_seeksLeast || isAllRead)
        {
            m_rtt += (sample - m_rtt) / 8;
        }
    }

    /**
     * Data came in order (tcp_rcv_rtt_measure()).
     * \param now ns
     * \param received payload bytes in order so far
     * \param window receive window from there on, bytes
     */
    void OnInOrder(int64_t now, uint64_t received, uint64_t window)
    {
        if (m_windowStart >= 0 && received < m_windowEnd)
        {
            return;
        }
        if (m_windowStart >= 0 && (m_rtt == 0 || now - m_windowStart < m_rtt))
        {
            m_rtt = now - m_windowStart;
        }
        m_windowStart = now;
        m_windowEnd = received + window;
    }

  private:
    static constexpr uint32_t DEFAULT_MSS = 536; //!< TCP_MSS_DEFAULT

    const bool m_seeksLeast;
    int64_t m_rtt{0};
    uint32_t m_latestEcho{0};
    uint32_t m_fullLength;     //!< payload of the longest packet (rcv_mss); at first DEFAULT_MSS
    int64_t m_windowStart{-1}; //!< when the window began, ns; −1: no data yet
    uint64_t m_windowEnd{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RECEIVE_RTT_H
