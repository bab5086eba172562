/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TIMER_WHEEL_H
#define TUNNELCC_TIMER_WHEEL_H

#include <cstdint>

namespace tunnelcc
{

/**
 * Tells when a timer of Linux fires (kernel/time/timer.c since 4.8). Linux rounds a delay up to
 * whole jiffies, and the timer fires at the end of a bucket. A bucket lasts one jiffy for delays
 * below 63 jiffies, 8 jiffies for those below 8 · 63, 64 for those below 64 · 63, and so on.
 */
class TimerWheel
{
  public:
    /// \param jiffy 1 / HZ, ns; 0: timers are exact
    explicit TimerWheel(int64_t jiffy)
        : m_jiffy(jiffy)
    {
    }

    /// \param set when the timer was set, ns
    /// \param deadline when it was to fire, ns
    /// \returns when it fires, ns
    int64_t Expiry(int64_t set, int64_t deadline) const
    {
        if (m_jiffy == 0)
        {
            return deadline;
        }
        constexpr int64_t BUCKETS = 63;   // of a level, LVL_SIZE - 1
        constexpr int64_t LEVEL_STEP = 8; // LVL_CLK_DIV
        int64_t delay = (deadline - set + m_jiffy - 1) / m_jiffy;
        int64_t bucket = 1; // jiffies
        while (delay >= BUCKETS * bucket)
        {
            bucket *= LEVEL_STEP;
        }
        return ((set / m_jiffy + delay) / bucket + 1) * bucket * m_jiffy;
    }

  private:
    int64_t m_jiffy;
};

} // namespace tunnelcc

#endif // TUNNELCC_TIMER_WHEEL_H
