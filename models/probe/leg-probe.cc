/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "leg-probe.h"

#include "endpoint-probe.h"
#include "transport/endpoint.h"

#include <algorithm>
#include <limits>

namespace tunnelcc
{

namespace
{

/// Phase of an algorithm that has no names of its own for its phases (RFC 5681, section 3).
std::string_view
GetPhase(const SenderState& state)
{
    switch (state.caState)
    {
    case CaState::RECOVERY:
        return "fast recovery";
    case CaState::LOSS:
        return "loss recovery";
    case CaState::CWR:
        return "window reduction";
    case CaState::OPEN:
    case CaState::DISORDER:
        break;
    }
    return state.InSlowStart() ? "slow start" : "congestion avoidance";
}

void
SampleCongestion(const Sender& sender, CongestionSeries& series)
{
    constexpr double NO_VALUE = std::numeric_limits<double>::quiet_NaN();
    const SenderState& state = sender.State();
    const CongestionControl& algorithm = sender.Congestion();
    const PathEstimate estimate = algorithm.GetPathEstimate();
    const std::string_view phase = algorithm.GetPhase();
    const int64_t minRtt = estimate.minRtt == NEVER ? state.minRtt : estimate.minRtt;
    series.ssthresh.push_back(state.ssthresh == INFINITE_SSTHRESH ? NO_VALUE : state.ssthresh);
    series.phase.emplace_back(phase.empty() ? GetPhase(state) : phase);
    series.bandwidthEstimate.push_back(estimate.bandwidth * state.mss * 8);
    series.minRttEstimate.push_back(minRtt == NEVER ? NO_VALUE
                                                    : static_cast<double>(minRtt) * 1e-9);
}

/// Samples a TCP connection.
class TcpLegProbe final : public EndpointProbe<TcpEndpoint>
{
  public:
    using EndpointProbe::EndpointProbe;

    void Sample(double interval) override
    {
        const Sender& sender = m_sender.GetSender();
        const SenderState& state = sender.State();
        SampleFlow(interval, m_sender.Wire().dataBytes);
        m_result.cwnd.push_back(state.cwnd);
        m_result.pacingRate.push_back(state.pacingRate * 8);
        SampleRtt(state.srtt);
        m_result.retransmitsSeries.push_back(static_cast<double>(sender.Counters().retransmits));
        m_result.rtosSeries.push_back(static_cast<double>(sender.Counters().rtos));
        if (m_result.congestion)
        {
            SampleCongestion(sender, *m_result.congestion);
        }
    }

    void Finish(int64_t now) override
    {
        FinishFlow(now);
        const SenderCounters& counters = m_sender.GetSender().Counters();
        m_result.wireBytes = m_sender.Wire().dataBytes + m_sender.Wire().ackBytes;
        m_result.ackWireBytes = m_receiver.Wire().dataBytes + m_receiver.Wire().ackBytes;
        m_result.segments = counters.segments - m_atStart.segments;
        m_result.totalSegments = counters.segments;
        m_result.retransmits = counters.retransmits - m_atStart.retransmits;
        m_result.rtos = counters.rtos - m_atStart.rtos;
        m_result.tailLossProbes = counters.tailLossProbes - m_atStart.tailLossProbes;
        m_result.congestionEvents = counters.congestionEvents - m_atStart.congestionEvents;
        if (m_sender.GetSender().MayChangeMss())
        {
            m_result.mss = m_sender.GetSender().Mss();
        }
        m_result.finishedAt = Moment(m_sender.FinishedTime());
        m_result.connectFailedAt =
            Moment(std::max(m_sender.ConnectFailedTime(), m_receiver.ConnectFailedTime()));
    }
};

} // namespace

LimitTimes
TimesBetween(const SendLimits::Times& start, const SendLimits::Times& end)
{
    auto time = [&](SendLimit limit) {
        const auto index = static_cast<size_t>(limit);
        return Seconds(end[index] - start[index]);
    };
    return {time(SendLimit::HANDSHAKE),
            time(SendLimit::APPLICATION),
            time(SendLimit::CPU),
            time(SendLimit::SEND_BUFFER),
            time(SendLimit::STREAM_WINDOW),
            time(SendLimit::CONNECTION_WINDOW),
            time(SendLimit::SEND_WINDOW),
            time(SendLimit::RECEIVE_WINDOW),
            time(SendLimit::CONGESTION_WINDOW),
            time(SendLimit::PACING)};
}

std::unique_ptr<LegProbe>
MakeLegProbe(const TcpEndpoint& sender, const TcpEndpoint& receiver, LegResult& result)
{
    return std::make_unique<TcpLegProbe>(sender, receiver, result);
}

} // namespace tunnelcc
