/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr3/bbr3.h"

#include <algorithm>
#include <cmath>

/**
 * \file
 * PROBE_RTT of BBRv3: half of the BDP in flight for 200 ms, so that the queue drains
 * (draft-ietf-ccwg-bbr, section 5.3.4).
 */

namespace tunnelcc
{

void
Bbr3::CheckProbeRtt(SenderState& state, const AckEvent& event)
{
    if (m_mode != Mode::PROBE_RTT && m_minRtt.IsProbeDue() && !m_isIdleRestart &&
        m_probeRttDuration > 0)
    {
        SaveCwnd(state);
        m_mode = Mode::PROBE_RTT;
        m_probeRttDoneTime = 0;
        m_ackPhase = AckPhase::PROBE_STOPPING;
        StartRound(state);
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
Bbr3::RunProbeRtt(SenderState& state, int64_t now)
{
    // Rate samples taken now are low by design and must not enter the model.
    state.MarkAppLimited(state.inFlight);
    if (m_probeRttDoneTime == 0)
    {
        if (state.inFlight <= GetProbeRttCwnd())
        {
            m_probeRttDoneTime = now + m_probeRttDuration;
            m_isProbeRttRoundDone = false;
            StartRound(state);
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
Bbr3::CheckProbeRttDone(SenderState& state, int64_t now)
{
    if (m_probeRttDoneTime == 0 || now <= m_probeRttDoneTime)
    {
        return;
    }
    m_minRtt.RestartProbeInterval(now);
    state.cwnd = std::max(state.cwnd, m_priorCwnd);
    m_shortTerm.Reset();
    if (m_isPipeFull)
    {
        StartDown(state, now);
        m_mode = Mode::PROBE_BW_CRUISE;
    }
    else
    {
        m_mode = Mode::STARTUP;
    }
}

uint32_t
Bbr3::GetProbeRttCwnd() const
{
    const double cwnd = GetBdp(GetBandwidth(), m_parameters.probeRttCwndGain);
    return std::max(static_cast<uint32_t>(std::ceil(cwnd)), m_minCwnd);
}

} // namespace tunnelcc
