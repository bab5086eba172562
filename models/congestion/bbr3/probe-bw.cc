/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr3/bbr3.h"

/**
 * \file
 * PROBE_BW of BBRv3: DOWN, CRUISE, REFILL, UP (draft-ietf-ccwg-bbr, section 5.3.3).
 */

namespace tunnelcc
{

void
Bbr3::UpdateProbeBw(const SenderState& state, const AckEvent& event, const Flight& flight)
{
    if (!m_isPipeFull || AdaptLongTermModel(state, event.ackedSacked, flight))
    {
        return;
    }
    switch (m_mode)
    {
    case Mode::PROBE_BW_DOWN:
        if (!IsTimeToProbe(state, event.now) && IsTimeToCruise(state, event.priorInFlight))
        {
            m_mode = Mode::PROBE_BW_CRUISE;
        }
        break;
    case Mode::PROBE_BW_CRUISE:
        IsTimeToProbe(state, event.now);
        break;
    case Mode::PROBE_BW_REFILL:
        if (m_isRoundStart)
        {
            m_isProbeSample = true;
            StartUp(state, flight);
        }
        break;
    case Mode::PROBE_BW_UP:
        if (IsTimeToGoDown(state, event.priorInFlight, flight))
        {
            m_wasProbeTooHigh = false;
            StartDown(state, event.now);
        }
        break;
    default:
        break;
    }
}

void
Bbr3::StartDown(const SenderState& state, int64_t now)
{
    m_signals.Reset();
    m_probeUpStep = BBR3_UNBOUNDED;
    m_schedule.StartCycle(now);
    m_ackPhase = AckPhase::PROBE_STOPPING;
    StartRound(state);
    m_mode = Mode::PROBE_BW_DOWN;
}

void
Bbr3::StartRefill(const SenderState& state)
{
    m_shortTerm.Reset();
    m_probeUpRounds = 0;
    m_probeUpAcked = 0;
    m_wasProbePrecautionary = false;
    m_ackPhase = AckPhase::REFILLING;
    StartRound(state);
    m_mode = Mode::PROBE_BW_REFILL;
}

void
Bbr3::StartUp(const SenderState& state, const Flight& flight)
{
    m_ackPhase = AckPhase::PROBE_STARTING;
    StartRound(state);
    m_fullPipe.Reset(flight.bandwidth);
    m_mode = Mode::PROBE_BW_UP;
    RaiseInflightSlope(state);
}

bool
Bbr3::IsTimeToProbe(const SenderState& state, int64_t now)
{
    if (!m_schedule.IsDue(now, GetTargetInflight(state)))
    {
        return false;
    }
    StartRefill(state);
    return true;
}

bool
Bbr3::IsTimeToCruise(const SenderState& state, uint32_t inFlight) const
{
    return inFlight <= GetInflightWithHeadroom() &&
           inFlight <= GetInflight(state, m_maxBandwidth.Get(), 1);
}

bool
Bbr3::IsTimeToGoDown(const SenderState& state, uint32_t inFlight, const Flight& flight)
{
    if (m_wasProbeTooHigh && inFlight >= m_inflightLongterm)
    {
        m_wasProbePrecautionary = true;
        return true;
    }
    if (state.isCwndLimited && state.cwnd >= m_inflightLongterm)
    {
        // The volume, not the path, keeps the bandwidth from growing.
        m_fullPipe.Reset(flight.bandwidth);
        return false;
    }
    return m_fullPipe.IsFull();
}

} // namespace tunnelcc
