/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "loss-recovery.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

LossRecovery::LossRecovery(const TcpSpec& spec, Scoreboard& board, CongestionWindow& window)
    : m_hasTimestamps(spec.HasTimestamps()),
      m_board(board),
      m_window(window),
      m_prr(spec.prrSlowStart)
{
    m_window.SetReduction(*this);
}

bool
LossRecovery::MayProbe() const
{
    return GetCaState() == CaState::OPEN || GetCaState() == CaState::CWR;
}

bool
LossRecovery::TakeCwr()
{
    return std::exchange(m_owesCwr, false);
}

void
LossRecovery::DetectLoss(int64_t now)
{
    const uint32_t retransmittedBefore = m_board.RetransmittedOut();
    m_reorderingDeadline = m_rack.DetectLoss(now, m_board, m_window.State(), [&](uint64_t number) {
        m_window.OnLost(now, number);
    });
    m_hasLostRetransmission = m_board.RetransmittedOut() < retransmittedBefore;
}

// ACKs -----------------------------------------------------------------------------------------

bool
LossRecovery::OnDuplicate(uint64_t number)
{
    // Linux tcp_dsack_seen(), tcp_sacktag_one()
    const bool isOfProbe = m_probe.Is(number);
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
    return isOfProbe;
}

void
LossRecovery::EndProbe(int64_t now, bool isDuplicate)
{
    if (m_probe.OnAck(m_board.Una(), isDuplicate) && GetCaState() < CaState::CWR)
    {
        EnterReduction(now, CaState::CWR);
        EndReduction(now);
    }
}

void
LossRecovery::UpdateState(int64_t now,
                          const AckSummary& summary,
                          const Acknowledgement& ack,
                          bool mayTestWithNew)
{
    // Linux tcp_fastretrans_alert()
    if (ack.isEce)
    {
        m_undo.Withhold();
    }
    const auto echo = m_hasTimestamps ? std::optional(ack.tsEcr) : std::nullopt;
    const bool isOriginalAcked = m_undo.IsOriginalAcked(echo);
    const bool isNeedless = isOriginalAcked || m_undo.IsAllDuplicate();
    if (m_board.Una() >= m_recoveryEnd)
    {
        LeaveReduction(now, isNeedless);
    }
    switch (GetCaState())
    {
    case CaState::RECOVERY:
        UpdateRecovery(now, summary, isOriginalAcked);
        break;
    case CaState::LOSS:
        UpdateLoss(now, summary, isNeedless, mayTestWithNew);
        DetectLoss(now);
        if (m_hasLostRetransmission || GetCaState() != CaState::LOSS)
        {
            UpdateQuiet(now);
        }
        break;
    default:
        UpdateQuiet(now);
    }
    if (ack.isEce)
    {
        EnterCwr(now);
    }
}

void
LossRecovery::LeaveReduction(int64_t now, bool isNeedless)
{
    if (GetCaState() == CaState::RECOVERY)
    {
        isNeedless ? UndoReduction(now) : EndReduction(now);
    }
    else if (GetCaState() == CaState::CWR && m_board.Una() > m_recoveryEnd)
    {
        // The first segment beyond the end tells the peer; until it is answered, echoes are old.
        EndReduction(now);
    }
}

void
LossRecovery::UpdateRecovery(int64_t now, const AckSummary& summary, bool isOriginalAcked)
{
    if (summary.cumulative > 0 && isOriginalAcked)
    {
        // Linux tcp_try_undo_partial(): what was retransmitted had only been overtaken.
        m_rack.OnReordering(m_board.Una() - summary.cumulative, m_board.Fack());
        if (m_board.RetransmittedOut() > 0)
        {
            m_defersRetransmits = true; // the others may have been, too
            m_hasLostRetransmission = false;
            m_reorderingDeadline = NEVER;
            return;
        }
        m_board.UnmarkLost();
        UndoReduction(now);
    }
    UndoDuplicates(now);
    DetectLoss(now);
    if (GetCaState() != CaState::RECOVERY && m_board.LostOut() > 0)
    {
        EnterReduction(now, CaState::RECOVERY);
    }
}

void
LossRecovery::UpdateQuiet(int64_t now)
{
    if (GetCaState() <= CaState::DISORDER)
    {
        UndoDuplicates(now);
    }
    DetectLoss(now);
    if (m_board.LostOut() > 0)
    {
        m_defersRetransmits = false;
        if (!m_mtuSearch || !IsProbeLost(now))
        {
            EnterReduction(now, CaState::RECOVERY);
        }
    }
    else if (GetCaState() != CaState::CWR)
    {
        KeepQuiet(now);
    }
}

void
LossRecovery::UpdateLoss(int64_t now,
                         const AckSummary& summary,
                         bool isNeedless,
                         bool mayTestWithNew)
{
    // Linux tcp_process_loss(); F-RTO with SACK, RFC 5682 section 3.1
    const bool isAdvanced = summary.cumulative > 0;
    const bool isSpurious = m_isFrtoOn && summary.deliveredOriginal;
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
        m_defersRetransmits = m_isFrtoOn = mayTestWithNew;
    }
}

bool
LossRecovery::IsProbeLost(int64_t now)
{
    // Linux tcp_fastretrans_alert()
    if (GetCaState() >= CaState::CWR || m_mtuSearch->Probe() != m_board.Una())
    {
        return false;
    }
    m_mtuSearch->OnLost();
    m_window.Set(now, m_window.State().cwnd + 1); // as much as the probe took
    OnTooLarge(now, m_window.State().mss);
    return true;
}

bool
LossRecovery::EndDeferral()
{
    const bool hasDeferred = std::exchange(m_defersRetransmits, false);
    if (!hasDeferred || GetCaState() != CaState::LOSS || m_board.Nxt() > m_recoveryEnd)
    {
        return false;
    }
    m_isFrtoOn = false; // nothing new could be sent to test the path with
    return true;
}

bool
LossRecovery::ReduceWindow(const AckSummary& summary, uint32_t newlyLost)
{
    const bool isReducing = GetCaState() == CaState::RECOVERY || GetCaState() == CaState::CWR;
    if (isReducing && !m_window.HasCongControl() && summary.delivered > 0)
    {
        Prr::Progress progress;
        progress.isLossless = summary.cumulative > 0 && newlyLost == 0;
        progress.isRepaired = summary.ackedRetransmitted && !m_hasLostRetransmission;
        SenderState& state = m_window.State();
        state.cwnd = m_prr.Cwnd(state.ssthresh, state.inFlight, summary.delivered, progress);
    }
    // Linux tcp_may_raise_cwnd(): with much reordering, SACKs are progress, too.
    const bool isProgress =
        summary.cumulative > 0 || (summary.sacked > 0 && m_rack.IsReorderingHigh());
    return !isReducing && isProgress;
}

void
LossRecovery::EnterCwr(int64_t now)
{
    // RFC 3168, section 6.1.2; Linux tcp_enter_cwr(): once a window of data, as for a loss; and
    // what was reduced stays so.
    m_undo.Withhold();
    if (GetCaState() < CaState::CWR)
    {
        m_undo.Disarm();
        EnterReduction(now, CaState::CWR);
    }
}

// Time-outs ------------------------------------------------------------------------------------

bool
LossRecovery::OnReorderingTimeout(int64_t now)
{
    // Linux tcp_rack_reo_timeout(): until the next ACK there is no second look.
    const uint64_t lostBefore = m_window.Lost();
    DetectLoss(now);
    m_reorderingDeadline = NEVER;
    if (m_window.Lost() == lostBefore)
    {
        return false;
    }
    if (GetCaState() != CaState::RECOVERY) // also out of LOSS
    {
        EnterReduction(now, CaState::RECOVERY);
        if (!m_window.HasCongControl())
        {
            SenderState& state = m_window.State();
            state.cwnd = m_prr.Cwnd(state.ssthresh, m_board.InFlight(), 1, {});
        }
    }
    return true;
}

void
LossRecovery::OnTimeout(int64_t now)
{
    // Linux tcp_enter_loss()
    m_reorderingDeadline = NEVER;
    if (GetCaState() <= CaState::DISORDER)
    {
        m_rack.OnTimeoutInDisorder(m_board.SackedOut());
    }
    m_rack.OnTimeout(now, m_board, m_window.State(), [&](uint64_t number) {
        m_window.OnLost(now, number);
    });
    const bool isRepeated = m_timedOut == m_board.Una(); // icsk_retransmits
    const bool isNewEpisode = GetCaState() < CaState::CWR || m_board.Una() >= m_recoveryEnd ||
                              (GetCaState() == CaState::LOSS && !isRepeated);
    m_recoveryEnd = m_board.Nxt();
    m_isFrtoOn = GetCaState() < CaState::RECOVERY || isRepeated;
    m_timedOut = m_board.Una();
    if (isNewEpisode)
    {
        BeginUndo();
        m_window.LowerThreshold(now);
    }
    m_probe.Cancel();
    m_window.Set(now, m_board.InFlight() + 1);
    m_window.SetCaState(CaState::LOSS, now);
    m_owesCwr = true;
}

void
LossRecovery::OnTooLarge(int64_t now, uint32_t mss)
{
    for (uint64_t number = m_board.Una(); number < m_board.Nxt(); ++number)
    {
        const Segment& segment = m_board.At(number);
        if (segment.length > mss && Scoreboard::IsInFlight(segment))
        {
            m_board.MarkLost(number);
            m_window.OnLost(now, number);
        }
    }
    if (m_board.LostOut() == 0 || GetCaState() == CaState::LOSS)
    {
        return;
    }
    SenderState& state = m_window.State();
    state.ssthresh = std::max(state.ssthresh, state.cwnd / 2 + state.cwnd / 4);
    m_recoveryEnd = m_board.Nxt();
    m_isFrtoOn = false;
    m_probe.Cancel();
    m_undo.Disarm();
    m_window.SetCaState(CaState::LOSS, now);
}

// Reductions -----------------------------------------------------------------------------------

void
LossRecovery::EnterReduction(int64_t now, CaState state)
{
    if (state == CaState::RECOVERY)
    {
        BeginUndo();
    }
    if (GetCaState() == CaState::CWR)
    {
        m_undo.Withhold();
        m_window.SetCaState(state, now); // the window is being reduced already
        return;
    }
    m_recoveryEnd = m_board.Nxt();
    m_probe.Cancel();
    m_prr.Begin(m_window.State().cwnd);
    m_window.LowerThreshold(now);
    m_window.SetCaState(state, now);
    m_owesCwr = true; // Linux tcp_init_cwnd_reduction(), as after a time-out tcp_enter_loss()
}

void
LossRecovery::EndReduction(int64_t now)
{
    if (!m_window.HasCongControl() && GetCaState() != CaState::LOSS)
    {
        m_window.EndReduction(now);
    }
    if (GetCaState() >= CaState::RECOVERY)
    {
        m_rack.OnRecoveryEnd(); // Linux tcp_try_undo_recovery()
    }
    KeepQuiet(now);
}

void
LossRecovery::KeepQuiet(int64_t now)
{
    // Linux tcp_try_keep_open(), tcp_any_retrans_done()
    const uint32_t left = m_board.SackedOut() + m_board.LostOut() + m_board.RetransmittedOut();
    const bool hasRetransmitted = IsHeadRetransmitted();
    if (m_board.RetransmittedOut() == 0 && !hasRetransmitted)
    {
        m_undo.ForgetRetransmissions();
    }
    const CaState state = left > 0 || hasRetransmitted ? CaState::DISORDER : CaState::OPEN;
    if (state != GetCaState())
    {
        m_window.SetCaState(state, now);
    }
}

void
LossRecovery::BeginUndo()
{
    // Linux tcp_init_undo(), tcp_current_ssthresh()
    const SenderState& state = m_window.State();
    const uint32_t ssthresh = std::max(state.ssthresh, state.cwnd / 2 + state.cwnd / 4);
    const uint32_t probes = m_probe.IsRetransmissionOut();
    m_undo.Begin(m_board.Una(), m_board.RetransmittedOut() + probes, state.cwnd, ssthresh);
}

void
LossRecovery::UndoReduction(int64_t now)
{
    // Linux tcp_undo_cwnd_reduction()
    ++m_undos;
    m_window.Sync();
    if (m_undo.Restores())
    {
        m_window.Restore(m_undo.PriorCwnd(), m_undo.PriorSsThresh());
        m_owesCwr = false;
    }
    m_window.Touch(now);
    m_undo.Disarm();
    m_isFrtoOn = false;
    if (GetCaState() >= CaState::CWR)
    {
        KeepQuiet(now);
    }
}

void
LossRecovery::UndoDuplicates(int64_t now)
{
    if (m_undo.IsAllDuplicate())
    {
        m_rack.OnNeedlessRecovery(); // Linux tcp_try_undo_dsack()
        UndoReduction(now);
    }
}

} // namespace tunnelcc
