/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "arq/kcp-endpoint.h"
#include "leg-probe.h"

#include <optional>

namespace tunnelcc
{

namespace
{

/// Samples a KCP session.
class KcpLegProbe final : public LegProbe
{
  public:
    KcpLegProbe(const KcpEndpoint& sender, const KcpEndpoint& receiver, LegResult& result)
        : m_sender(sender),
          m_receiver(receiver),
          m_result(result)
    {
    }

    void StartMeasuring(int64_t now) override
    {
        m_limitsAtStart = m_sender.Limits().Until(now);
        m_atStart = m_sender.GetSender().Counters();
        m_readAtStart = m_receiver.GetReceiver().TotalRead();
    }

    void Sample(double interval) override
    {
        const KcpSender& sender = m_sender.GetSender();
        const KcpCounters& counters = sender.Counters();
        uint64_t read = m_receiver.GetReceiver().TotalRead();
        uint64_t wire = m_sender.Wire().bytes;
        m_result.goodput.push_back(static_cast<double>(read - m_lastRead) * 8 / interval);
        m_result.throughput.push_back(static_cast<double>(wire - m_lastWire) * 8 / interval);
        m_result.cwnd.push_back(sender.Window());
        m_result.inFlight.push_back(static_cast<double>(sender.BytesInFlight()));
        m_result.pacingRate.push_back(0);
        m_result.srtt.push_back(sender.Rto().Srtt() * 1e-3);
        m_result.retransmitsSeries.push_back(static_cast<double>(counters.Retransmits()));
        m_result.rtosSeries.push_back(static_cast<double>(counters.timeouts));
        m_lastRead = read;
        m_lastWire = wire;
    }

    void Finish(int64_t now) override
    {
        m_result.limits = TimesBetween(m_limitsAtStart, m_sender.Limits().Until(now));
        const KcpCounters& counters = m_sender.GetSender().Counters();
        m_result.deliveredBytes = m_receiver.GetReceiver().TotalRead() - m_readAtStart;
        m_result.wireBytes = m_sender.Wire().bytes;
        m_result.ackWireBytes = m_receiver.Wire().bytes;
        m_result.segments = counters.segments;
        m_result.retransmits = counters.Retransmits() - m_atStart.Retransmits();
        m_result.rtos = counters.timeouts - m_atStart.timeouts;
        m_result.establishedTime = Seconds(m_sender.EstablishedTime());
        const FecCounters fec = m_receiver.ReceivedFec();
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

} // namespace

std::unique_ptr<LegProbe>
MakeLegProbe(const KcpEndpoint& sender, const KcpEndpoint& receiver, LegResult& result)
{
    return std::make_unique<KcpLegProbe>(sender, receiver, result);
}

} // namespace tunnelcc
