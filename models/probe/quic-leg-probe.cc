/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "endpoint-probe.h"
#include "quic/quic-connection.h"

namespace tunnelcc
{

namespace
{

/// Samples a QUIC connection, all its streams together. \tparam Endpoint it, or one of its paths
template <class Endpoint>
class QuicLegProbe final : public EndpointProbe<Endpoint>
{
    using Base = EndpointProbe<Endpoint>;
    using Base::m_atStart;
    using Base::m_receiver;
    using Base::m_result;
    using Base::m_sender;

  public:
    using Base::Base;

    void Sample(double interval) override
    {
        const QuicSender& sender = m_sender.GetSender();
        const QuicCounters counters = sender.Counters();
        Base::SampleFlow(interval, counters.bytes);
        m_result.cwnd.push_back(sender.Congestion().State().cwnd);
        m_result.pacingRate.push_back(sender.Congestion().PacingRate() * 8);
        Base::SampleRtt(sender.Detection().Rtt().Smoothed());
        m_result.retransmitsSeries.push_back(static_cast<double>(counters.retransmits));
        m_result.rtosSeries.push_back(static_cast<double>(counters.probeTimeouts));
    }

    void Finish(int64_t now) override
    {
        Base::FinishFlow(now);
        const QuicCounters counters = m_sender.GetSender().Counters();
        m_result.wireBytes = counters.bytes;
        m_result.ackWireBytes = m_receiver.GetSender().Counters().bytes;
        m_result.segments = counters.packets - m_atStart.packets;
        m_result.totalSegments = counters.packets;
        m_result.retransmits = counters.retransmits - m_atStart.retransmits;
        m_result.rtos = counters.probeTimeouts - m_atStart.probeTimeouts;
        m_result.finishedAt = Moment(m_sender.FinishedTime());
        ArqResult& arq = m_result.arq.emplace();
        arq.fastRetransmits = counters.lostByNumber - m_atStart.lostByNumber;
        arq.earlyRetransmits = counters.lostByTime - m_atStart.lostByTime;
        arq.timeouts = m_result.rtos;
    }
};

} // namespace

std::unique_ptr<LegProbe>
MakeLegProbe(const QuicConnection& sender, const QuicConnection& receiver, LegResult& result)
{
    return std::make_unique<QuicLegProbe<QuicConnection>>(sender, receiver, result);
}

std::unique_ptr<LegProbe>
MakeLegProbe(const QuicPath& sender, const QuicPath& receiver, LegResult& result)
{
    return std::make_unique<QuicLegProbe<QuicPath>>(sender, receiver, result);
}

} // namespace tunnelcc
