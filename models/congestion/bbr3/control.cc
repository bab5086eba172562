/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr3/bbr3.h"

#include <algorithm>
#include <cmath>

/**
 * \file
 * How BBRv3 turns its model of the path into a pacing rate and a window (draft-ietf-ccwg-bbr,
 * section 5.6).
 */

namespace tunnelcc
{

namespace
{

/// A send quantum is the data of 1 ms (draft, section 5.6.3).
constexpr double QUANTUM_TIME = 1e-3;

/// Largest send quantum, bytes (draft, section 5.6.3).
constexpr double MAX_QUANTUM = 65536;

/// Smallest send quantum, segments (draft, section 5.6.3).
constexpr double MIN_QUANTUM_SEGMENTS = 2;

/// Quanta that the end systems hold at once (draft, section 5.5.8).
constexpr uint32_t QUANTA_IN_HOSTS = 3;

/// What PROBE_BW_UP adds so that small volumes grow too, segments (draft, section 5.6.4.2).
constexpr double PROBE_UP_EXTRA = 2;

} // namespace

double
Bbr3::GetPacingGain() const
{
    switch (m_mode)
    {
    case Mode::STARTUP:
        return m_parameters.startupGain;
    case Mode::DRAIN:
        return m_parameters.drainGain;
    case Mode::PROBE_BW_DOWN:
        return m_parameters.probeDownGain;
    case Mode::PROBE_BW_UP:
        return m_parameters.probeUpGain;
    default:
        return 1;
    }
}

double
Bbr3::GetCwndGain() const
{
    switch (m_mode)
    {
    case Mode::PROBE_BW_UP:
        return m_parameters.probeUpCwndGain;
    case Mode::PROBE_RTT:
        return m_parameters.probeRttCwndGain;
    default:
        return m_parameters.cwndGain;
    }
}

void
Bbr3::SetPacingRate(SenderState& state, double gain) const
{
    const double rate = gain * GetBandwidth() * m_paceFactor * state.mss;
    if (m_isPipeFull || rate > state.pacingRate)
    {
        state.pacingRate = rate;
    }
}

void
Bbr3::SetCwnd(SenderState& state, uint32_t acked) const
{
    if (acked > 0)
    {
        const uint32_t most = GetMaxInflight(state);
        if (m_isPipeFull)
        {
            state.cwnd = std::min(state.cwnd + acked, most);
        }
        else if (state.cwnd < most || state.delivered < m_initialCwnd)
        {
            state.cwnd += acked;
        }
        state.cwnd = std::max(state.cwnd, m_minCwnd);
    }
    if (m_mode == Mode::PROBE_RTT)
    {
        state.cwnd = std::min(state.cwnd, GetProbeRttCwnd());
    }
    BoundCwndForModel(state);
}

void
Bbr3::BoundCwndForModel(SenderState& state) const
{
    uint32_t bound = BBR3_UNBOUNDED;
    if (m_mode == Mode::PROBE_BW_CRUISE || m_mode == Mode::PROBE_RTT)
    {
        bound = GetInflightWithHeadroom();
    }
    else if (IsInProbeBw())
    {
        bound = m_inflightLongterm;
    }
    bound = std::max(std::min(bound, m_shortTerm.inflight), m_minCwnd);
    state.cwnd = std::min(state.cwnd, bound);
}

void
Bbr3::SaveCwnd(const SenderState& state)
{
    const bool isCut = state.caState >= CaState::RECOVERY || m_mode == Mode::PROBE_RTT;
    m_priorCwnd = isCut ? std::max(m_priorCwnd, state.cwnd) : state.cwnd;
}

double
Bbr3::GetBdp(double bandwidth, double gain) const
{
    if (m_minRtt.Get() >= NEVER)
    {
        return m_initialCwnd;
    }
    return std::min<double>(bandwidth * 1e-9 * static_cast<double>(m_minRtt.Get()) * gain,
                            MAX_WINDOW);
}

double
Bbr3::GetTargetInflight(const SenderState& state) const
{
    return std::min<double>(GetBdp(GetBandwidth(), 1), state.cwnd);
}

uint32_t
Bbr3::GetInflight(const SenderState& state, double bandwidth, double gain) const
{
    return AddQuantizationBudget(state, GetBdp(bandwidth, gain));
}

uint32_t
Bbr3::GetMaxInflight(const SenderState& state) const
{
    const double most = GetBandwidth() * m_parameters.extraAckedMax;
    const double extra = m_parameters.extraAckedGain * m_aggregation.GetExtraAcked();
    return AddQuantizationBudget(state,
                                 GetBdp(GetBandwidth(), GetCwndGain()) + std::min(extra, most));
}

uint32_t
Bbr3::AddQuantizationBudget(const SenderState& state, double volume) const
{
    const double bytes = std::min(state.pacingRate * QUANTUM_TIME, MAX_QUANTUM);
    const double quantum = std::max(bytes / state.mss, MIN_QUANTUM_SEGMENTS);
    volume = std::max({volume, QUANTA_IN_HOSTS * quantum, static_cast<double>(m_minCwnd)});
    volume += m_mode == Mode::PROBE_BW_UP ? PROBE_UP_EXTRA : 0;
    return static_cast<uint32_t>(std::ceil(std::min<double>(volume, MAX_WINDOW)));
}

} // namespace tunnelcc
