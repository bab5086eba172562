/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Two jiffies at HZ 250, added to the tail loss probe's time-out (Linux TCP_TIMEOUT_MIN).
constexpr int64_t PROBE_MARGIN = 8'000'000;

} // namespace

Sender::Sender(const TcpSpec& spec,
               std::unique_ptr<CongestionControl> congestion,
               SegmentOutput& output)
    : m_spec(spec),
      m_congestion(std::move(congestion)),
      m_output(output),
      m_hasCongControl(m_congestion->HasCongControl()),
      m_buffer(spec.sendBuffer, spec.sendWakeFraction),
      m_rtt(spec.minRto),
      m_rate(m_state),
      m_pacer(spec.pacingQuantum),
      m_timer(this),
      m_pacingTimer(this)
{
    m_state.mss = spec.mss;
    m_state.cwnd = spec.initialWindow;
}

void
Sender::SyncState()
{
    m_state.inFlight = m_board.InFlight();
    m_state.lostOut = m_board.LostOut();
    m_state.sndUna = m_board.Una();
    m_state.sndNxt = m_board.Nxt();
    m_state.lost = m_lost;
    m_state.nextSendTime = m_pacer.NextSend();
    m_state.isCwndLimited = m_state.InSlowStart() ? m_state.cwnd < 2 * m_state.maxPacketsOut
                                                  : m_isCwndLimited;
}

void
Sender::OnEstablished(int64_t now, int64_t rtt, uint32_t window)
{
    m_isEstablished = true;
    m_windowEdge = window;
    m_rtt.Sample(rtt);
    m_state.srtt = m_rtt.Srtt();
    m_state.minRtt = rtt;
    m_state.lastRtt = rtt;
    m_state.deliveredTime = now;
    m_lastSendTime = now;
    SyncState();
    m_congestion->Init(m_state, now);
    TrySend(now);
    UpdateTimer(now);
}

uint64_t
Sender::Write(int64_t now, uint64_t bytes)
{
    // Linux tcp_rate_check_app_limited()
    if (m_buffer.Unsent() == 0 && m_board.InFlight() < m_state.cwnd &&
        m_board.LostOut() <= m_board.RetransmittedOut())
    {
        m_rate.MarkAppLimited(m_board.InFlight());
    }
    uint64_t accepted = m_buffer.Write(bytes);
    if (m_isEstablished)
    {
        CheckIdleRestart(now);
        TrySend(now);
        UpdateTimer(now);
    }
    return accepted;
}

void
Sender::Close(int64_t now)
{
    m_isClosing = true;
    if (m_isEstablished)
    {
        TrySend(now);
        UpdateTimer(now);
    }
}

void
Sender::CheckIdleRestart(int64_t now)
{
    // RFC 2861 and Linux tcp_slow_start_after_idle_check(), tcp_cwnd_restart(): halve the window
    // for each RTO of silence, down to the initial window.
    if (m_board.PacketsOut() > 0 || m_hasCongControl)
    {
        return;
    }
    int64_t idle = now - m_lastSendTime;
    int64_t rto = m_rtt.Rto();
    if (idle <= rto)
    {
        return;
    }
    uint32_t restart = std::min(m_spec.initialWindow, m_state.cwnd);
    m_state.ssthresh = std::max(m_state.ssthresh, m_state.cwnd / 2 + m_state.cwnd / 4);
    while (idle > rto && m_state.cwnd > restart)
    {
        m_state.cwnd /= 2;
        idle -= rto;
    }
    m_state.cwnd = std::max(m_state.cwnd, restart);
    m_lastSendTime = now;
}

// Sending ---------------------------------------------------------------------------------------

void
Sender::TrySend(int64_t now)
{
    bool isPaced = Pacer::IsOn(m_state, m_counters.segments);
    if (isPaced && now < m_pacer.NextSend())
    {
        m_pacingTimer.Set(m_pacer.NextSend());
        if (m_board.InFlight() >= m_state.cwnd)
        {
            ValidateCwnd(true);
        }
        return;
    }
    uint32_t quota = UINT32_MAX;
    if (isPaced)
    {
        quota = m_pacer.BurstSegments(m_state, m_congestion->MinTsoSegments(m_state));
    }
    uint64_t bytes = 0;
    uint32_t sent = SendBurst(now, quota, bytes);
    bool isLimited = m_board.InFlight() >= m_state.cwnd;
    if (sent > 0 || isLimited)
    {
        ValidateCwnd(isLimited);
    }
    if (sent > 0)
    {
        ScheduleProbe(now);
    }
    if (isPaced && sent > 0)
    {
        m_pacer.OnBurst(now, bytes, m_state.pacingRate);
        if (sent == quota)
        {
            m_pacingTimer.Set(m_pacer.NextSend());
        }
    }
}

uint32_t
Sender::SendBurst(int64_t now, uint32_t quota, uint64_t& bytes)
{
    uint32_t sent = 0;
    while (sent < quota && m_board.InFlight() < m_state.cwnd)
    {
        uint64_t before = m_buffer.SentOffset();
        if (auto lost = m_board.LostOut() > m_board.RetransmittedOut() ? m_board.NextLost()
                                                                       : std::nullopt)
        {
            Retransmit(now, *lost);
            bytes += m_board.At(*lost).length;
        }
        else if (SendNew(now))
        {
            bytes += m_buffer.SentOffset() - before;
        }
        else
        {
            break;
        }
        ++sent;
    }
    return sent;
}

std::optional<uint16_t>
Sender::NewSegmentLength() const
{
    uint64_t unsent = m_buffer.Unsent();
    uint64_t length = std::min<uint64_t>(m_spec.mss, unsent);
    uint64_t room = m_windowEdge - std::min(m_windowEdge, m_buffer.SentOffset());
    if (length > room)
    {
        // Avoid the silly window syndrome: wait for acknowledgements if any are to come.
        if (room == 0 || m_board.PacketsOut() > 0)
        {
            return std::nullopt;
        }
        length = room;
    }
    bool isSmall = length < m_spec.mss;
    bool isSmallOut = m_lastSmall > m_board.Una();
    if (length == 0 || (isSmall && !m_spec.nodelay && !m_isClosing && isSmallOut))
    {
        return std::nullopt;
    }
    return static_cast<uint16_t>(length);
}

bool
Sender::SendNew(int64_t now)
{
    uint8_t flags = 0;
    uint16_t length = 0;
    if (auto newLength = NewSegmentLength())
    {
        length = *newLength;
    }
    else if (m_isClosing && !m_isFinSent && m_buffer.Unsent() == 0)
    {
        m_isFinSent = true;
        flags = Segment::FIN;
    }
    else
    {
        return false;
    }
    bool isIdle = m_board.PacketsOut() == 0;
    if (isIdle)
    {
        SyncState();
        m_congestion->OnTransmitStart(m_state, now, now - m_lastSendTime);
        m_rtoDeadline = now + m_rtt.Rto();
    }
    uint64_t number = m_board.Nxt();
    Segment& segment = m_board.Append(length, flags);
    m_buffer.OnSent(length);
    if (length < m_spec.mss)
    {
        m_lastSmall = number + 1;
    }
    Transmit(now, number, segment, isIdle);
    return true;
}

void
Sender::Retransmit(int64_t now, uint64_t number)
{
    m_board.Retransmit(number);
    ++m_counters.retransmits;
    Transmit(now, number, m_board.At(number), false);
}

void
Sender::Transmit(int64_t now, uint64_t number, Segment& segment, bool isIdle)
{
    segment.sentTime = now;
    m_rate.OnSent(now, segment, isIdle);
    m_prr.OnSent();
    ++m_counters.segments;
    m_lastSendTime = now;
    m_output.SendSegment(now, number, segment);
}

void
Sender::ValidateCwnd(bool isLimited)
{
    // Linux tcp_cwnd_validate(): remember the most that a round of data had outstanding.
    uint32_t out = m_board.PacketsOut();
    if (m_board.Una() >= m_cwndUsageEnd || isLimited ||
        (!m_isCwndLimited && out > m_state.maxPacketsOut))
    {
        m_isCwndLimited = isLimited;
        m_state.maxPacketsOut = out;
        m_cwndUsageEnd = m_board.Nxt();
    }
}

// Acknowledgement -------------------------------------------------------------------------------

bool
Sender::OnAck(int64_t now, const Packet& packet, const SackBlocks* blocks)
{
    uint64_t ack = m_board.Expand(packet.segment);
    if (ack < m_board.Una() || ack > m_board.Nxt())
    {
        return false; // overtaken by a later ACK
    }
    AckEvent event;
    event.now = now;
    event.priorInFlight = m_board.InFlight();
    uint64_t lostBefore = m_lost;

    AckSummary summary = ProcessAcknowledgement(now, ack, packet, blocks);
    m_windowEdge = std::max(m_windowEdge, m_buffer.Acked() + packet.window);
    event.rtt = UpdateRtt(now, summary, packet.timestamp);
    event.ackedSacked = summary.delivered;
    event.cumAcked = summary.cumulative;
    event.rate = m_rate.OnAckEnd(now, summary.delivered > 0);
    if (packet.isDuplicate && !m_probeEnd)
    {
        m_rack.OnDuplicate(event.rate.priorDelivered, m_state.delivered);
    }
    if (m_board.LostOut() + m_board.SackedOut() + summary.delivered > 0)
    {
        DetectLoss(now);
    }
    if (m_probeEnd)
    {
        EndTailLossProbe(now, ack, packet.isDuplicate);
    }
    UpdateState(now, lostBefore);
    event.newlyLost = static_cast<uint32_t>(m_lost - lostBefore);
    RunCongestionControl(summary, event);

    if (RestartsRto(now, summary))
    {
        m_rtoDeadline = now + m_rtt.Rto();
        m_persistDeadline = NEVER;
    }
    TrySend(now);
    ScheduleProbe(now);
    UpdateTimer(now);
    return m_buffer.WakesWriter();
}

Sender::AckSummary
Sender::ProcessAcknowledgement(int64_t now,
                               uint64_t ack,
                               const Packet& packet,
                               const SackBlocks* blocks)
{
    AckSummary summary;
    uint64_t una = m_board.Una();
    m_rate.OnAckBegin();
    auto onDelivered = [&](uint64_t number, const Segment& segment, int64_t& oldest,
                           int64_t& latest) {
        ++summary.delivered;
        m_rate.OnDelivered(number, segment);
        m_rack.OnDelivered(now, number, segment, m_state.minRtt, m_board.Fack());
        if (!segment.Has(Segment::EVER_RETRANSMITTED))
        {
            oldest = oldest < 0 ? segment.sentTime : oldest;
            latest = segment.sentTime;
        }
    };
    m_board.AcknowledgeTo(
        ack,
        [&](uint64_t number, const Segment& segment) {
            summary.ackedRetransmitted |= segment.Has(Segment::EVER_RETRANSMITTED);
            onDelivered(number, segment, summary.oldestSent, summary.latestSent);
        },
        [&](const Segment& segment) { m_buffer.OnAcked(segment.length); });
    summary.cumulative = static_cast<uint32_t>(ack - una);
    for (uint32_t i = packet.isDuplicate; i < packet.sackBlocks; ++i)
    {
        m_board.Sack(m_board.Expand(blocks->begin[i]),
                     m_board.Expand(blocks->end[i]),
                     [&](uint64_t number, const Segment& segment) {
                         onDelivered(number, segment, summary.oldestSacked, summary.latestSacked);
                     });
    }
    return summary;
}

int64_t
Sender::UpdateRtt(int64_t now, const AckSummary& summary, uint32_t echo)
{
    // Linux tcp_clean_rtx_queue(), tcp_ack_update_rtt(): SRTT takes the oldest segment of the ACK,
    // the congestion control the latest. Karn's rule; where it leaves nothing, the timestamp echo.
    int64_t smoothed = -1;
    int64_t latest = -1;
    if (summary.oldestSent >= 0 && !summary.ackedRetransmitted)
    {
        smoothed = now - summary.oldestSent;
        latest = now - summary.latestSent;
    }
    if (summary.oldestSacked >= 0)
    {
        smoothed = smoothed < 0 ? now - summary.oldestSacked : smoothed;
        latest = now - summary.latestSacked;
    }
    constexpr int64_t MS = 1'000'000;
    constexpr uint32_t PLAIN_HEADERS = 40;
    if (smoothed < 0 && summary.cumulative > 0 && m_spec.headerBytes > PLAIN_HEADERS)
    {
        auto elapsed = static_cast<uint32_t>(now / MS) - echo;
        smoothed = latest = std::max<int64_t>(elapsed, 1) * MS;
    }
    if (smoothed < 0)
    {
        return -1;
    }
    m_rtt.Sample(smoothed);
    m_state.srtt = m_rtt.Srtt();
    m_state.minRtt = std::min(m_state.minRtt, latest);
    m_state.lastRtt = latest;
    return latest;
}

bool
Sender::RestartsRto(int64_t now, const AckSummary& summary)
{
    // Linux tcp_clean_rtx_queue(): progress of SND.UNA does, or a SACK of data sent after the head
    // of the queue was last transmitted; else SACKs could put off the time-out for ever.
    if (summary.cumulative > 0 || m_board.PacketsOut() == 0)
    {
        return summary.cumulative > 0;
    }
    const Segment& head = m_board.At(m_board.Una());
    return summary.oldestSacked >= 0 && summary.oldestSacked < head.sentTime;
}

void
Sender::DetectLoss(int64_t now)
{
    uint32_t waiting = m_board.LostOut() - m_board.RetransmittedOut();
    m_reorderingDeadline = m_rack.DetectLoss(now, m_board, m_state);
    m_lost += m_board.LostOut() - m_board.RetransmittedOut() - waiting;
}

void
Sender::EndTailLossProbe(int64_t now, uint64_t ack, bool isDuplicate)
{
    // Linux tcp_process_tlp_ack(), RFC 8985 section 7.4.2
    if (ack < m_probeEnd)
    {
        return;
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
Sender::UpdateState(int64_t now, uint64_t lostBefore)
{
    if (m_state.caState >= CaState::CWR && m_board.Una() >= m_recoveryEnd)
    {
        EndReduction(now);
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
Sender::RunCongestionControl(const AckSummary& summary, const AckEvent& event)
{
    SyncState();
    bool isReducing =
        m_state.caState == CaState::RECOVERY || m_state.caState == CaState::CWR;
    if (!m_hasCongControl && isReducing && summary.delivered > 0)
    {
        bool isSafe = summary.cumulative > 0 && event.newlyLost == 0;
        m_state.cwnd =
            m_prr.Cwnd(m_state.ssthresh, m_state.inFlight, summary.delivered, isSafe);
    }
    bool mayGrow = !isReducing && summary.cumulative > 0;
    m_congestion->OnAck(m_state, event, mayGrow);
}

// Recovery --------------------------------------------------------------------------------------

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

// Timers ----------------------------------------------------------------------------------------

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
    bool isWindowClosed = m_buffer.Unsent() > 0 && m_isEstablished &&
                          m_buffer.SentOffset() >= m_windowEdge;
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
    m_probeDeadline = deadline < m_rtoDeadline ? deadline : NEVER;
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
    uint32_t waiting = m_board.LostOut() - m_board.RetransmittedOut();
    m_rack.OnTimeout(now, m_board, m_state);
    m_lost += m_board.LostOut() - m_board.RetransmittedOut() - waiting;
    bool isNewEpisode = m_state.caState < CaState::CWR || m_board.Una() >= m_recoveryEnd;
    m_recoveryEnd = m_board.Nxt();
    if (isNewEpisode)
    {
        SyncState();
        m_state.ssthresh = m_congestion->GetSsThresh(m_state, now);
    }
    m_state.cwnd = m_board.InFlight() + 1;
    SetCaState(CaState::LOSS, now);
    m_rtoDeadline = now + m_rtt.Rto();
    TrySend(now);
}

void
Sender::OnPersistTimeout(int64_t now)
{
    m_rtt.BackOff();
    m_persistDeadline = now + m_rtt.Rto();
    m_output.SendWindowProbe(now);
}

} // namespace tunnelcc
