/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_LEG_PROBE_H
#define TUNNELCC_KCP_LEG_PROBE_H

#include "arq/kcp-endpoint.h"
#include "leg-probe.h"

namespace tunnelcc
{

/// Samples a KCP session.
class KcpLegProbe final : public LegProbe
{
  public:
    /**
     * \param sender end that sends the data
     * \param receiver the other end
     * \param result where series and counts go; must outlive the probe
     */
    KcpLegProbe(const KcpEndpoint& sender, const KcpEndpoint& receiver, LegResult& result);

    void StartMeasuring(int64_t now) override;
    void Sample(double interval) override;
    void Finish(int64_t now) override;

  private:
    const KcpEndpoint& m_sender;
    const KcpEndpoint& m_receiver;
    LegResult& m_result;
    KcpCounters m_atStart;
    SendLimits::Times m_limitsAtStart{};
    uint64_t m_readAtStart{0};
    uint64_t m_lastRead{0};
    uint64_t m_lastWire{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_LEG_PROBE_H
