/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HOST_PROBE_H
#define TUNNELCC_HOST_PROBE_H

#include "experiment-result.h"
#include "host/cpu.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/// Samples a host's CPU.
class HostProbe
{
  public:
    HostProbe(Cpu& cpu, HostResult& result)
        : m_cpu(cpu),
          m_result(result)
    {
    }

    /// The warm-up is over: totals count from now on.
    void StartMeasuring(int64_t now)
    {
        m_start = now;
        m_busyAtStart = m_cpu.Busy(now);
    }

    /// Append one value to the series. \param interval time since the last sample, s
    void Sample(int64_t now, double interval)
    {
        int64_t busy = m_cpu.Busy(now);
        m_result.cpuSeries.push_back(Share(busy - m_lastBusy, interval));
        m_lastBusy = busy;
    }

    /// The run is over: fill in the totals.
    void Finish(int64_t now)
    {
        int64_t busy = m_cpu.Busy(now) - m_busyAtStart;
        m_result.cpuTime = static_cast<double>(busy) * 1e-9;
        m_result.cpu = Share(busy, static_cast<double>(now - m_start) * 1e-9);
    }

  private:
    double Share(int64_t busy, double seconds) const
    {
        double share = static_cast<double>(busy) * 1e-9 / (seconds * m_cpu.CoreCount());
        return seconds > 0 ? std::min(share, 1.0) : 0; // what is rounded may be beyond
    }

    Cpu& m_cpu;
    HostResult& m_result;
    int64_t m_start{0};
    int64_t m_busyAtStart{0};
    int64_t m_lastBusy{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_HOST_PROBE_H
