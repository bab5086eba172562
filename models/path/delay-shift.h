/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DELAY_SHIFT_H
#define TUNNELCC_DELAY_SHIFT_H

#include "spec/path-spec.h"
#include "steps.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * The propagation delay of a link over time, in steps, as an extra delay on top of its least one.
 *
 * A packet has the delay of the time at which it leaves the link. Where a step makes the delay
 * shorter, packets that leave after it can overtake those in flight, unless order is kept.
 */
class DelayShift
{
  public:
    explicit DelayShift(const LinkSpec& spec)
        : m_steps(spec.delaySteps),
          m_keepsOrder(spec.handover != Handover::OVERTAKE)
    {
        int64_t least = spec.delay;
        for (const DelayStep& step : spec.delaySteps)
        {
            least = std::min(least, step.delay);
        }
        m_least = least;
        m_extra = spec.delay - least;
        m_below = spec.delay - least;
    }

    /// By how much the least delay is below the one at the start, ns.
    int64_t Below() const
    {
        return m_below;
    }

    bool KeepsOrder() const
    {
        return m_keepsOrder;
    }

    /// The extra delay of a packet that leaves at `departure` ns, never earlier than the one
    /// before.
    int64_t Extra(int64_t departure)
    {
        if (const DelayStep* step = m_steps.Reach(departure))
        {
            m_extra = step->delay - m_least;
        }
        return m_extra;
    }

    /// When a packet that would go on at `time` goes on: not before the packets before it, if order
    /// is kept.
    int64_t InOrder(int64_t time)
    {
        m_latest = m_keepsOrder ? std::max(m_latest, time) : time;
        return m_latest;
    }

  private:
    Steps<DelayStep> m_steps;
    bool m_keepsOrder;
    int64_t m_least; //!< the least delay, ns
    int64_t m_below;
    int64_t m_extra;     //!< of the latest packet, ns
    int64_t m_latest{0}; //!< the latest time that InOrder() returned, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_DELAY_SHIFT_H
