/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr.h"
#include "event/time-units.h"

#include <algorithm>

/**
 * \file
 * How BBRv1 turns its model of the path into a pacing rate and a window, with packet conservation
 * in recovery and room for the bursts that the hosts hold.
 */

namespace tunnelcc
{

namespace
{

/// Window assumed while there is no RTT sample, segments (Linux TCP_INIT_CWND, RFC 6928).
constexpr uint32_t INITIAL_CWND = 10;

/// RTT assumed for the first pacing rate while there is no sample (as Linux).
constexpr int64_t NOMINAL_RTT = MS;

/// A TSO burst is the data of about 1 ms: pacing rate / 2^10 (sk_pacing_shift).
constexpr double BURST_TIME = 1. / 1024;

/// Most bytes in a TSO burst: GSO_MAX_SIZE − 1 − MAX_TCP_HEADER, the latter for x86-64.
constexpr double MAX_BURST_BYTES = 65536 - 1 - 320;

/// Most segments in a TSO burst (bbr_tso_segs_goal()).
constexpr uint32_t MAX_BURST_SEGMENTS = 127;

/// Bursts that the end systems hold at once: qdisc, TSO engine, receiver's GRO.
constexpr uint32_t BURSTS_IN_HOSTS = 3;

/// Part of a segment that rounding up ignores: Linux rounds the bandwidth down before it.
constexpr double IGNORED_PART = 1e-6;

} // namespace

void
Bbr::InitPacingRate(SenderState& state)
{
    m_hasSeenRtt = state.srtt > 0;
    const auto rtt = static_cast<double>(m_hasSeenRtt ? state.srtt : NOMINAL_RTT);
    state.pacingRate =
        m_constants->startupGain * state.cwnd * 1e9 / rtt * m_constants->paceFactor * state.mss;
}

void
Bbr::SetPacingRate(SenderState& state, double gain)
{
    const double rate = gain * GetBandwidth() * m_constants->paceFactor * state.mss;
    if (!m_hasSeenRtt && state.srtt > 0)
    {
        InitPacingRate(state);
    }
    if (m_isPipeFull || rate > state.pacingRate)
    {
        state.pacingRate = rate;
    }
}

void
Bbr::SetCwnd(SenderState& state, const AckEvent& event)
{
    if (event.ackedSacked > 0 && !ConservePackets(state, event))
    {
        uint32_t target = GetBdp(GetBandwidth(), m_cwndGain) + GetAggregationAllowance();
        target = AddBurstAllowance(state, target);
        if (m_isPipeFull)
        {
            state.cwnd = std::min(state.cwnd + event.ackedSacked, target);
        }
        else if (state.cwnd < target || state.delivered < INITIAL_CWND)
        {
            state.cwnd += event.ackedSacked;
        }
        state.cwnd = std::max(state.cwnd, m_constants->minCwnd);
    }
    if (m_mode == Mode::PROBE_RTT)
    {
        state.cwnd = std::min(state.cwnd, m_constants->minCwnd);
    }
}

bool
Bbr::ConservePackets(SenderState& state, const AckEvent& event)
{
    const CaState prior = m_priorCaState;
    m_priorCaState = state.caState;
    if (event.newlyLost > 0)
    {
        state.cwnd = state.cwnd > event.newlyLost ? state.cwnd - event.newlyLost : 1;
    }
    if (state.caState == CaState::RECOVERY && prior != CaState::RECOVERY)
    {
        m_isConserving = true;
        m_nextRoundDelivered = state.delivered;
        state.cwnd = state.inFlight + event.ackedSacked;
    }
    else if (prior >= CaState::RECOVERY && state.caState < CaState::RECOVERY)
    {
        state.cwnd = std::max(state.cwnd, m_priorCwnd);
        m_isConserving = false;
    }
    if (m_isConserving)
    {
        state.cwnd = std::max(state.cwnd, state.inFlight + event.ackedSacked);
    }
    return m_isConserving;
}

void
Bbr::SaveCwnd(const SenderState& state)
{
    const bool isCut = m_priorCaState >= CaState::RECOVERY || m_mode == Mode::PROBE_RTT;
    m_priorCwnd = isCut ? std::max(m_priorCwnd, state.cwnd) : state.cwnd;
}

uint32_t
Bbr::GetBdp(double bandwidth, double gain) const
{
    if (m_minRtt >= NEVER)
    {
        return INITIAL_CWND;
    }
    const double exact = bandwidth * 1e-9 * static_cast<double>(m_minRtt) * gain;
    const auto whole = static_cast<uint32_t>(std::min<double>(exact, MAX_WINDOW));
    return whole + (exact - whole > IGNORED_PART ? 1 : 0);
}

uint32_t
Bbr::GetInflight(const SenderState& state, double gain)
{
    return AddBurstAllowance(state, GetBdp(m_maxBandwidth.Get(), gain));
}

uint32_t
Bbr::AddBurstAllowance(const SenderState& state, uint32_t segments)
{
    segments += BURSTS_IN_HOSTS * GetBurst(state);
    // An even window suits receivers that acknowledge every other segment.
    segments = (segments + 1) & ~1U;
    if (m_mode == Mode::PROBE_BW && m_cycleIndex == 0)
    {
        segments += 2;
    }
    return segments;
}

uint32_t
Bbr::GetAggregationAllowance() const
{
    if (!m_isPipeFull || m_constants->extraAckedGain == 0)
    {
        return 0;
    }
    const double most = std::min<double>(GetBandwidth() * m_constants->extraAckedMax, MAX_WINDOW);
    const double extra = m_constants->extraAckedGain * m_aggregation.GetExtraAcked();
    return static_cast<uint32_t>(std::min(extra, most));
}

uint32_t
Bbr::GetInNetworkAtDeparture(const SenderState& state, int64_t now, uint32_t inFlight)
{
    if (m_pacingGain > 1)
    {
        inFlight += GetBurst(state);
    }
    const int64_t wait = state.nextSendTime - now;
    if (wait <= 0)
    {
        return inFlight;
    }
    const auto delivered =
        std::min<double>(GetBandwidth() * 1e-9 * static_cast<double>(wait), MAX_WINDOW);
    const auto whole = static_cast<uint32_t>(delivered);
    return whole >= inFlight ? 0 : inFlight - whole;
}

uint32_t
Bbr::GetBurst(const SenderState& state)
{
    if (state.pacingRate != m_burstRate)
    {
        m_burstRate = state.pacingRate;
        const double bytes = std::min(state.pacingRate * BURST_TIME, MAX_BURST_BYTES);
        const auto segments = static_cast<uint32_t>(bytes / state.mss);
        m_burst = std::min(std::max(segments, MinTsoSegments(state)), MAX_BURST_SEGMENTS);
    }
    return m_burst;
}

} // namespace tunnelcc
