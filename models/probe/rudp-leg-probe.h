/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_LEG_PROBE_H
#define TUNNELCC_RUDP_LEG_PROBE_H

#include "arq/rudp-endpoint.h"
#include "leg-probe.h"

namespace tunnelcc
{

/// Samples a connection of RUDP.
class RudpLegProbe final : public LegProbe
{
  public:
    /**
     * \param sender end that sends the data
     * \param receiver the other end
     * \param result where series and counts go; must outlive the probe
     */
    RudpLegProbe(const RudpEndpoint& sender, const RudpEndpoint& receiver, LegResult& result);

    void StartMeasuring(int64_t now) override;
    void Sample(double interval) override;
    void Finish(int64_t now) override;

  private:
    const RudpEndpoint& m_sender;
    const RudpEndpoint& m_receiver;
    LegResult& m_result;
    RudpCounters m_atStart;
    SendLimits::Times m_limitsAtStart{};
    uint64_t m_readAtStart{0};
    uint64_t m_lastRead{0};
    uint64_t m_lastWire{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_LEG_PROBE_H
