/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RETRANSMISSION_TIMER_H
#define TUNNELCC_RETRANSMISSION_TIMER_H

#include "congestion/congestion-control.h"
#include "timer-wheel.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * The deadlines of a sender while data is in flight: when segments that may have been overtaken
 * count as lost (RFC 8985, section 6.3), when a tail loss probe is sent (section 7.2), and the
 * retransmission time-out (RFC 6298). Linux has one timer for them (icsk_retransmit_timer), which
 * counts in jiffies.
 */
class RetransmissionTimer
{
  public:
    enum class Cause
    {
        REORDERING,
        PROBE,
        TIMEOUT
    };

    /// \param jiffy as in TimerWheel
    explicit RetransmissionTimer(int64_t jiffy)
        : m_wheel(jiffy)
    {
    }

    /// Set the time-out of `rto` ns, which counts from `since`, ns.
    void SetTimeout(int64_t now, int64_t since, int64_t rto)
    {
        m_timeout = {std::max(since + rto, now + 1), now};
    }

    /// Set when the first of the segments that may have been overtaken counts as lost, ns; NEVER:
    /// there is none.
    void SetReordering(int64_t now, int64_t deadline)
    {
        m_reordering = {deadline, now};
    }

    /// Probe at `deadline` ns, or in place of an earlier time-out.
    void SetProbe(int64_t now, int64_t deadline)
    {
        m_probe = {std::min(deadline, m_timeout.deadline), now};
    }

    void CancelReordering()
    {
        m_reordering.deadline = NEVER;
    }

    void CancelProbe()
    {
        m_probe.deadline = NEVER;
    }

    bool HasReordering() const
    {
        return m_reordering.deadline != NEVER;
    }

    bool HasProbe() const
    {
        return m_probe.deadline != NEVER;
    }

    /// When the first of them is due, ns.
    int64_t Deadline() const
    {
        return std::min({m_timeout.deadline, m_reordering.deadline, m_probe.deadline});
    }

    /// Which of them is due, or will be next if it is the time-out.
    Cause Due(int64_t now) const
    {
        if (m_reordering.deadline <= now)
        {
            return Cause::REORDERING;
        }
        return m_probe.deadline <= now ? Cause::PROBE : Cause::TIMEOUT;
    }

    /**
     * When Linux's timer for what is due fires, ns. It is computed only once a deadline has passed,
     * because ACKs put most of them off.
     * \param cause Due()
     * \param reorderingEnd for REORDERING, when the last of the segments is lost, ns: Linux waits
     *        for them all
     */
    int64_t Expiry(Cause cause, int64_t reorderingEnd) const
    {
        switch (cause)
        {
        case Cause::REORDERING:
            return m_wheel.Expiry(m_reordering.setTime, reorderingEnd);
        case Cause::PROBE:
            return m_wheel.Expiry(m_probe.setTime, m_probe.deadline);
        default:
            return m_wheel.Expiry(m_timeout.setTime, m_timeout.deadline);
        }
    }

  private:
    struct Alarm
    {
        int64_t deadline{NEVER}; //!< ns
        int64_t setTime{0};      //!< when it was determined, ns
    };

    TimerWheel m_wheel;
    Alarm m_timeout;
    Alarm m_reordering;
    Alarm m_probe;
};

} // namespace tunnelcc

#endif // TUNNELCC_RETRANSMISSION_TIMER_H
