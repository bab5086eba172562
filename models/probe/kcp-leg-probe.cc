/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "arq/kcp-endpoint.h"
#include "endpoint-probe.h"

#include <optional>

namespace tunnelcc
{

namespace
{

/// Samples a KCP session.
class KcpLegProbe final : public EndpointProbe<KcpEndpoint>
{
  public:
    using EndpointProbe::EndpointProbe;

    void Sample(double interval) override
    {
        const KcpSender& sender = m_sender.GetSender();
        const KcpCounters& counters = sender.Counters();
        SampleFlow(interval, m_sender.Wire().bytes);
        m_result.cwnd.push_back(sender.Window());
        m_result.pacingRate.push_back(0);
        PushRtt(sender.Rto().Srtt() * 1e-3);
        m_result.retransmitsSeries.push_back(static_cast<double>(counters.Retransmits()));
        m_result.rtosSeries.push_back(static_cast<double>(counters.timeouts));
    }

    void Finish(int64_t now) override
    {
        FinishFlow(now);
        const KcpCounters& counters = m_sender.GetSender().Counters();
        m_result.wireBytes = m_sender.Wire().bytes;
        m_result.ackWireBytes = m_receiver.Wire().bytes;
        m_result.segments = counters.segments - m_atStart.segments;
        m_result.totalSegments = counters.segments;
        m_result.retransmits = counters.Retransmits() - m_atStart.Retransmits();
        m_result.rtos = counters.timeouts - m_atStart.timeouts;
        const FecCounters fec = m_receiver.ReceivedFec(now);
        m_result.arq = {counters.fast - m_atStart.fast,
                        counters.early - m_atStart.early,
                        counters.timeouts - m_atStart.timeouts,
                        m_sender.Wire().parity,
                        m_sender.Wire().parityBytes,
                        fec.recovered,
                        fec.lost,
                        0,
                        std::nullopt};
    }
};

} // namespace

std::unique_ptr<LegProbe>
MakeLegProbe(const KcpEndpoint& sender, const KcpEndpoint& receiver, LegResult& result)
{
    return std::make_unique<KcpLegProbe>(sender, receiver, result);
}

} // namespace tunnelcc
