/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_MIN_RTT_H
#define TUNNELCC_BBR3_MIN_RTT_H

#include "congestion/congestion-control.h"

#include <cstdint>

/**
 * \file
 * BBRv3's least RTT, in two windows: a short one (5 s) that says when PROBE_RTT is due, and a long
 * one (10 s) whose minimum the model uses (draft-ietf-ccwg-bbr, sections 5.3.4 and 5.5.7).
 *
 * As in Linux, the ACK of a lone segment, which the receiver may have delayed, renews nothing.
 */

namespace tunnelcc
{

/// Least RTT of the path.
class Bbr3MinRtt
{
  public:
    /**
     * \param probeInterval time without a smaller RTT after which PROBE_RTT is due, ns
     * \param window for which a minimum counts, ns
     */
    Bbr3MinRtt(int64_t probeInterval, int64_t window)
        : m_probeInterval(probeInterval),
          m_window(window)
    {
    }

    /// Start from the handshake's RTT, ns.
    void Init(int64_t rtt, int64_t now)
    {
        m_rtt = m_recent = rtt;
        m_time = m_recentTime = now;
    }

    /// Take a sample. \param rtt ns; negative: none  \param isDelayed AckEvent::isAckDelayed
    void Update(int64_t rtt, bool isDelayed, int64_t now)
    {
        m_isProbeDue = now > m_recentTime + m_probeInterval;
        if (rtt >= 0 && (rtt < m_recent || (m_isProbeDue && !isDelayed)))
        {
            m_recent = rtt;
            m_recentTime = now;
        }
        if (m_recent < m_rtt || now > m_time + m_window)
        {
            m_rtt = m_recent;
            m_time = m_recentTime;
        }
    }

    /// PROBE_RTT is over: wait an interval for the next one.
    void RestartProbeInterval(int64_t now)
    {
        m_recentTime = now;
    }

    /// BBR.min_rtt, ns; NEVER before the first sample.
    int64_t Get() const
    {
        return m_rtt;
    }

    /// Whether the last Update() found the short window over (BBR.probe_rtt_expired).
    bool IsProbeDue() const
    {
        return m_isProbeDue;
    }

  private:
    int64_t m_probeInterval;
    int64_t m_window;
    int64_t m_rtt{NEVER};
    int64_t m_time{0};       //!< when m_rtt was measured
    int64_t m_recent{NEVER}; //!< BBR.probe_rtt_min_delay
    int64_t m_recentTime{0}; //!< BBR.probe_rtt_min_stamp
    bool m_isProbeDue{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_MIN_RTT_H
