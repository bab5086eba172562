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
 * A receiver's own estimate of the round-trip time, as in Linux (tcp_rcv_rtt_update()): from the
 * echoes of its clock in full data packets, and from how long a window of data takes, of which the
 * least counts.
 *
 * Since 6.16 any lesser sample replaces the estimate, larger ones are left out while data waits for
 * the reader, and echoes within the same millisecond tell nothing; before, those count as one.
 */
class ReceiveRtt
{
  public:
    /// \param seeksLeast as since 6.16
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
     * \param clock of ours now, ms
     * \param echo of it in the packet, ms
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
     * \param window offered from there on, bytes
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
    uint32_t m_fullLength;     //!< payload of the longest packet (rcv_mss), at first of the default
    int64_t m_windowStart{-1}; //!< ns; −1: no data yet
    uint64_t m_windowEnd{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RECEIVE_RTT_H
