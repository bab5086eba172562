/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LEG_PROBE_H
#define TUNNELCC_LEG_PROBE_H

#include "experiment-result.h"
#include "transport/endpoint.h"

namespace tunnelcc
{

/// Samples one TCP connection, in the direction of its data.
class LegProbe
{
  public:
    /**
     * \param sender end that sends the data
     * \param receiver the other end
     * \param result where series and counts go; must outlive the probe
     */
    LegProbe(const TcpEndpoint& sender, const TcpEndpoint& receiver, LegResult& result);

    /// The warm-up is over.
    void StartMeasuring(int64_t now);

    /// Append one value to each series. \param interval time since the last sample, s
    void Sample(double interval);

    /// The run is over: fill in the counts.
    void Finish(int64_t now);

  private:
    const TcpEndpoint& m_sender;
    const TcpEndpoint& m_receiver;
    LegResult& m_result;
    SenderCounters m_atStart;
    SendLimits::Times m_limitsAtStart{};
    uint64_t m_readAtStart{0};
    uint64_t m_lastRead{0};
    uint64_t m_lastWire{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_LEG_PROBE_H
