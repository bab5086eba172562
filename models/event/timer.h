/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TIMER_H
#define TUNNELCC_TIMER_H

#include "event-loop.h"
#include "time-units.h"

#include <algorithm>
#include <limits>

namespace tunnelcc
{

/**
 * A timer whose deadline is cheap to move. When it expires, it calls `(owner->*OnExpire)(now)`.
 *
 * To move the deadline later, or to cancel it, costs one store: the pending event notices it when
 * it fires. Only an earlier deadline needs a new event.
 */
template <class Owner, void (Owner::*OnExpire)(int64_t)>
class Timer final : public EventSource
{
  public:
    Timer(EventLoop& loop, Owner* owner)
        : EventSource(loop),
          m_owner(owner)
    {
    }

    /// Expire at `deadline` ns, or as soon as possible if that has passed. NEVER: Cancel().
    void Set(int64_t deadline)
    {
        m_deadline = deadline;
        if (deadline < m_armed)
        {
            Arm();
        }
    }

    void Cancel()
    {
        m_deadline = NEVER;
    }

    bool IsPending() const
    {
        return m_deadline != NEVER;
    }

    int64_t Deadline() const
    {
        return m_deadline;
    }

    void Fire(int64_t now) override
    {
        if (now != m_armed)
        {
            return; // an earlier event has taken its place
        }
        m_armed = FIRING;
        while (m_deadline <= now)
        {
            m_deadline = NEVER;
            (m_owner->*OnExpire)(now);
            int64_t next = std::max(m_deadline, now);
            if (!IsPending() || !m_loop.IsNext(next, m_rank))
            {
                break;
            }
            m_loop.AdvanceTo(next); // the simulation's next event: no need of the queue
            now = next;
        }
        m_armed = NEVER;
        if (IsPending())
        {
            Arm();
        }
    }

  private:
    static constexpr int64_t FIRING = std::numeric_limits<int64_t>::min(); //!< nothing to arm yet

    void Arm()
    {
        m_armed = std::max(m_deadline, m_loop.Time());
        m_loop.Insert(m_armed, m_rank, this);
    }

    Owner* m_owner;
    int64_t m_deadline{NEVER}; //!< when to expire
    int64_t m_armed{NEVER};    //!< earliest pending event, never after the deadline
};

} // namespace tunnelcc

#endif // TUNNELCC_TIMER_H
