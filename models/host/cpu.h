/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CPU_H
#define TUNNELCC_CPU_H

#include "event/event-loop.h"
#include "event/fifo.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace tunnelcc
{

/**
 * The cores of a machine behind one first-come first-served run queue.
 *
 * Runs on a virtual clock, as Link does: when work is submitted, its completion is known. A core
 * that goes over to another thread first spends the cost of switching, so that machines with more
 * busy threads than cores do less. Threads come back to the core that they ran on last, if it is
 * as free as any.
 *
 * Urgent work waits for urgent work only, and puts off the rest. It stands for a program with a
 * thread of its own beside one that has many tasks but no more threads than cores: the fair
 * scheduler lets it wait for a turn of those threads, not for one of each task. What it puts off
 * is done when it was said to be, if that was said before; CPU time is counted as a core spends it,
 * which does one thing at a time. Left out: time slices, priorities, caches.
 */
class Cores
{
  public:
    /// \param count number of cores  \param switchCost of going over to another thread, ns
    Cores(uint32_t count, int64_t switchCost)
        : m_cores(count),
          m_switchCost(switchCost)
    {
    }

    /// One more host uses the cores. Comes before Run().
    void Join()
    {
        m_isShared = m_hasHost;
        m_hasHost = true;
    }

    /**
     * Let a core work for `duration` ns, not before `now`.
     * \param thread whose work it is
     * \param isUrgent whether it goes before work that is not
     * \param spent CPU time of its host, ns, to add to: see Left()
     * \returns when it is done, ns
     */
    int64_t Run(int64_t now, int64_t duration, const void* thread, bool isUrgent, int64_t& spent)
    {
        Core& core = Choose(now, thread, isUrgent);
        if (m_isShared)
        {
            core.SpendUntil(now);
        }
        if (core.thread != thread)
        {
            duration += core.thread ? m_switchCost : 0;
            core.thread = thread;
        }
        int64_t end = core.Begin(now, isUrgent) + duration;
        core.freeAt = std::max(core.freeAt, now) + duration;
        if (isUrgent)
        {
            core.urgentUntil = end;
        }
        if (m_isShared)
        {
            (isUrgent ? core.urgent : core.rest).Push({duration, &spent});
        }
        else
        {
            spent += duration;
        }
        return end;
    }

    /// CPU time that is counted as spent but lies after `now`, ns: that of the only host counts
    /// when work is submitted. Where hosts share the cores, whose work a core does matters, and
    /// time counts until `now`.
    int64_t Left(int64_t now)
    {
        int64_t left = 0;
        for (Core& core : m_cores)
        {
            if (m_isShared)
            {
                core.SpendUntil(now);
            }
            else
            {
                left += std::max<int64_t>(core.freeAt - now, 0);
            }
        }
        return left;
    }

    uint32_t Count() const
    {
        return static_cast<uint32_t>(m_cores.size());
    }

  private:
    struct Work
    {
        int64_t left;   //!< ns
        int64_t* spent; //!< CPU time of its host, ns
    };

    struct Core
    {
        void SpendUntil(int64_t now)
        {
            while (spentUntil < now && !(urgent.IsEmpty() && rest.IsEmpty()))
            {
                Fifo<Work>& works = urgent.IsEmpty() ? rest : urgent;
                Work& work = works.Front();
                int64_t part = std::min(work.left, now - spentUntil);
                *work.spent += part;
                work.left -= part;
                spentUntil += part;
                if (work.left == 0)
                {
                    works.Pop();
                }
            }
            spentUntil = std::max(spentUntil, now);
        }

        int64_t Begin(int64_t now, bool isUrgent) const
        {
            return std::max(isUrgent ? urgentUntil : freeAt, now);
        }

        int64_t freeAt{0};           //!< when all its work is done
        int64_t urgentUntil{0};      //!< when all its urgent work is
        const void* thread{nullptr}; //!< that ran last
        int64_t spentUntil{0};       //!< when CPU time was last counted
        Fifo<Work> urgent;           //!< not done by then
        Fifo<Work> rest;             //!< likewise, behind it
    };

    Core& Choose(int64_t now, const void* thread, bool isUrgent)
    {
        for (Core& core : m_cores)
        {
            if (core.thread == thread && core.freeAt <= now)
            {
                return core; // as free as can be, and no other thread's
            }
        }
        auto rank = [=](const Core& core) {
            return std::make_tuple(core.Begin(now, isUrgent),
                                   core.Begin(now, false),
                                   core.thread != thread);
        };
        return *std::min_element(m_cores.begin(), m_cores.end(), [&](const Core& a, const Core& b) {
            return rank(a) < rank(b);
        });
    }

    std::vector<Core> m_cores;
    const int64_t m_switchCost;
    bool m_hasHost{false};
    bool m_isShared{false}; //!< by several hosts
};

/// Work of a program that has a core to itself, and so does without the run queue.
class CpuLoad
{
  public:
    virtual ~CpuLoad() = default;

    /// CPU time spent until `now`, ns.
    virtual int64_t Busy(int64_t now) const = 0;
};

/// A host's use of its machine's cores, which another host may share.
class Cpu
{
  public:
    /// \param cores of the machine  \param speed of each, relative to where costs were measured
    Cpu(Cores& cores, double speed)
        : m_cores(cores),
          m_speed(speed)
    {
        cores.Join();
    }

    Cpu(const Cpu&) = delete;
    Cpu& operator=(const Cpu&) = delete;

    /**
     * Do `cost` ns worth of work of `thread`, not before `now`, urgently or in turn.
     * \returns when it is done, ns
     */
    int64_t Run(int64_t now, double cost, const void* thread, bool isUrgent = false)
    {
        return m_cores.Run(now, Duration(cost), thread, isUrgent, m_spent);
    }

    /// Time that `cost` takes here, ns: the cost is that of the host on which it was measured.
    int64_t Duration(double cost) const
    {
        return static_cast<int64_t>(m_speed == 1 ? cost : cost / m_speed);
    }

    /// Count a program that does without Run(), because it has a core to itself.
    void AddLoad(const CpuLoad& load)
    {
        m_loads.push_back(&load);
    }

    /// CPU time spent until `now`, ns, summed over cores.
    int64_t Busy(int64_t now)
    {
        const int64_t left = m_cores.Left(now); // which brings m_spent up to date
        int64_t busy = m_spent - left;
        for (const CpuLoad* load : m_loads)
        {
            busy += load->Busy(now);
        }
        return busy;
    }

    uint32_t CoreCount() const
    {
        return m_cores.Count();
    }

  private:
    Cores& m_cores;
    const double m_speed;
    int64_t m_spent{0}; //!< on the cores, ns: see Cores::Left()
    std::vector<const CpuLoad*> m_loads;
};

/// Is told when a thread has done a piece of its work.
class CpuUser
{
  public:
    virtual ~CpuUser() = default;

    /// A piece of work is done. \param now ns
    virtual void OnComputed(int64_t now) = 0;
};

/**
 * A program with a thread of its own: its work runs one piece after the other, urgently, on
 * whichever core is free. What waits for the thread itself takes no core from others.
 */
class CpuThread final : public EventSource
{
  public:
    explicit CpuThread(Cpu& cpu)
        : m_cpu(cpu)
    {
    }

    /// Do `cost` ns worth of work after all that was asked for before, then tell `user`.
    void Submit(int64_t now, double cost, CpuUser& user)
    {
        if (m_user)
        {
            m_waiting.Push({cost, &user});
        }
        else
        {
            Begin(now, {cost, &user});
        }
    }

    /// A piece of work is done.
    void Fire(int64_t now) override
    {
        CpuUser* user = m_user;
        m_user = nullptr;
        if (!m_waiting.IsEmpty())
        {
            Work next = m_waiting.Front();
            m_waiting.Pop();
            Begin(now, next);
        }
        user->OnComputed(now);
    }

  private:
    struct Work
    {
        double cost; //!< ns
        CpuUser* user;
    };

    void Begin(int64_t now, const Work& work)
    {
        m_user = work.user;
        m_loop.Insert(m_cpu.Run(now, work.cost, this, true), m_rank, this);
    }

    Cpu& m_cpu;
    CpuUser* m_user{nullptr}; //!< whose work is being done
    Fifo<Work> m_waiting;
};

} // namespace tunnelcc

#endif // TUNNELCC_CPU_H
