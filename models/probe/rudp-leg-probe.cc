/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "arq/rudp-endpoint.h"
#include "leg-probe.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Samples a connection of RUDP.
class RudpLegProbe final : public LegProbe
{
  public:
    RudpLegProbe(const RudpEndpoint& sender, const RudpEndpoint& receiver, LegResult& result)
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
        const RudpSender& sender = m_sender.GetSender();
        RudpSession& session = m_sender.GetSession();
        uint64_t read = m_receiver.GetReceiver().TotalRead();
        uint64_t wire = m_sender.WireBytes();
        m_result.goodput.push_back(static_cast<double>(read - m_lastRead) * 8 / interval);
        m_result.throughput.push_back(static_cast<double>(wire - m_lastWire) * 8 / interval);
        m_result.cwnd.push_back(sender.Window());
        m_result.inFlight.push_back(static_cast<double>(sender.BytesInFlight()));
        m_result.pacingRate.push_back(session.Pacer().Rate() * 8);
        m_result.srtt.push_back(session.PingTime() * 1e-3);
        m_result.retransmitsSeries.push_back(static_cast<double>(sender.Counters().resent));
        m_result.rtosSeries.push_back(static_cast<double>(sender.Counters().resent));
        m_lastRead = read;
        m_lastWire = wire;
    }

    void Finish(int64_t now) override
    {
        m_result.limits = TimesBetween(m_limitsAtStart, m_sender.Limits().Until(now));
        const RudpCounters& counters = m_sender.GetSender().Counters();
        m_result.deliveredBytes = m_receiver.GetReceiver().TotalRead() - m_readAtStart;
        m_result.wireBytes = m_sender.WireBytes();
        m_result.ackWireBytes = m_receiver.WireBytes();
        m_result.segments = counters.packets;
        m_result.retransmits = counters.resent - m_atStart.resent;
        m_result.rtos = m_result.retransmits;
        m_result.establishedTime = Seconds(m_sender.EstablishedTime());
        ArqResult& arq = m_result.arq.emplace();
        arq.timeouts = m_result.retransmits;
        arq.givenUp = m_sender.GetSender().GivenUp();
        for (const RudpEndpoint* end : {&m_sender, &m_receiver})
        {
            if (end->ClosedTime() >= 0)
            {
                double closed = Seconds(end->ClosedTime());
                arq.closedTime = std::min(closed, arq.closedTime.value_or(closed));
            }
        }
    }

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

} // namespace

std::unique_ptr<LegProbe>
MakeLegProbe(const RudpEndpoint& sender, const RudpEndpoint& receiver, LegResult& result)
{
    return std::make_unique<RudpLegProbe>(sender, receiver, result);
}

} // namespace tunnelcc
