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
 * The cores of a machine, with one run queue: first come, first served.
 *
 * It is a virtual clock, as Link is: when work is submitted, the time of its end is computed. A
 * core that changes to another thread first spends the cost of the switch, so a machine with more
 * busy threads than cores does less work. A thread returns to the core that it ran on last, unless
 * another core is free earlier.
 *
 * Urgent work waits for other urgent work only, and delays the rest. It stands for a program with
 * its own thread, beside a program that has many tasks but no more threads than cores. The fair
 * scheduler of Linux lets the first one wait for a turn of those threads, not for a turn of each
 * task. If urgent work delays work whose end was already returned, that end stays as it is; the CPU
 * time is counted when the core spends it. Left out: time slices, priorities, caches.
 */
class Cores
{
  public:
    /// \param loop of the simulation  \param count number of cores
    /// \param switchCost CPU time of a switch of threads, ns
    Cores(EventLoop& loop, uint32_t count, int64_t switchCost)
        : m_loop(loop),
          m_cores(count),
          m_switchCost(switchCost)
    {
    }

    EventLoop& Loop() const
    {
        return m_loop;
    }

    /// One more host uses the cores. Call it before Run().
    void Join()
    {
        m_isShared = m_hasHost;
        m_hasHost = true;
    }

    /**
     * Let a core work for `duration` ns, not before `now`.
     * \param thread whose work it is
     * \param isUrgent whether it goes before work that is not urgent
     * \param spent CPU time of its host, ns, to which `duration` is added, see Left()
     * \returns time at which it is done, ns
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

    /// CPU time that is counted as spent but lies after `now`, ns. If one host has the cores, its
    /// time is counted when work is submitted. If hosts share them, the time until `now` is
    /// counted, so that each host gets its own.
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
        int64_t left;   //!< rest of its CPU time, ns
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

        int64_t freeAt{0};           //!< time at which all its work is done, ns
        int64_t urgentUntil{0};      //!< time at which its urgent work is done, ns
        const void* thread{nullptr}; //!< the thread that ran last
        int64_t spentUntil{0};       //!< time until which CPU time is counted, ns
        Fifo<Work> urgent;           //!< urgent work after that time
        Fifo<Work> rest;             //!< other work after that time
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

    EventLoop& m_loop;
    std::vector<Core> m_cores;
    const int64_t m_switchCost;
    bool m_hasHost{false};
    bool m_isShared{false}; //!< by several hosts
};

/// A program that has a core to itself, and therefore does not use the run queue.
class CpuLoad
{
  public:
    virtual ~CpuLoad() = default;

    /// CPU time spent until `now`, ns.
    virtual int64_t Busy(int64_t now) const = 0;
};

/// The CPU of a host: its use of the cores of a machine, which hosts may share.
class Cpu
{
  public:
    /// \param cores of the machine
    /// \param speed of a core, relative to the machine on which costs were measured
    Cpu(Cores& cores, double speed)
        : m_cores(cores),
          m_speed(speed)
    {
        cores.Join();
    }

    Cpu(const Cpu&) = delete;
    Cpu& operator=(const Cpu&) = delete;

    /**
     * Do work of `thread`, not before `now`, urgently or in turn.
     * \param cost CPU time of the work at speed 1, ns
     * \returns time at which it is done, ns
     */
    int64_t Run(int64_t now, double cost, const void* thread, bool isUrgent = false)
    {
        return m_cores.Run(now, Duration(cost), thread, isUrgent, m_spent);
    }

    /// Time that work takes on this CPU, ns. \param cost its CPU time at speed 1, ns
    int64_t Duration(double cost) const
    {
        return static_cast<int64_t>(m_speed == 1 ? cost : cost / m_speed);
    }

    /// Count the CPU time of a program that has a core to itself and does not call Run().
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

    EventLoop& Loop() const
    {
        return m_cores.Loop();
    }

    uint32_t CoreCount() const
    {
        return m_cores.Count();
    }

  private:
    Cores& m_cores;
    const double m_speed;
    int64_t m_spent{0}; //!< CPU time on the cores, ns, see Cores::Left()
    std::vector<const CpuLoad*> m_loads;
};

/// Receives the end of each piece of work of a thread.
class CpuUser
{
  public:
    virtual ~CpuUser() = default;

    /// A piece of work is done. \param now ns
    virtual void OnComputed(int64_t now) = 0;
};

/**
 * A thread of a program. It does one piece of work after the other, urgently, on any core that is
 * free. Work that waits for the thread occupies no core.
 */
class CpuThread final : public EventSource
{
  public:
    explicit CpuThread(Cpu& cpu)
        : EventSource(cpu.Loop()),
          m_cpu(cpu)
    {
    }

    /// Do work after all earlier work of the thread, then call `user`. \param cost CPU time, ns
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

    /// A piece of work is done, and so are those after it whose ends are the simulation's next
    /// events.
    void Fire(int64_t now) override
    {
        m_isFiring = true;
        for (;;)
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
            if (!m_user || !m_loop.IsNext(m_end, m_rank))
            {
                break;
            }
            m_loop.AdvanceTo(m_end); // no need of the queue
            now = m_end;
        }
        m_isFiring = false;
        if (m_user)
        {
            m_loop.Insert(m_end, m_rank, this);
        }
    }

  private:
    struct Work
    {
        double cost; //!< CPU time at speed 1, ns
        CpuUser* user;
    };

    void Begin(int64_t now, const Work& work)
    {
        m_user = work.user;
        m_end = m_cpu.Run(now, work.cost, this, true);
        if (!m_isFiring)
        {
            m_loop.Insert(m_end, m_rank, this);
        }
    }

    Cpu& m_cpu;
    CpuUser* m_user{nullptr}; //!< whose work it does now
    int64_t m_end{0};         //!< when that is done, ns
    bool m_isFiring{false};   //!< that end is not in the queue of events yet
    Fifo<Work> m_waiting;
};

} // namespace tunnelcc

#endif // TUNNELCC_CPU_H
