/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr3/bbr3.h"

#include "event/time-units.h"

#include <algorithm>

namespace tunnelcc
{

Bbr3::Bbr3(const Bbr3Parameters& parameters, int64_t stream)
    : m_parameters(parameters),
      m_probeRttDuration(ToNanoseconds(parameters.probeRttDuration)),
      m_extraAckedWindow(parameters.extraAckedWindow),
      m_minCwnd(parameters.minCwnd),
      m_paceFactor(1 - parameters.pacingMargin),
      m_minRtt(ToNanoseconds(parameters.probeRttInterval), ToNanoseconds(parameters.minRttWindow)),
      m_schedule({parameters.probeWaitBase,
                  parameters.probeWaitRandom,
                  parameters.renoMaxRounds,
                  parameters.renoRandomRounds},
                 stream)
{
}

bool
Bbr3::HasCongControl() const
{
    return true;
}

bool
Bbr3::WantsLosses() const
{
    return true;
}

uint32_t
Bbr3::GetSendBufferFactor() const
{
    return 3;
}

std::string_view
Bbr3::GetPhase() const
{
    switch (m_mode)
    {
    case Mode::STARTUP:
        return "STARTUP";
    case Mode::DRAIN:
        return "DRAIN";
    case Mode::PROBE_BW_DOWN:
        return "PROBE_BW_DOWN";
    case Mode::PROBE_BW_CRUISE:
        return "PROBE_BW_CRUISE";
    case Mode::PROBE_BW_REFILL:
        return "PROBE_BW_REFILL";
    case Mode::PROBE_BW_UP:
        return "PROBE_BW_UP";
    case Mode::PROBE_RTT:
        return "PROBE_RTT";
    }
    return {};
}

bool
Bbr3::IsInProbeBw() const
{
    return m_mode >= Mode::PROBE_BW_DOWN && m_mode <= Mode::PROBE_BW_UP;
}

bool
Bbr3::IsProbingBandwidth() const
{
    return m_mode == Mode::STARTUP || m_mode == Mode::PROBE_BW_REFILL ||
           m_mode == Mode::PROBE_BW_UP;
}

void
Bbr3::Init(SenderState& state, int64_t now)
{
    state.ssthresh = INFINITE_SSTHRESH;
    m_initialCwnd = state.cwnd;
    m_minRtt.Init(state.minRtt, now);
    m_aggregation.Reset(now);
    // Draft, section 5.6.2: an RTT of 1 ms where there is no sample yet.
    const auto rtt = static_cast<double>(state.srtt > 0 ? state.srtt : MS);
    state.pacingRate = m_parameters.startupGain * state.cwnd * 1e9 / rtt * state.mss;
}

void
Bbr3::OnAck(SenderState& state, const AckEvent& event, bool /* mayGrow */)
{
    // Draft, section 5.2.3
    const RateSample& rate = event.rate;
    Flight flight;
    flight.txInFlight = rate.txInFlight;
    flight.lost = rate.txInFlight > 0 ? state.lost - rate.priorLost : 0;
    flight.isAppLimited = rate.isAppLimited;
    if (rate.IsValid())
    {
        flight.delivered = rate.delivered;
        flight.bandwidth = rate.delivered * 1e9 / static_cast<double>(rate.interval);
    }
    UpdateRound(state, rate);
    if (rate.IsValid() && event.ackedSacked > 0)
    {
        m_signals.Update(flight.bandwidth, rate.delivered, rate.priorDelivered, state.delivered);
        UpdateCongestionSignals(state, flight);
        UpdateAckAggregation(state, event);
    }
    else
    {
        m_signals.Skip();
    }
    CheckFullPipe(flight);
    CheckStartupDone(state, flight);
    CheckDrainDone(state, event.now);
    UpdateProbeBw(state, event, flight);
    m_minRtt.Update(event.rtt, event.isAckDelayed, event.now);
    CheckProbeRtt(state, event);
    m_signals.Advance(flight.bandwidth, flight.delivered);

    SetPacingRate(state, GetPacingGain());
    SetCwnd(state, event.ackedSacked);
}

void
Bbr3::UpdateRound(const SenderState& state, const RateSample& rate)
{
    m_isRoundStart = rate.IsValid() && rate.priorDelivered >= m_nextRoundDelivered;
    if (m_isRoundStart)
    {
        StartRound(state);
        ++m_roundCount;
        m_schedule.CountRound();
    }
}

void
Bbr3::StartRound(const SenderState& state)
{
    m_nextRoundDelivered = state.delivered;
}

void
Bbr3::UpdateCongestionSignals(const SenderState& state, const Flight& flight)
{
    if (!flight.isAppLimited || flight.bandwidth >= m_maxBandwidth.Get())
    {
        m_maxBandwidth.Take(flight.bandwidth);
    }
    if (!m_signals.IsRoundStart())
    {
        return;
    }
    if (m_signals.HasLoss() && !IsProbingBandwidth())
    {
        m_shortTerm.Init(m_maxBandwidth.Get(), state.cwnd);
        m_shortTerm.Cut(m_parameters.beta, m_signals.GetBandwidth(), m_signals.GetInflight());
    }
    m_signals.ForgetLoss();
}

void
Bbr3::UpdateAckAggregation(const SenderState& state, const AckEvent& event)
{
    if (m_parameters.extraAckedGain == 0)
    {
        return;
    }
    if (m_isRoundStart)
    {
        m_aggregation.EndRound(m_isPipeFull ? m_extraAckedWindow : 1);
    }
    m_aggregation.OnDelivered(state.deliveredTime, event.ackedSacked, GetBandwidth(), state.cwnd);
}

void
Bbr3::OnSegmentLost(SenderState& state, const LostSegment& segment, int64_t now)
{
    // Draft, section 5.5.10.2, HandleLostPacket()
    m_signals.NoteLoss(state.delivered);
    SaveStateUponLoss(state);
    m_lossRanges += segment.number != m_lastLost + 1;
    m_lastLost = segment.number;
    if (!m_isProbeSample)
    {
        return;
    }
    Flight flight;
    flight.txInFlight = segment.txInFlight;
    flight.lost = state.lost - segment.priorLost;
    flight.isAppLimited = segment.isAppLimited;
    if (IsInflightTooHigh(flight))
    {
        flight.txInFlight = GetInflightAtLoss(flight);
        HandleInflightTooHigh(state, flight, now);
    }
}

uint32_t
Bbr3::GetSsThresh(SenderState& state, int64_t /* now */)
{
    SaveCwnd(state);
    SaveStateUponLoss(state);
    return state.ssthresh;
}

void
Bbr3::SaveStateUponLoss(const SenderState& state)
{
    // Once an episode. The draft saves in each round with loss, and so again what the first loss of
    // a probe has changed already.
    if (m_isUndoSaved)
    {
        return;
    }
    m_isUndoSaved = true;
    SaveCwnd(state);
    m_hasUndoMode = false;
    m_undoShortTerm = m_shortTerm;
    m_undoInflightLongterm = m_inflightLongterm;
}

void
Bbr3::OnCaState(SenderState& state, CaState next, int64_t /* now */)
{
    if (next == CaState::LOSS)
    {
        m_fullPipe.Reset();
        if (!IsProbingBandwidth())
        {
            m_shortTerm.Init(Bbr3ShortTermModel::UNBOUNDED_RATE, std::max(state.cwnd, m_priorCwnd));
        }
    }
    else if (state.caState >= CaState::RECOVERY && next < CaState::RECOVERY)
    {
        state.cwnd = std::max(state.cwnd, m_priorCwnd);
        m_isUndoSaved = false;
    }
}

void
Bbr3::OnTransmitStart(SenderState& state, int64_t now, int64_t /* idle */)
{
    // Draft, section 5.4.1
    if (state.appLimitedUntil == 0)
    {
        return;
    }
    m_isIdleRestart = true;
    m_aggregation.StartEpoch(now);
    if (IsInProbeBw())
    {
        SetPacingRate(state, 1);
    }
    else if (m_mode == Mode::PROBE_RTT)
    {
        CheckProbeRttDone(state, now);
    }
}

uint32_t
Bbr3::GetUndoCwnd(SenderState& state, uint32_t /* priorCwnd */)
{
    // Draft, section 5.5.11
    m_signals.ForgetLoss();
    m_fullPipe.Reset();
    m_shortTerm.RaiseTo(m_undoShortTerm);
    m_inflightLongterm = std::max(m_inflightLongterm, m_undoInflightLongterm);
    if (m_hasUndoMode && m_mode != m_undoMode)
    {
        const bool wasStartup = m_undoMode == Mode::STARTUP;
        m_isPipeFull = m_isPipeFull && !wasStartup;
        if (wasStartup && m_mode != Mode::PROBE_RTT)
        {
            m_mode = Mode::STARTUP;
        }
        else if (m_mode != Mode::PROBE_RTT)
        {
            StartRefill(state);
        }
    }
    m_hasUndoMode = false;
    m_isUndoSaved = false;
    return std::max(state.cwnd, m_priorCwnd);
}

} // namespace tunnelcc
