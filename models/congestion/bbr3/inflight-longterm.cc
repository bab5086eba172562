/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr3/bbr3.h"

#include <algorithm>

/**
 * \file
 * BBRv3's long-term volume: what may be in flight without losing more than the path's users bear,
 * learned from the losses that probing causes (draft-ietf-ccwg-bbr, sections 5.3.3.9 and 5.5.10.2).
 */

namespace tunnelcc
{

bool
Bbr3::AdaptLongTermModel(const SenderState& state, uint32_t acked, const Flight& flight)
{
    if (m_ackPhase == AckPhase::PROBE_STARTING && m_isRoundStart)
    {
        m_ackPhase = AckPhase::PROBE_FEEDBACK;
    }
    if (m_ackPhase == AckPhase::PROBE_STOPPING && m_isRoundStart)
    {
        m_isProbeSample = false;
        m_ackPhase = AckPhase::INIT;
        if (IsInProbeBw() && !flight.isAppLimited)
        {
            m_maxBandwidth.EndCycle();
        }
        if (IsInProbeBw() && m_wasProbePrecautionary && !m_wasProbeTooHigh)
        {
            StartRefill(state);
            return true;
        }
    }
    if (IsInflightTooHigh(flight) || m_inflightLongterm == BBR3_UNBOUNDED)
    {
        return false;
    }
    m_inflightLongterm = std::max(m_inflightLongterm, flight.txInFlight);
    if (m_mode == Mode::PROBE_BW_UP)
    {
        ProbeInflightUpward(state, acked);
    }
    return false;
}

bool
Bbr3::IsInflightTooHigh(const Flight& flight) const
{
    return static_cast<double>(flight.lost) > flight.txInFlight * m_parameters.lossThreshold;
}

void
Bbr3::HandleInflightTooHigh(const SenderState& state, const Flight& flight, int64_t now)
{
    m_wasProbeTooHigh = true;
    m_isProbeSample = false;
    if (!flight.isAppLimited)
    {
        const double floor = GetTargetInflight(state) * m_parameters.beta;
        m_inflightLongterm = std::max(flight.txInFlight, static_cast<uint32_t>(floor));
    }
    if (m_mode == Mode::PROBE_BW_UP)
    {
        m_hasUndoMode = true;
        m_undoMode = Mode::PROBE_BW_UP;
        StartDown(state, now);
    }
}

uint32_t
Bbr3::GetInflightAtLoss(const Flight& flight) const
{
    // With one segment at a time, "before" the loss is without that one. A negative prefix says
    // that the losses before it were too many already.
    const double before = flight.txInFlight - 1.;
    const double lostBefore = static_cast<double>(flight.lost) - 1;
    const double threshold = m_parameters.lossThreshold;
    const double prefix = (threshold * before - lostBefore) / (1 - threshold);
    return static_cast<uint32_t>(std::max(before + std::max(prefix, 0.), 0.));
}

void
Bbr3::ProbeInflightUpward(const SenderState& state, uint32_t acked)
{
    if (!state.isCwndLimited || state.cwnd < m_inflightLongterm)
    {
        return;
    }
    m_probeUpAcked += acked;
    if (m_probeUpAcked >= m_probeUpStep)
    {
        const uint32_t steps = m_probeUpAcked / m_probeUpStep;
        m_probeUpAcked -= steps * m_probeUpStep;
        m_inflightLongterm += steps;
    }
    if (m_isRoundStart)
    {
        RaiseInflightSlope(state);
    }
}

void
Bbr3::RaiseInflightSlope(const SenderState& state)
{
    constexpr uint32_t MAX_ROUNDS = 30; // the draft's RaiseInflightLongtermSlope()
    m_probeUpStep = std::max(state.cwnd >> m_probeUpRounds, 1U);
    m_probeUpRounds = std::min(m_probeUpRounds + 1, MAX_ROUNDS);
}

uint32_t
Bbr3::GetInflightWithHeadroom() const
{
    if (m_inflightLongterm == BBR3_UNBOUNDED)
    {
        return BBR3_UNBOUNDED;
    }
    const double headroom = std::max(1., m_parameters.headroom * m_inflightLongterm);
    const double rest = std::max(m_inflightLongterm - headroom, 0.);
    return std::max(static_cast<uint32_t>(rest), m_minCwnd);
}

} // namespace tunnelcc
