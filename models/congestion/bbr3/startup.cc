/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr3/bbr3.h"

#include <algorithm>
#include <cmath>

/**
 * \file
 * STARTUP and DRAIN of BBRv3 (draft-ietf-ccwg-bbr, sections 5.3.1 and 5.3.2).
 */

namespace tunnelcc
{

void
Bbr3::CheckFullPipe(const Flight& flight)
{
    if (m_isRoundStart && !flight.isAppLimited)
    {
        m_fullPipe.EndRound(flight.bandwidth,
                            m_parameters.fullPipeGrowth,
                            m_parameters.fullPipeRounds);
        m_isPipeFull = m_isPipeFull || m_fullPipe.IsFull();
    }
}

void
Bbr3::CheckStartupDone(SenderState& state, const Flight& flight)
{
    CheckStartupHighLoss(state, flight);
    if (m_mode == Mode::STARTUP && m_isPipeFull)
    {
        m_mode = Mode::DRAIN;
        m_drainStartRound = m_roundCount;
        // As in Linux, for those who watch; BBR itself makes no use of it.
        state.ssthresh = GetInflight(state, GetBandwidth(), 1);
    }
}

void
Bbr3::CheckStartupHighLoss(const SenderState& state, const Flight& flight)
{
    if (!m_signals.IsRoundStart())
    {
        return;
    }
    // Rounds of loss begin with the first loss, so that recovery has lasted for one.
    if (!m_isPipeFull && state.caState == CaState::RECOVERY &&
        m_lossRanges >= m_parameters.startupLossRanges && IsInflightTooHigh(flight))
    {
        m_hasUndoMode = true;
        m_undoMode = Mode::STARTUP;
        m_isPipeFull = true;
        const auto bdp = static_cast<uint32_t>(std::ceil(GetBdp(GetBandwidth(), 1)));
        m_inflightLongterm = std::max(bdp, m_signals.GetInflight());
    }
    m_lossRanges = 0;
}

void
Bbr3::CheckDrainDone(const SenderState& state, int64_t now)
{
    if (m_mode == Mode::DRAIN && (state.inFlight <= GetInflight(state, GetBandwidth(), 1) ||
                                  m_roundCount > m_drainStartRound + m_parameters.drainMaxRounds))
    {
        StartDown(state, now);
    }
}

} // namespace tunnelcc
