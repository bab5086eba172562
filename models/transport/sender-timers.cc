/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

#include <algorithm>

/**
 * \file
 * A sender's time-outs: reordering, tail loss probe, retransmission, window probe, pacing.
 */
namespace tunnelcc
{

namespace
{

/// Two jiffies at HZ 250, added to the tail loss probe's time-out (Linux TCP_TIMEOUT_MIN).
constexpr int64_t PROBE_MARGIN = 8'000'000;

} // namespace

void
Sender::OnPacingTimer(int64_t now)
{
    TrySend(now);
    UpdateTimer(now);
}

void
Sender::UpdateTimer(int64_t now)
{
    if (m_board.PacketsOut() > 0)
    {
        int64_t deadline = std::min({m_rtoDeadline, m_reorderingDeadline, m_probeDeadline});
        if (deadline != m_timer.Deadline())
        {
            m_timer.Set(deadline);
        }
        return;
    }
    bool isWindowClosed = m_buffer.Unsent() > 0 && m_isEstablished && !NewSegmentLength();
    if (!isWindowClosed)
    {
        m_persistDeadline = NEVER;
        m_timer.Cancel();
        return;
    }
    if (m_persistDeadline == NEVER)
    {
        m_persistDeadline = now + m_rtt.Rto();
    }
    m_timer.Set(m_persistDeadline);
}

void
Sender::OnTimer(int64_t now)
{
    if (m_board.PacketsOut() == 0)
    {
        OnPersistTimeout(now);
    }
    else if (m_reorderingDeadline <= now)
    {
        OnReorderingTimeout(now);
    }
    else if (m_probeDeadline <= now)
    {
        OnProbeTimeout(now);
    }
    else if (m_rtoDeadline <= now)
    {
        OnRetransmissionTimeout(now);
    }
    UpdateTimer(now);
}

void
Sender::OnReorderingTimeout(int64_t now)
{
    uint64_t lostBefore = m_lost;
    DetectLoss(now);
    if (m_lost == lostBefore)
    {
        return;
    }
    if (m_state.caState < CaState::RECOVERY)
    {
        EnterReduction(now, CaState::RECOVERY);
        if (!m_hasCongControl)
        {
            m_state.cwnd = m_prr.Cwnd(m_state.ssthresh, m_board.InFlight(), 1, false);
        }
    }
    TrySend(now);
}

void
Sender::ScheduleProbe(int64_t now)
{
    // Linux tcp_schedule_loss_probe(), RFC 8985 section 7.2
    m_probeDeadline = NEVER;
    uint32_t out = m_board.PacketsOut();
    if (out == 0 || m_probeEnd || m_state.caState != CaState::OPEN)
    {
        return;
    }
    int64_t deadline = now + 2 * m_state.srtt + (out == 1 ? m_spec.minRto : PROBE_MARGIN);
    m_probeDeadline = std::min(deadline, m_rtoDeadline);
}

void
Sender::OnProbeTimeout(int64_t now)
{
    m_probeDeadline = NEVER;
    ++m_counters.tailLossProbes;
    m_probeRetransmitted = !SendNew(now);
    if (m_probeRetransmitted)
    {
        uint64_t last = m_board.Nxt() - 1;
        if (m_board.At(last).Has(Segment::SACKED | Segment::LOST))
        {
            return;
        }
        Retransmit(now, last);
    }
    m_probeEnd = m_board.Nxt();
    m_rtoDeadline = now + m_rtt.Rto();
}

void
Sender::OnRetransmissionTimeout(int64_t now)
{
    // Linux tcp_retransmit_timer(), tcp_enter_loss()
    ++m_counters.rtos;
    m_rtt.BackOff();
    m_reorderingDeadline = m_probeDeadline = NEVER;
    m_probeEnd = 0;
    m_rack.OnTimeout(now, m_board, m_state, [&](uint64_t number) { NoteLoss(now, number); });
    bool isNewEpisode = m_state.caState < CaState::CWR || m_board.Una() >= m_recoveryEnd;
    m_recoveryEnd = m_board.Nxt();
    m_isFrtoOn = true;
    if (isNewEpisode)
    {
        BeginUndo();
        SyncState();
        m_state.ssthresh = m_congestion->GetSsThresh(m_state, now);
    }
    m_state.cwnd = m_board.InFlight() + 1;
    SetCaState(CaState::LOSS, now);
    m_rtoDeadline = now + m_rtt.Rto();
    Retransmit(now, m_board.Una());
}

void
Sender::OnPersistTimeout(int64_t now)
{
    // Linux tcp_write_wakeup(): what room there is is used, however little.
    if (SendNew(now, true))
    {
        m_persistDeadline = NEVER;
        return;
    }
    m_rtt.BackOff();
    m_persistDeadline = now + m_rtt.Rto();
    m_output.SendWindowProbe(now);
}

} // namespace tunnelcc
