/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-congestion.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

namespace
{

/// The window counts as used up if no more packets than this fit in (quic-go v0.60.0,
/// internal/congestion/cubic_sender.go, maxBurstPackets).
constexpr uint32_t NEARLY_FULL = 3;

/// Least window, packets (RFC 9002, section 7.2).
constexpr uint32_t LEAST_WINDOW = 2;

} // namespace

QuicCongestion::QuicCongestion(const QuicSpec& spec,
                               End end,
                               std::unique_ptr<CongestionControl> algorithm,
                               const PacketHistory& history)
    : m_spec(spec),
      m_algorithm(std::move(algorithm)),
      m_control(dynamic_cast<PacketControl*>(m_algorithm.get())),
      m_history(history),
      m_hasCongControl(m_algorithm->HasCongControl()),
      m_wantsLosses(m_algorithm->WantsLosses()),
      m_wantsDeliveries(m_algorithm->WantsDeliveries()),
      m_sampler(m_state),
      m_bucket(spec.pacing)
{
    m_state.cwnd = spec.window.first;
    m_state.mss = spec.packets.first[end];
}

void
QuicCongestion::Sync(const RoundTrip& rtt)
{
    m_state.inFlight = InFlight();
    m_state.sndNxt = m_history.Next();
    m_state.sndUna = std::min(m_history.Oldest(), m_history.Next());
    m_state.srtt = rtt.Smoothed();
    m_state.minRtt = rtt.Least();
    m_state.lastRtt = rtt.HasSample() ? rtt.Latest() : -1;
}

void
QuicCongestion::Init(int64_t now, const RoundTrip& rtt)
{
    Sync(rtt);
    m_algorithm->Init(m_state, now);
    m_isReady = true;
    UpdateRate();
}

void
QuicCongestion::OnSent(int64_t now, QuicPacket& packet, bool isIdle)
{
    if (isIdle && m_isReady)
    {
        m_algorithm->OnTransmitStart(m_state, now, now - m_lastSent);
        UpdateRate();
    }
    m_lastSent = now;
    Pace(now, packet);
    if (m_control && m_isReady)
    {
        m_control->OnSent(now, m_history, true);
    }
    m_state.segmentsSent += Completes(m_sentBytes, packet);
    m_sampler.OnSent(now, packet.sample, isIdle);
    packet.flight = {InFlight(), static_cast<uint32_t>(m_state.lost)};
}

void
QuicCongestion::Pace(int64_t now, const QuicPacket& packet)
{
    m_bucket.OnSent(now, packet.bytes);
    m_state.nextSendTime = m_bucket.NextSend(now);
}

double
QuicCongestion::PacingRate() const
{
    if (m_state.pacingRate > 0 || m_state.srtt == 0)
    {
        return m_state.pacingRate;
    }
    const double window = static_cast<double>(m_state.cwnd) * m_state.mss;
    return m_spec.pacing.gain * window * 1e9 / static_cast<double>(m_state.srtt);
}

uint32_t
QuicCongestion::FullPackets(uint64_t bytes) const
{
    return static_cast<uint32_t>((bytes + m_state.mss - 1) / m_state.mss);
}

bool
QuicCongestion::Completes(uint64_t& bytes, const QuicPacket& packet) const
{
    bytes += packet.bytes;
    const bool isFull = bytes >= m_state.mss;
    bytes -= isFull ? m_state.mss : 0;
    return isFull;
}

bool
QuicCongestion::IsLimited(uint64_t bytesInFlight) const
{
    // RFC 9002, section 7.8: a window that is not used does not grow.
    const uint64_t window = uint64_t{m_state.cwnd} * m_state.mss;
    return bytesInFlight + uint64_t{NEARLY_FULL} * m_state.mss >= window ||
           (m_state.InSlowStart() && bytesInFlight > window / 2);
}

void
QuicCongestion::SetCaState(int64_t now, CaState state)
{
    m_algorithm->OnCaState(m_state, state, now);
    m_state.caState = state;
}

void
QuicCongestion::OnLost(int64_t now, uint64_t number)
{
    const QuicPacket& packet = m_history.At(number);
    if (Completes(m_lostBytes, packet))
    {
        ++m_state.lost;
        ++m_newlyLost;
    }
    if (m_wantsLosses && m_isReady)
    {
        m_algorithm->OnSegmentLost(m_state,
                                   {number,
                                    packet.flight.inFlight,
                                    packet.flight.LostThen(m_state.lost),
                                    packet.sample.Has(Segment::APP_LIMITED)},
                                   now);
    }
    if (packet.isMtuProbe || !m_isReady)
    {
        return;
    }
    if (m_hasCongControl && m_state.caState == CaState::RECOVERY)
    {
        m_recoveryEnd = m_history.Next();
        return;
    }
    if (number < m_recoveryEnd)
    {
        return;
    }
    m_recoveryEnd = m_history.Next();
    m_state.ssthresh = m_algorithm->GetSsThresh(m_state, now);
    SetCaState(now, CaState::RECOVERY);
    if (!m_hasCongControl)
    {
        m_state.cwnd = std::max(m_state.ssthresh, LEAST_WINDOW);
    }
}

void
QuicCongestion::CountDelivered(uint64_t number)
{
    const QuicPacket& packet = m_history.At(number);
    if (Completes(m_deliveredBytes, packet))
    {
        m_sampler.OnDelivered({number, number, packet.sample});
    }
}

void
QuicCongestion::TakeOutcome(int64_t now,
                            const LossDetection::Outcome& outcome,
                            const RoundTrip& rtt,
                            uint64_t priorBytes)
{
    Sync(rtt);
    if (m_control)
    {
        if (m_isReady && !(outcome.acked.empty() && outcome.lost.empty()))
        {
            m_control->OnEvent(m_state, {now, m_history, priorBytes, outcome.acked, outcome.lost});
        }
        return;
    }
    m_state.maxPacketsOut = FullPackets(priorBytes);
    for (uint64_t number : outcome.lost)
    {
        OnLost(now, number);
    }
    if (outcome.isPersistent && m_isReady)
    {
        SetCaState(now, CaState::LOSS);
        m_state.cwnd = LEAST_WINDOW;
    }
    if (outcome.acked.empty())
    {
        return;
    }
    m_sampler.OnAckBegin();
    const uint64_t delivered = m_state.delivered;
    uint32_t growing = 0;
    for (uint64_t number : outcome.acked)
    {
        CountDelivered(number);
        growing += number >= m_recoveryEnd || m_state.caState == CaState::LOSS;
    }
    AckEvent event;
    event.rate = m_sampler.OnAckEnd(now, true);
    if (!m_isReady)
    {
        return;
    }
    if (m_wantsLosses && m_sampler.SampledSegment())
    {
        const Flight& flight = m_history.At(*m_sampler.SampledSegment()).flight;
        event.rate.txInFlight = flight.inFlight;
        event.rate.priorLost = flight.LostThen(m_state.lost);
    }
    event.now = now;
    event.newlyLost = std::exchange(m_newlyLost, 0);
    event.priorInFlight = m_state.maxPacketsOut;
    event.rtt = outcome.hasSample ? rtt.Latest() : -1;
    // RFC 9002, section 7.3.2: what was sent before the period began makes no window grow.
    event.ackedSacked =
        m_hasCongControl ? static_cast<uint32_t>(m_state.delivered - delivered) : growing;
    event.cumAcked = event.ackedSacked;
    if (m_wantsDeliveries)
    {
        m_algorithm->OnDelivered(m_state, event);
    }
    if (m_state.caState != CaState::OPEN && outcome.acked.back() >= m_recoveryEnd)
    {
        if (m_state.caState == CaState::RECOVERY && !m_hasCongControl)
        {
            m_algorithm->OnReductionEnd(m_state, now);
        }
        SetCaState(now, CaState::OPEN);
    }
    m_state.isCwndLimited = IsLimited(priorBytes);
    m_algorithm->OnAck(m_state, event, growing > 0);
    if (m_spec.window.most > 0)
    {
        m_state.cwnd = std::min(m_state.cwnd, m_spec.window.most);
    }
}

} // namespace tunnelcc
