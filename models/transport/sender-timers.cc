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

/// Added to the time-outs of reordering and of the tail loss probe (Linux TCP_TIMEOUT_MIN_US, since
/// 6.6 and the stable kernels of October 2023).
constexpr int64_t TIMEOUT_MARGIN = 2'000'000;

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
        int64_t deadline = std::min({m_rto.deadline, m_reordering.deadline, m_probe.deadline});
        if (deadline != m_timer.Deadline())
        {
            m_timer.Set(deadline);
        }
        return;
    }
    bool isWindowClosed = m_buffer.Unsent() > 0 && m_isEstablished && NewSegmentLength() == 0;
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
    else if (int64_t expiry = Expiry(now); expiry > now)
    {
        m_timer.Set(expiry);
        return;
    }
    else if (m_reordering.deadline <= now)
    {
        OnReorderingTimeout(now);
    }
    else if (m_probe.deadline <= now)
    {
        OnProbeTimeout(now);
    }
    else if (m_rto.deadline <= now)
    {
        OnRetransmissionTimeout(now);
    }
    UpdateTimer(now);
}

int64_t
Sender::Expiry(int64_t now)
{
    // Linux sets one timer at a time, which ticks in jiffies. That is looked into only here, once a
    // deadline has passed, because ACKs put most of them off.
    TimerWheel wheel(m_spec.jiffy);
    if (m_reordering.deadline <= now)
    {
        return wheel.Expiry(m_reordering.set, m_rack.LastDeadline(m_board) + TIMEOUT_MARGIN);
    }
    const Alarm& alarm = m_probe.deadline <= now ? m_probe : m_rto;
    return wheel.Expiry(alarm.set, alarm.deadline);
}

void
Sender::ArmRto(int64_t now, int64_t since)
{
    m_rto = {std::max(since + m_rtt.Rto(), now + 1), now};
}

int64_t
Sender::HeadTime(int64_t now) const
{
    return m_board.PacketsOut() > 0 ? m_board.At(m_board.Una()).sentTime : now;
}

void
Sender::OnReorderingTimeout(int64_t now)
{
    // Linux tcp_rack_reo_timeout(): until the next ACK there is no second look.
    uint64_t lostBefore = m_lost;
    DetectLoss(now);
    m_reordering.deadline = NEVER;
    ArmRto(now, HeadTime(now));
    if (m_lost == lostBefore)
    {
        return;
    }
    if (m_state.caState < CaState::RECOVERY)
    {
        EnterReduction(now, CaState::RECOVERY);
        if (!m_hasCongControl)
        {
            m_state.cwnd = m_prr.Cwnd(m_state.ssthresh, m_board.InFlight(), 1, {});
        }
    }
    TrySend(now);
}

void
Sender::ScheduleProbe(int64_t now)
{
    // Linux tcp_schedule_loss_probe(), RFC 8985 section 7.2
    m_probe.deadline = NEVER;
    uint32_t out = m_board.PacketsOut();
    if (out == 0 || m_probeEnd || !MayProbe())
    {
        return;
    }
    int64_t deadline = now + 2 * m_state.srtt + (out == 1 ? m_spec.minRto : TIMEOUT_MARGIN);
    m_probe = {std::min(deadline, m_rto.deadline), now};
}

bool
Sender::MayProbe() const
{
    return m_state.caState == CaState::OPEN || m_state.caState == CaState::CWR;
}

void
Sender::OnProbeTimeout(int64_t now)
{
    m_probe.deadline = NEVER;
    ++m_counters.tailLossProbes;
    m_probeRetransmitted = !SendNew(now);
    if (m_probeRetransmitted)
    {
        uint64_t last = m_board.Nxt() - 1;
        if (m_board.At(last).Has(Segment::SACKED | Segment::LOST))
        {
            return;
        }
        Retransmit(now, last, true);
    }
    m_probeEnd = m_board.Nxt();
    ArmRto(now, now);
}

void
Sender::OnRetransmissionTimeout(int64_t now)
{
    // Linux tcp_retransmit_timer(), tcp_enter_loss()
    ++m_counters.rtos;
    m_rtt.BackOff();
    m_reordering.deadline = m_probe.deadline = NEVER;
    if (m_state.caState <= CaState::DISORDER)
    {
        m_rack.OnTimeoutInDisorder(m_board.SackedOut());
    }
    m_rack.OnTimeout(now, m_board, m_state, [&](uint64_t number) { NoteLoss(now, number); });
    bool isRepeated = m_timedOut == m_board.Una(); // icsk_retransmits
    bool isNewEpisode = m_state.caState < CaState::CWR || m_board.Una() >= m_recoveryEnd ||
                        (m_state.caState == CaState::LOSS && !isRepeated);
    m_recoveryEnd = m_board.Nxt();
    m_isFrtoOn = m_state.caState < CaState::RECOVERY || isRepeated;
    m_timedOut = m_board.Una();
    if (isNewEpisode)
    {
        BeginUndo();
        SyncState();
        m_state.ssthresh = m_congestion->GetSsThresh(m_state, now);
    }
    m_probeEnd = 0;
    m_state.cwnd = m_board.InFlight() + 1;
    m_cwndTime = now;
    SetCaState(CaState::LOSS, now);
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
