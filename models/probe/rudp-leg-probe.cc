/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "arq/rudp-endpoint.h"
#include "endpoint-probe.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Samples a connection of RUDP.
class RudpLegProbe final : public EndpointProbe<RudpEndpoint>
{
  public:
    using EndpointProbe::EndpointProbe;

    void Sample(double interval) override
    {
        const RudpSender& sender = m_sender.GetSender();
        RudpSession& session = m_sender.GetSession();
        SampleFlow(interval, m_sender.WireBytes());
        m_result.cwnd.push_back(sender.Window());
        m_result.pacingRate.push_back(session.Pacer().Rate() * 8);
        PushRtt(session.HasPingTime() ? session.PingTime() * 1e-3 : 0);
        m_result.retransmitsSeries.push_back(static_cast<double>(sender.Counters().resent));
        m_result.rtosSeries.push_back(static_cast<double>(sender.Counters().resent));
    }

    void Finish(int64_t now) override
    {
        FinishFlow(now);
        const RudpCounters& counters = m_sender.GetSender().Counters();
        m_result.wireBytes = m_sender.WireBytes();
        m_result.ackWireBytes = m_receiver.WireBytes();
        m_result.segments = counters.packets - m_atStart.packets;
        m_result.totalSegments = counters.packets;
        m_result.retransmits = counters.resent - m_atStart.resent;
        m_result.rtos = m_result.retransmits;
        ArqResult& arq = m_result.arq.emplace();
        arq.timeouts = m_result.retransmits;
        arq.givenUp = m_sender.GetSender().GivenUp();
        for (const RudpEndpoint* end : {&m_sender, &m_receiver})
        {
            if (end->ClosedTime() >= 0)
            {
                double closed = Seconds(end->ClosedTime());
                arq.closedAt = std::min(closed, arq.closedAt.value_or(closed));
            }
        }
    }
};

} // namespace

std::unique_ptr<LegProbe>
MakeLegProbe(const RudpEndpoint& sender, const RudpEndpoint& receiver, LegResult& result)
{
    return std::make_unique<RudpLegProbe>(sender, receiver, result);
}

} // namespace tunnelcc
