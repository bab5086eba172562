/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CPU_H
#define TUNNELCC_CPU_H

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

/// A thread: its work runs one piece after the other, on whichever core is free.
class CpuThread
{
  public:
    explicit CpuThread(Cpu& cpu)
        : m_cpu(cpu)
    {
    }

    /// Do `cost` ns worth of work after all that was asked for before. \returns when it is done
    int64_t Run(int64_t now, double cost)
    {
        m_freeAt = m_cpu.Run(std::max(now, m_freeAt), cost);
        return m_freeAt;
    }

  private:
    Cpu& m_cpu;
    int64_t m_freeAt{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_CPU_H
