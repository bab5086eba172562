/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

#include <algorithm>
#include <optional>

/**
 * \file
 * When a sender enters recovery, leaves it, and takes it back.
 */
namespace tunnelcc
{

void
Sender::DetectLoss(int64_t now)
{
    uint32_t retransmittedBefore = m_board.RetransmittedOut();
    m_reordering = {
        m_rack.DetectLoss(now, m_board, m_state, [&](uint64_t number) { NoteLoss(now, number); }),
        now};
    m_hasLostRetransmission = m_board.RetransmittedOut() < retransmittedBefore;
}

void
Sender::UpdateState(int64_t now, const AckSummary& summary, const Acknowledgement& ack)
{
    // Linux tcp_fastretrans_alert()
    if (ack.isEce)
    {
        m_undo.Withhold();
    }
    auto echo = m_hasTimestamps ? std::optional(ack.tsEcr) : std::nullopt;
    bool isOriginalAcked = m_undo.IsOriginalAcked(echo);
    bool isNeedless = isOriginalAcked || m_undo.IsAllDuplicate();
    if (m_board.Una() >= m_recoveryEnd)
    {
        LeaveReduction(now, isNeedless);
    }
    switch (m_state.caState)
    {
    case CaState::RECOVERY:
        UpdateRecovery(now, summary, isOriginalAcked);
        break;
    case CaState::LOSS:
        UpdateLoss(now, summary, isNeedless);
        DetectLoss(now);
        if (m_hasLostRetransmission || m_state.caState != CaState::LOSS)
        {
            UpdateQuiet(now);
        }
        break;
    default:
        UpdateQuiet(now);
    }
    if (ack.isEce)
    {
        OnEcnEcho(now);
    }
}

void
Sender::LeaveReduction(int64_t now, bool isNeedless)
{
    if (m_state.caState == CaState::RECOVERY)
    {
        isNeedless ? UndoReduction(now) : EndReduction(now);
    }
    else if (m_state.caState == CaState::CWR && m_board.Una() > m_recoveryEnd)
    {
        // The first segment beyond the end tells the peer; until it is answered, echoes are old.
        EndReduction(now);
    }
}

void
Sender::UpdateRecovery(int64_t now, const AckSummary& summary, bool isOriginalAcked)
{
    if (summary.cumulative > 0 && isOriginalAcked)
    {
        // Linux tcp_try_undo_partial(): what was retransmitted had only been overtaken.
        m_rack.OnReordering(m_board.Una() - summary.cumulative, m_board.Fack());
        if (m_board.RetransmittedOut() > 0)
        {
            m_defersRetransmits = true; // the others may have been, too
            m_hasLostRetransmission = false;
            m_reordering.deadline = NEVER;
            return;
        }
        m_board.UnmarkLost();
        UndoReduction(now);
    }
    UndoDuplicates(now);
    DetectLoss(now);
    if (m_state.caState != CaState::RECOVERY && m_board.LostOut() > 0)
    {
        EnterReduction(now, CaState::RECOVERY);
    }
}

void
Sender::UpdateQuiet(int64_t now)
{
    if (m_state.caState <= CaState::DISORDER)
    {
        UndoDuplicates(now);
    }
    DetectLoss(now);
    if (m_board.LostOut() > 0)
    {
        m_defersRetransmits = false;
        EnterReduction(now, CaState::RECOVERY);
    }
    else if (m_state.caState != CaState::CWR)
    {
        KeepQuiet(now);
    }
}

void
Sender::UndoDuplicates(int64_t now)
{
    if (m_undo.IsAllDuplicate())
    {
        m_rack.OnNeedlessRecovery(); // Linux tcp_try_undo_dsack()
        UndoReduction(now);
    }
}

void
Sender::KeepQuiet(int64_t now)
{
    // Linux tcp_try_keep_open(), tcp_any_retrans_done()
    uint32_t left = m_board.SackedOut() + m_board.LostOut() + m_board.RetransmittedOut();
    bool hasRetransmitted =
        m_board.PacketsOut() > 0 && m_board.At(m_board.Una()).Has(Segment::EVER_RETRANSMITTED);
    if (m_board.RetransmittedOut() == 0 && !hasRetransmitted)
    {
        m_undo.ForgetRetransmissions();
    }
    CaState state = left > 0 || hasRetransmitted ? CaState::DISORDER : CaState::OPEN;
    if (state != m_state.caState)
    {
        SetCaState(state, now);
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
        m_defersRetransmits = NewSegmentLength() > 0;
        m_isFrtoOn = m_defersRetransmits;
    }
}

void
Sender::EndDeferral(int64_t now)
{
    if (m_state.caState == CaState::LOSS && m_board.Nxt() <= m_recoveryEnd)
    {
        m_isFrtoOn = false; // nothing new could be sent to test the path with
        TrySend(now);
    }
}

void
Sender::OnEcnEcho(int64_t now)
{
    // RFC 3168, section 6.1.2; Linux tcp_enter_cwr(): once a window of data, as for a loss; and
    // what was reduced stays so.
    m_undo.Withhold();
    if (m_state.caState < CaState::CWR)
    {
        m_owesCwr = true;
        m_undo.Disarm();
        EnterReduction(now, CaState::CWR);
    }
}

bool
Sender::IsOfProbe(uint64_t duplicate) const
{
    return m_probeEnd == duplicate + 1; // FLAG_DSACK_TLP
}

void
Sender::OnDuplicate(uint64_t number, bool isOfProbe)
{
    // Linux tcp_dsack_seen(), tcp_sacktag_one()
    m_undo.OnDuplicate(number);
    if (!isOfProbe)
    {
        m_rack.OnDuplicate();
    }
    const bool isOut = number >= m_board.Una() && number < m_board.Nxt();
    if (isOut && m_board.At(number).Has(Segment::SACKED) &&
        m_board.At(number).Has(Segment::EVER_RETRANSMITTED))
    {
        m_rack.OnReordering(number, m_board.Fack()); // the original was late, not lost
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
        m_undo.Withhold();
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
        m_cwndTime = now;
    }
    if (m_state.caState >= CaState::RECOVERY)
    {
        m_rack.OnRecoveryEnd(); // Linux tcp_try_undo_recovery()
    }
    KeepQuiet(now);
}

void
Sender::UndoReduction(int64_t now)
{
    // Linux tcp_undo_cwnd_reduction()
    ++m_counters.undos;
    SyncState();
    if (m_undo.Restores())
    {
        m_state.cwnd = m_congestion->GetUndoCwnd(m_state, m_undo.PriorCwnd());
        m_state.ssthresh = std::max(m_state.ssthresh, m_undo.PriorSsThresh());
    }
    m_cwndTime = now;
    m_undo.Disarm();
    m_isFrtoOn = false;
    if (m_state.caState >= CaState::CWR)
    {
        KeepQuiet(now);
    }
}

void
Sender::BeginUndo()
{
    // Linux tcp_init_undo(), tcp_current_ssthresh()
    uint32_t ssthresh = std::max(m_state.ssthresh, m_state.cwnd / 2 + m_state.cwnd / 4);
    uint32_t probes = m_probeEnd && m_probeRetransmitted;
    m_undo.Begin(m_board.Una(), m_board.RetransmittedOut() + probes, m_state.cwnd, ssthresh);
}

} // namespace tunnelcc
