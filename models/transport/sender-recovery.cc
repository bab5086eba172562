/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

#include <algorithm>

/**
 * \file
 * When a sender enters recovery, leaves it, and takes it back.
 */
namespace tunnelcc
{

void
Sender::DetectLoss(int64_t now)
{
    m_reordering = {
        m_rack.DetectLoss(now, m_board, m_state, [&](uint64_t number) { NoteLoss(now, number); }),
        now};
}

void
Sender::UpdateState(int64_t now, uint64_t lostBefore, const AckSummary& summary, uint32_t echo)
{
    // Linux tcp_fastretrans_alert()
    bool isOriginalAcked = m_hasTimestamps && m_undo.IsOriginalAcked(echo);
    bool isNeedless = isOriginalAcked || m_undo.IsAllDuplicate();
    if (m_state.caState == CaState::LOSS)
    {
        UpdateLoss(now, summary, isNeedless);
    }
    else if (m_state.caState == CaState::CWR)
    {
        // The first segment beyond the end tells the peer; until it is answered, echoes are old.
        if (m_board.Una() > m_recoveryEnd)
        {
            EndReduction(now);
        }
    }
    else if (m_state.caState == CaState::RECOVERY && m_board.Una() >= m_recoveryEnd)
    {
        isNeedless ? UndoReduction(now) : EndReduction(now);
    }
    else if (m_undo.IsAllDuplicate())
    {
        UndoReduction(now);
    }
    else if (m_state.caState == CaState::RECOVERY && isOriginalAcked && summary.cumulative > 0 &&
             m_board.RetransmittedOut() == 0)
    {
        m_board.UnmarkLost();
        UndoReduction(now);
    }
    if (m_state.caState >= CaState::RECOVERY)
    {
        return;
    }
    if (m_lost > lostBefore || m_board.LostOut() > 0)
    {
        EnterReduction(now, CaState::RECOVERY);
    }
    else if (m_state.caState != CaState::CWR)
    {
        CaState state = m_board.SackedOut() > 0 ? CaState::DISORDER : CaState::OPEN;
        if (state != m_state.caState)
        {
            SetCaState(state, now);
        }
    }
}

void
Sender::UpdateLoss(int64_t now, const AckSummary& summary, bool isNeedless)
{
    // Linux tcp_process_loss(); F-RTO with SACK, RFC 5682 section 3.1
    bool isAdvanced = summary.cumulative > 0;
    bool isSpurious = m_isFrtoOn && summary.deliveredOriginal;
    if ((isAdvanced && isNeedless) || isSpurious)
    {
        m_board.UnmarkLost();
        UndoReduction(now);
        return;
    }
    if (m_board.Una() >= m_recoveryEnd)
    {
        EndReduction(now);
        return;
    }
    if (!m_isFrtoOn)
    {
        return;
    }
    if (m_board.Nxt() > m_recoveryEnd)
    {
        m_isFrtoOn = summary.sacked == 0; // new data arrived and the old did not: the loss is real
    }
    else if (isAdvanced)
    {
        m_recoveryEnd = m_board.Nxt();
        m_defersRetransmits = NewSegmentLength().has_value();
        m_isFrtoOn = m_defersRetransmits;
    }
}

void
Sender::EndDeferral(int64_t now)
{
    m_defersRetransmits = false;
    if (m_board.Nxt() <= m_recoveryEnd)
    {
        m_isFrtoOn = false; // nothing new could be sent to test the path with
        TrySend(now);
    }
}

void
Sender::OnEcnEcho(int64_t now)
{
    // RFC 3168, section 6.1.2; Linux tcp_enter_cwr(): once a window of data, as for a loss.
    if (m_state.caState < CaState::CWR)
    {
        m_owesCwr = true;
        EnterReduction(now, CaState::CWR);
    }
}

bool
Sender::IsOfProbe(uint64_t duplicate) const
{
    return m_probeEnd == duplicate + 1; // FLAG_DSACK_TLP
}

void
Sender::OnDuplicate(uint64_t number, bool isOfProbe, const RateSample& rate)
{
    // Linux tcp_dsack_seen()
    m_undo.OnDuplicate(number);
    if (!isOfProbe)
    {
        m_rack.OnDuplicate(rate.priorDelivered, m_state.delivered);
    }
}

void
Sender::EndTailLossProbe(int64_t now, uint64_t ack, bool isDuplicate)
{
    // Linux tcp_process_tlp_ack(), RFC 8985 section 7.4.2
    if (ack < m_probeEnd)
    {
        return;
    }
    if (m_probeRetransmitted && !isDuplicate && ack == m_probeEnd)
    {
        return; // of the original or of the probe: a D-SACK or the next ACK will tell
    }
    bool hasLoss = m_probeRetransmitted && !isDuplicate;
    m_probeEnd = 0;
    if (hasLoss && m_state.caState < CaState::CWR)
    {
        EnterReduction(now, CaState::CWR);
        EndReduction(now);
    }
}

void
Sender::SetCaState(CaState state, int64_t now)
{
    SyncState();
    m_congestion->OnCaState(m_state, state, now);
    m_state.caState = state;
    if (state == CaState::OPEN)
    {
        m_undo.ForgetRetransmissions();
    }
}

void
Sender::EnterReduction(int64_t now, CaState state)
{
    if (state == CaState::RECOVERY)
    {
        BeginUndo();
    }
    if (m_state.caState == CaState::CWR)
    {
        SetCaState(state, now); // the window is being reduced already
        return;
    }
    m_recoveryEnd = m_board.Nxt();
    m_probeEnd = 0;
    m_prr.Begin(m_state.cwnd);
    SyncState();
    m_state.ssthresh = m_congestion->GetSsThresh(m_state, now);
    SetCaState(state, now);
}

void
Sender::EndReduction(int64_t now)
{
    bool wasLoss = m_state.caState == CaState::LOSS;
    if (!m_hasCongControl && !wasLoss && m_state.ssthresh < INFINITE_SSTHRESH)
    {
        m_state.cwnd = m_state.ssthresh;
    }
    m_rack.OnRecoveryEnd();
    SetCaState(m_board.SackedOut() > 0 ? CaState::DISORDER : CaState::OPEN, now);
}

void
Sender::UndoReduction(int64_t now)
{
    // Linux tcp_undo_cwnd_reduction()
    ++m_counters.undos;
    SyncState();
    m_state.cwnd = m_congestion->GetUndoCwnd(m_state, m_undo.PriorCwnd());
    m_state.ssthresh = std::max(m_state.ssthresh, m_undo.PriorSsThresh());
    m_undo.Disarm();
    m_isFrtoOn = false;
    if (m_state.caState >= CaState::CWR)
    {
        m_rack.OnRecoveryEnd();
        SetCaState(m_board.SackedOut() > 0 ? CaState::DISORDER : CaState::OPEN, now);
    }
}

void
Sender::BeginUndo()
{
    // Linux tcp_init_undo(), tcp_current_ssthresh()
    uint32_t ssthresh = std::max(m_state.ssthresh, m_state.cwnd / 2 + m_state.cwnd / 4);
    m_undo.Begin(m_board.Una(), m_board.RetransmittedOut(), m_state.cwnd, ssthresh);
}

} // namespace tunnelcc
