/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINK_PROBE_H
#define TUNNELCC_LINK_PROBE_H

#include "experiment/experiment-result.h"
#include "path/link.h"

namespace tunnelcc
{

/// Samples one direction of the path.
class LinkProbe
{
  public:
    /**
     * \param link what to watch
     * \param rate its rate, bit/s; 0: unlimited
     * \param result where series and counts go; must outlive the probe
     */
    LinkProbe(Link& link, double rate, LinkResult& result)
        : m_link(link),
          m_rate(rate),
          m_result(result)
    {
    }

    /// The warm-up is over.
    void StartMeasuring(int64_t now)
    {
        m_link.StartMeasuring();
        m_start = now;
        m_servedAtStart = m_link.ServedBytes(now);
        m_packetsAtStart = m_link.PacketsIn();
        m_dropsAtStart = m_link.Drops();
        m_lossesAtStart = m_link.RandomLosses();
    }

    /// Append one value to each series. \param interval time since the last sample, s
    void Sample(int64_t now, double interval)
    {
        double served = m_link.ServedBytes(now);
        m_result.queueBytes.push_back(static_cast<double>(m_link.WaitingBytes(now)));
        m_result.dropsSeries.push_back(static_cast<double>(m_link.Drops()));
        m_result.utilisationSeries.push_back(Utilisation(served - m_lastServed, interval));
        m_lastServed = served;
    }

    /// The run is over: fill in the counts.
    void Finish(int64_t now)
    {
        constexpr double NS = 1e-9;
        const Histogram& delay = m_link.QueueDelay();
        double served = m_link.ServedBytes(now) - m_servedAtStart;
        m_result.packetsIn = m_link.PacketsIn() - m_packetsAtStart;
        m_result.bytesOut = static_cast<uint64_t>(served);
        m_result.drops = m_link.Drops() - m_dropsAtStart;
        m_result.randomLosses = m_link.RandomLosses() - m_lossesAtStart;
        m_result.utilisation = Utilisation(served, static_cast<double>(now - m_start) * NS);
        m_result.queueDelayMean = delay.Mean() * NS;
        m_result.queueDelayP50 = delay.Quantile(0.50) * NS;
        m_result.queueDelayP95 = delay.Quantile(0.95) * NS;
        m_result.queueDelayP99 = delay.Quantile(0.99) * NS;
        m_result.queueBytesMax = static_cast<double>(m_link.MaxWaitingBytes());
    }

  private:
    double Utilisation(double bytes, double seconds) const
    {
        return m_rate > 0 && seconds > 0 ? bytes * 8 / (m_rate * seconds) : 0;
    }

    Link& m_link;
    double m_rate;
    LinkResult& m_result;
    int64_t m_start{0};
    double m_servedAtStart{0};
    double m_lastServed{0};
    uint64_t m_packetsAtStart{0};
    uint64_t m_dropsAtStart{0};
    uint64_t m_lossesAtStart{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_LINK_PROBE_H
