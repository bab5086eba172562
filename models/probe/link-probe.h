/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINK_PROBE_H
#define TUNNELCC_LINK_PROBE_H

#include "experiment-result.h"
#include "path/bottleneck.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tunnelcc
{

/// Samples one direction of the path.
class LinkProbe
{
  public:
    /**
     * \param link what to watch
     * \param result where series and counts go; must outlive the probe
     */
    LinkProbe(Bottleneck& link, LinkResult& result)
        : m_link(link),
          m_result(result)
    {
    }

    /// The warm-up is over: totals count from now on.
    void StartMeasuring(int64_t now)
    {
        m_servedAtStart = m_link.ServedBytes(now); // what has left by now does not count
        m_link.StartMeasuring();
        m_offeredAtStart = m_link.OfferedBytes(now);
        if (const MtuCounts* mtu = m_link.Mtu())
        {
            m_mtuAtStart = *mtu;
        }
    }

    /// Append one value to each series.
    void Sample(int64_t now)
    {
        double served = m_link.ServedBytes(now);
        double offered = m_link.OfferedBytes(now);
        m_result.queueBytes.push_back(static_cast<double>(m_link.WaitingBytes(now)));
        m_result.queueDropsSeries.push_back(static_cast<double>(m_link.Drops().all));
        m_result.utilisationSeries.push_back(
            Utilisation(served - m_lastServed, offered - m_lastOffered));
        m_lastServed = served;
        m_lastOffered = offered;
    }

    /// The run is over: fill in the counts.
    void Finish(int64_t now)
    {
        constexpr double NS = 1e-9;
        const Histogram& delay = m_link.QueueDelay();
        double served = m_link.ServedBytes(now) - m_servedAtStart;
        double offered = m_link.OfferedBytes(now) - m_offeredAtStart;
        m_result.packets = m_link.PacketsIn().measured;
        m_result.bytesSent = static_cast<uint64_t>(served);
        m_result.queueDrops = m_link.Drops().measured;
        m_result.randomLosses = m_link.RandomLosses().measured;
        m_result.marks = Measured(m_link.Marks());
        m_result.policerDrops = Measured(m_link.PolicerDrops());
        if (const MtuCounts* mtu = m_link.Mtu())
        {
            m_result.mtuDrops = mtu->tooBig - m_mtuAtStart.tooBig;
            m_result.fragmented = mtu->fragmented - m_mtuAtStart.fragmented;
            m_result.fragmentDrops = mtu->fragmentDrops - m_mtuAtStart.fragmentDrops;
        }
        m_result.utilisation = Utilisation(served, offered);
        m_result.queueDelayMean = delay.Mean() * NS;
        m_result.queueDelayP50 = delay.Quantile(0.50) * NS;
        m_result.queueDelayP95 = delay.Quantile(0.95) * NS;
        m_result.queueDelayP99 = delay.Quantile(0.99) * NS;
        m_result.queueBytesMax = static_cast<double>(m_link.MaxWaitingBytes());
    }

  private:
    static std::optional<uint64_t> Measured(const std::optional<PacketCount>& count)
    {
        return count ? std::optional(count->measured) : std::nullopt;
    }

    static double Utilisation(double served, double offered)
    {
        // Services end at whole nanoseconds: within a time as short as one, more may be served. And
        // what is left of a packet in service is rounded.
        return offered > 0 ? std::clamp(served / offered, 0.0, 1.0) : 0;
    }

    Bottleneck& m_link;
    LinkResult& m_result;
    double m_servedAtStart{0};
    double m_lastServed{0};
    double m_offeredAtStart{0};
    double m_lastOffered{0};
    MtuCounts m_mtuAtStart;
};

} // namespace tunnelcc

#endif // TUNNELCC_LINK_PROBE_H
