/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CPU_H
#define TUNNELCC_CPU_H

#include "event/fifo.h"
#include "event/timer.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * A host's processor: identical cores behind one first-come first-served run queue.
 *
 * Runs on a virtual clock, as Link does: when work is submitted, its completion is known. Left
 * out: preemption, priorities, caches, the cost of switching between tasks.
 */
class Cpu
{
  public:
    /// \param cores number of cores  \param speed of each, relative to where costs were measured
    Cpu(uint32_t cores, double speed)
        : m_freeAt(cores, 0),
          m_speed(speed)
    {
    }

    /**
     * Do `cost` ns worth of work, not before `now`.
     * \returns when it is done, ns
     */
    int64_t Run(int64_t now, double cost)
    {
        auto duration = static_cast<int64_t>(cost / m_speed);
        int64_t& core = *std::min_element(m_freeAt.begin(), m_freeAt.end());
        core = std::max(core, now) + duration;
        m_submitted += duration;
        return core;
    }

    /// CPU time spent until `now`, ns, summed over cores.
    int64_t Busy(int64_t now) const
    {
        int64_t busy = m_submitted;
        for (int64_t freeAt : m_freeAt)
        {
            busy -= std::max<int64_t>(0, freeAt - now);
        }
        return busy;
    }

    uint32_t Cores() const
    {
        return static_cast<uint32_t>(m_freeAt.size());
    }

  private:
    std::vector<int64_t> m_freeAt;
    double m_speed;
    int64_t m_submitted{0};
};

/// Who has work done by a thread.
class CpuUser
{
  public:
    virtual ~CpuUser() = default;

    /// A piece of work is done. \param now ns
    virtual void OnComputed(int64_t now) = 0;
};

/**
 * A thread: its work runs one piece after the other, on whichever core is free. What waits for the
 * thread itself takes no core from others.
 */
class CpuThread
{
  public:
    explicit CpuThread(Cpu& cpu)
        : m_cpu(cpu),
          m_timer(this)
    {
    }

    /// Do `cost` ns worth of work after all that was asked for before, then tell `user`.
    void Submit(int64_t now, double cost, CpuUser& user)
    {
        m_work.Push({cost, &user});
        if (!m_timer.IsPending())
        {
            Begin(now);
        }
    }

  private:
    struct Work
    {
        double cost; //!< ns
        CpuUser* user;
    };

    void Begin(int64_t now)
    {
        m_timer.Set(m_cpu.Run(now, m_work.Front().cost));
    }

    void OnDone(int64_t now)
    {
        CpuUser* user = m_work.Front().user;
        m_work.Pop();
        if (!m_work.IsEmpty())
        {
            Begin(now);
        }
        user->OnComputed(now);
    }

    Cpu& m_cpu;
    Fifo<Work> m_work; //!< the first is being done
    Timer<CpuThread, &CpuThread::OnDone> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_CPU_H
