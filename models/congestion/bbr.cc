/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// The phases that probe and drain, before those at the estimate.
constexpr uint32_t PROBING_PHASES = 2;

} // namespace

Bbr::Constants::Constants(const BbrParameters& parameters)
    : BbrParameters(parameters),
      cycleLength(PROBING_PHASES + (probeInterval > 0 ? 1 : cruisePhases)),
      probeIntervalTime(ToNanoseconds(probeInterval)),
      probeRttIntervalTime(ToNanoseconds(probeRttInterval)),
      probeRttDurationTime(ToNanoseconds(probeRttDuration)),
      paceFactor(1 - pacingMargin),
      policer{policerDetection,
              policerMinRounds,
              policerLossThreshold,
              policerRateRatio,
              policerRateDifference,
              policerUseRounds}
{
}

Bbr::Bbr(const BbrParameters& parameters, int64_t stream)
    : m_constants(Share(Constants(parameters))),
      m_policer(m_constants->policer),
      m_random(stream)
{
}

bool
Bbr::HasCongControl() const
{
    return true;
}

uint32_t
Bbr::GetSendBufferFactor() const
{
    return 3;
}

std::string_view
Bbr::NameOf(Mode mode)
{
    switch (mode)
    {
    case Mode::STARTUP:
        return "STARTUP";
    case Mode::DRAIN:
        return "DRAIN";
    case Mode::PROBE_BW:
        return "PROBE_BW";
    case Mode::PROBE_RTT:
        return "PROBE_RTT";
    }
    return {};
}

uint32_t
Bbr::MinTsoSegments(const SenderState& state) const
{
    return state.pacingRate < m_constants->minTsoRate ? 1 : 2;
}

void
Bbr::Init(SenderState& state, int64_t now)
{
    state.ssthresh = INFINITE_SSTHRESH;
    m_minRtt = state.minRtt;
    m_minRttTime = now;
    m_maxBandwidth.Reset(0, m_roundCount);
    InitPacingRate(state);
    m_policer.Reset(state);
    m_aggregation.Reset(now);
    UpdateGains();
}

uint32_t
Bbr::GetSsThresh(SenderState& state, int64_t /* now */)
{
    SaveCwnd(state);
    return state.ssthresh;
}

void
Bbr::OnAck(SenderState& state, const AckEvent& event, bool /* mayGrow */)
{
    UpdateBandwidth(state, event);
    UpdateAckAggregation(state, event);
    UpdateCyclePhase(state, event);
    CheckFullPipe(event);
    CheckDrain(state, event.now);
    UpdateMinRtt(state, event);
    UpdateGains();
    SetPacingRate(state, m_pacingGain);
    SetCwnd(state, event);
}

void
Bbr::OnCaState(SenderState& state, CaState next, int64_t /* now */)
{
    if (next != CaState::LOSS)
    {
        return;
    }
    m_priorCaState = CaState::LOSS;
    m_fullBandwidth = 0;
    m_isRoundStart = true;
    UpdatePolicer(state, true, false);
}

void
Bbr::OnTransmitStart(SenderState& state, int64_t now, int64_t /* idle */)
{
    if (state.appLimitedUntil == 0)
    {
        return;
    }
    m_isIdleRestart = true;
    m_aggregation.StartEpoch(now);
    if (m_mode == Mode::PROBE_BW)
    {
        // Nothing suggests that more than the estimate is needed: don't restart with a probe.
        SetPacingRate(state, 1);
    }
    else if (m_mode == Mode::PROBE_RTT)
    {
        CheckProbeRttDone(state, now);
    }
}

uint32_t
Bbr::GetUndoCwnd(SenderState& state, uint32_t /* priorCwnd */)
{
    m_fullBandwidth = 0;
    m_fullPipeCount = 0;
    m_policer.Reset(state);
    return state.cwnd;
}

void
Bbr::UpdateBandwidth(SenderState& state, const AckEvent& event)
{
    m_isRoundStart = false;
    const RateSample& rate = event.rate;
    if (!rate.IsValid())
    {
        return;
    }
    if (rate.priorDelivered >= m_nextRoundDelivered)
    {
        m_nextRoundDelivered = state.delivered;
        ++m_roundCount;
        m_isRoundStart = true;
        m_isConserving = false;
    }
    if (m_policer.IsWatching() || event.newlyLost > 0)
    {
        UpdatePolicer(state, event.newlyLost > 0, rate.isAppLimited);
    }

    const double bandwidth =
        static_cast<double>(rate.delivered) * 1e9 / static_cast<double>(rate.interval);
    if (!rate.isAppLimited || bandwidth >= m_maxBandwidth.Get())
    {
        m_maxBandwidth.Update(bandwidth, m_roundCount, m_constants->bandwidthWindow);
    }
}

void
Bbr::UpdatePolicer(const SenderState& state, bool isLoss, bool isAppLimited)
{
    const BbrPolicer::Observation observation{.isLoss = isLoss,
                                              .isAppLimited = isAppLimited,
                                              .isRoundStart = m_isRoundStart,
                                              .isProbeBw = m_mode == Mode::PROBE_BW};
    if (m_policer.Update(state, observation, m_constants->paceFactor * state.mss))
    {
        EnterProbeBw(state);
    }
}

void
Bbr::UpdateAckAggregation(const SenderState& state, const AckEvent& event)
{
    if (event.ackedSacked == 0 || !event.rate.IsValid() || m_constants->extraAckedGain == 0)
    {
        return;
    }
    if (m_isRoundStart)
    {
        m_aggregation.EndRound(m_constants->extraAckedWindow);
    }
    m_aggregation.OnDelivered(state.deliveredTime, event.ackedSacked, GetBandwidth(), state.cwnd);
}

void
Bbr::UpdateCyclePhase(const SenderState& state, const AckEvent& event)
{
    if (m_mode == Mode::PROBE_BW && IsPhaseOver(state, event))
    {
        AdvanceCyclePhase(state);
    }
}

bool
Bbr::IsPhaseOver(const SenderState& state, const AckEvent& event)
{
    const bool isFullLength = state.deliveredTime - m_cycleTime > m_minRtt;
    if (m_pacingGain == 1)
    {
        return isFullLength && state.deliveredTime - m_probeTime >= m_constants->probeIntervalTime;
    }
    if (m_pacingGain > 1)
    {
        // Raising the inflight to the target may take longer than an RTT; a loss says that the
        // path doesn't hold that much.
        return isFullLength && (event.newlyLost > 0 ||
                                GetInNetworkAtDeparture(state, event.now, event.priorInFlight) >=
                                    GetInflight(state, m_pacingGain));
    }
    return isFullLength ||
           GetInNetworkAtDeparture(state, event.now, event.priorInFlight) <= GetInflight(state, 1);
}

void
Bbr::CheckFullPipe(const AckEvent& event)
{
    if (m_isPipeFull || !m_isRoundStart || event.rate.isAppLimited)
    {
        return;
    }
    if (m_maxBandwidth.Get() >= m_fullBandwidth * m_constants->fullPipeGrowth)
    {
        m_fullBandwidth = m_maxBandwidth.Get();
        m_fullPipeCount = 0;
        return;
    }
    m_isPipeFull = ++m_fullPipeCount >= m_constants->fullPipeRounds;
}

void
Bbr::CheckDrain(SenderState& state, int64_t now)
{
    if (m_mode == Mode::STARTUP && m_isPipeFull)
    {
        m_mode = Mode::DRAIN;
        state.ssthresh = GetInflight(state, 1);
    }
    if (m_mode == Mode::DRAIN &&
        GetInNetworkAtDeparture(state, now, state.inFlight) <= GetInflight(state, 1))
    {
        EnterProbeBw(state);
    }
}

void
Bbr::UpdateMinRtt(SenderState& state, const AckEvent& event)
{
    const bool isExpired = event.now > m_minRttTime + m_constants->probeRttIntervalTime;
    const bool isTie = m_constants->renewMinRttOnTie && event.rtt == m_minRtt;
    if (event.rtt >= 0 && (event.rtt < m_minRtt || isTie || (isExpired && !event.isAckDelayed)))
    {
        m_minRtt = event.rtt;
        m_minRttTime = event.now;
    }
    if (isExpired && !m_isIdleRestart && m_mode != Mode::PROBE_RTT &&
        m_constants->probeRttDurationTime > 0)
    {
        m_mode = Mode::PROBE_RTT;
        SaveCwnd(state);
        m_probeRttDoneTime = 0;
    }
    if (m_mode == Mode::PROBE_RTT)
    {
        RunProbeRtt(state, event.now);
    }
    if (event.ackedSacked > 0)
    {
        m_isIdleRestart = false;
    }
}

void
Bbr::RunProbeRtt(SenderState& state, int64_t now)
{
    // Rate samples taken now are low by design and must not enter the model.
    state.MarkAppLimited(state.inFlight);
    if (m_probeRttDoneTime == 0)
    {
        if (state.inFlight <= m_constants->minCwnd)
        {
            m_probeRttDoneTime = now + m_constants->probeRttDurationTime;
            m_isProbeRttRoundDone = false;
            m_nextRoundDelivered = state.delivered;
        }
        return;
    }
    m_isProbeRttRoundDone = m_isProbeRttRoundDone || m_isRoundStart;
    if (m_isProbeRttRoundDone)
    {
        CheckProbeRttDone(state, now);
    }
}

void
Bbr::CheckProbeRttDone(SenderState& state, int64_t now)
{
    if (m_probeRttDoneTime == 0 || now <= m_probeRttDoneTime)
    {
        return;
    }
    m_minRttTime = now;
    state.cwnd = std::max(state.cwnd, m_priorCwnd);
    LeaveProbeRtt(state);
}

void
Bbr::LeaveProbeRtt(const SenderState& state)
{
    if (m_isPipeFull)
    {
        EnterProbeBw(state);
    }
    else
    {
        m_mode = Mode::STARTUP;
    }
}

void
Bbr::EnterProbeBw(const SenderState& state)
{
    m_mode = Mode::PROBE_BW;
    // Any phase but the draining one (bbr_cycle_rand).
    m_cycleIndex = m_constants->cycleLength - 1 - m_random.DrawBelow(m_constants->cycleLength - 1);
    AdvanceCyclePhase(state);
    if (m_constants->probeIntervalTime > 0)
    {
        m_probeTime = state.deliveredTime -
                      static_cast<int64_t>(static_cast<double>(m_constants->probeIntervalTime) *
                                           m_random.DrawFraction());
    }
}

void
Bbr::AdvanceCyclePhase(const SenderState& state)
{
    m_cycleIndex = (m_cycleIndex + 1) % m_constants->cycleLength;
    m_cycleTime = state.deliveredTime;
    if (m_cycleIndex == 0 && m_constants->probeIntervalTime > 0)
    {
        m_probeTime = m_cycleTime;
    }
}

void
Bbr::UpdateGains()
{
    switch (m_mode)
    {
    case Mode::STARTUP:
        m_pacingGain = m_constants->startupGain;
        m_cwndGain = m_constants->startupGain;
        break;
    case Mode::DRAIN:
        m_pacingGain = m_constants->drainGain;
        m_cwndGain = m_constants->startupGain;
        break;
    case Mode::PROBE_BW:
        m_pacingGain = 1;
        if (!m_policer.IsDetected() && m_cycleIndex < PROBING_PHASES)
        {
            m_pacingGain =
                m_cycleIndex == 0 ? m_constants->probeUpGain : m_constants->probeDownGain;
        }
        m_cwndGain = m_constants->cwndGain;
        break;
    case Mode::PROBE_RTT:
        m_pacingGain = 1;
        m_cwndGain = 1;
        break;
    }
}

} // namespace tunnelcc
