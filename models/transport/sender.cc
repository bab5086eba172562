/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

#include "congestion/slow-start.h"

#include <algorithm>

namespace tunnelcc
{

Sender::Sender(const TcpSpec& spec,
               std::unique_ptr<CongestionControl> congestion,
               SegmentOutput& output)
    : m_spec(spec),
      m_congestion(std::move(congestion)),
      m_output(output),
      m_hasCongControl(m_congestion->HasCongControl()),
      m_wantsLosses(m_congestion->WantsLosses()),
      m_hasTimestamps(spec.HasTimestamps()),
      m_buffer(InitialSendBuffer(), spec.sendBuffer),
      m_rtt(spec.minRto),
      m_rate(m_state),
      m_prr(spec.prrSlowStart),
      m_pacer(spec.pacingQuantum),
      m_timer(this),
      m_pacingTimer(this)
{
    m_state.mss = spec.mss;
    m_state.cwnd = spec.initialWindow;
    if (m_wantsLosses)
    {
        m_board.KeepFlights();
    }
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
    // Algorithms with cong_control read tp->is_cwnd_limited itself.
    m_state.isCwndLimited = m_hasCongControl ? m_isCwndLimited : IsCwndLimited();
}

bool
Sender::IsCwndLimited() const
{
    // Linux tcp_is_cwnd_limited(): in slow start, half of the window is enough.
    return m_isCwndLimited || (m_state.InSlowStart() && m_state.cwnd < 2 * m_state.maxPacketsOut);
}

void
Sender::OnEstablished(int64_t now, int64_t rtt, uint32_t window)
{
    m_isEstablished = true;
    m_windowEdge = window;
    m_largestWindow = window;
    m_rtt.Sample(rtt, m_board.Una(), m_board.Nxt());
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
    if (m_buffer.Unsent() < m_spec.mss && m_board.InFlight() < m_state.cwnd &&
        m_board.LostOut() <= m_board.RetransmittedOut())
    {
        m_rate.MarkAppLimited(m_board.InFlight());
    }
    if (m_memory && m_memory->Suppresses(m_buffer.Queued()))
    {
        m_buffer.Shrink(std::max(m_buffer.Queued() / 2, TcpMemory::GUARANTEED));
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

uint64_t
Sender::InitialSendBuffer() const
{
    return m_spec.sendBufferPerSegment > 0 ? SendBufferFor(m_spec.initialWindow)
                                           : m_spec.sendBuffer;
}

uint64_t
Sender::SendBufferFor(uint32_t cwnd) const
{
    double segments = static_cast<double>(cwnd) * m_congestion->GetSendBufferFactor();
    return static_cast<uint64_t>(segments * m_spec.sendBufferPerSegment);
}

bool
Sender::MayExpandBuffer() const
{
    // Linux tcp_should_expand_sndbuf()
    return m_board.InFlight() < m_state.cwnd && (!m_memory || m_memory->LetsSendBuffersGrow());
}

bool
Sender::WakesWriter()
{
    // Linux tcp_new_space()
    if (m_buffer.WantsToExpand() && MayExpandBuffer())
    {
        m_buffer.Expand(SendBufferFor(std::max(m_state.cwnd, m_spec.initialWindow)));
    }
    return m_buffer.WakesWriter();
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
    m_lastSendTime = m_cwndTime = now;
    m_cwndUsed = 0;
}

void
Sender::TrySend(int64_t now)
{
    bool isPaced = Pacer::IsOn(m_state, m_counters.segments);
    if (isPaced && now < m_pacer.NextSend())
    {
        m_pacingTimer.Set(m_pacer.NextSend());
        if (m_board.InFlight() >= m_state.cwnd)
        {
            ValidateCwnd(now, true);
        }
        return;
    }
    uint32_t perBurst = SegmentsPerBurst();
    Burst burst = SendBurst(now, perBurst, isPaced);
    bool isLimited = burst.isLimited || m_board.InFlight() >= m_state.cwnd;
    if (burst.segments > 0 || isLimited)
    {
        ValidateCwnd(now, isLimited);
    }
    if (burst.segments == 0)
    {
        return;
    }
    ScheduleProbe(now);
    if (isPaced)
    {
        m_pacer.OnBurst(now, burst.bytes, m_state.pacingRate);
        if (burst.isRepair || burst.segments == perBurst)
        {
            m_pacingTimer.Set(m_pacer.NextSend());
        }
    }
}

uint32_t
Sender::SegmentsPerBurst() const
{
    // Linux tcp_tso_autosize(): without pacing, by the rate that it would have.
    double rate = m_state.pacingRate > 0 ? m_state.pacingRate : WindowPacing{}.GetRate(m_state);
    return m_pacer.BurstSegments(rate, m_state.mss, m_congestion->MinTsoSegments(m_state));
}

Sender::Burst
Sender::RepairBurst(int64_t now, uint32_t perBurst, uint64_t first)
{
    // Linux tcp_xmit_retransmit_queue(): pacing lets one buffer go at a time, which is what was
    // lost of neighbours that were sent together.
    Burst burst;
    burst.isRepair = true;
    std::optional<uint64_t> lost = first;
    const int64_t sentTime = m_board.At(first).sentTime;
    for (uint64_t number = first; lost == number && m_board.At(number).sentTime == sentTime &&
                                  burst.segments < perBurst && m_board.InFlight() < m_state.cwnd;
         ++number)
    {
        Retransmit(now, number);
        burst.bytes += m_board.At(number).length;
        ++burst.segments;
        lost = NextLost();
    }
    return burst;
}

Sender::Burst
Sender::SendBurst(int64_t now, uint32_t perBurst, bool isOne)
{
    if (auto lost = isOne ? NextLost() : std::nullopt)
    {
        return RepairBurst(now, perBurst, *lost);
    }
    Burst burst;
    uint32_t filled = 0; // segments of the current super-segment
    while (m_board.InFlight() < m_state.cwnd && !(isOne && burst.segments == perBurst))
    {
        uint64_t before = m_buffer.SentOffset();
        if (auto lost = NextLost())
        {
            Retransmit(now, *lost);
            burst.bytes += m_board.At(*lost).length;
        }
        else if (filled == 0 && DefersNew(now, perBurst))
        {
            burst.isLimited = CongestionRoom() < PeerRoom();
            break;
        }
        else if (SendNew(now, false, filled > 0 && CompletesBurst(filled, perBurst)))
        {
            burst.bytes += m_buffer.SentOffset() - before;
            filled = filled + 1 < perBurst ? filled + 1 : 0;
        }
        else
        {
            break;
        }
        ++burst.segments;
    }
    return burst;
}

bool
Sender::DefersNew(int64_t now, uint32_t perBurst) const
{
    // Linux tcp_tso_should_defer()
    constexpr int64_t RECENT = 1'000'000;  // ns
    constexpr uint64_t WINDOW_DIVISOR = 3; // sysctl tcp_tso_win_divisor
    bool isRecent = now - std::max(m_lastSendTime, m_pacer.NextSend()) <= RECENT;
    if (perBurst == 1 || !isRecent || m_state.caState >= CaState::RECOVERY ||
        m_board.PacketsOut() == 0)
    {
        return false;
    }
    uint64_t full = uint64_t{perBurst} * m_state.mss;
    uint64_t unsent = m_buffer.Unsent();
    if (unsent <= m_state.mss || (m_isClosing && unsent <= full))
    {
        return false;
    }
    uint64_t windows =
        std::min<uint64_t>(m_windowEdge - m_buffer.Acked(), uint64_t{m_state.cwnd} * m_state.mss);
    uint64_t room = std::min(PeerRoom(), CongestionRoom());
    if (room == 0 || room >= std::min(full, windows / WINDOW_DIVISOR))
    {
        return false;
    }
    int64_t nextAck = m_board.At(m_board.Una()).sentTime + m_state.srtt;
    return nextAck - now <= std::min(m_state.srtt / 2, m_spec.tsoDeferralLimit);
}

bool
Sender::CompletesBurst(uint32_t filled, uint32_t perBurst) const
{
    uint64_t two = 2 * uint64_t{m_spec.mss};
    return filled + 1 == perBurst || m_board.InFlight() + 1 >= m_state.cwnd ||
           m_buffer.Unsent() < two || PeerRoom() < two;
}

uint64_t
Sender::PeerRoom() const
{
    return m_windowEdge - std::min(m_windowEdge, m_buffer.SentOffset());
}

uint64_t
Sender::CongestionRoom() const
{
    return uint64_t{m_state.cwnd - std::min(m_state.cwnd, m_board.InFlight())} * m_state.mss;
}

uint16_t
Sender::NewSegmentLength(bool fillsWindow) const
{
    uint64_t unsent = m_buffer.Unsent();
    uint64_t length = std::min<uint64_t>(m_spec.mss, unsent);
    uint64_t room = PeerRoom();
    if (length > room)
    {
        // Avoid the silly window syndrome (RFC 9293, section 3.8.6.2.1).
        bool isHalf = m_board.PacketsOut() == 0 && 2 * room >= m_largestWindow;
        if (room == 0 || !(isHalf || fillsWindow))
        {
            return 0;
        }
        length = room;
    }
    bool isSmall = length < m_spec.mss;
    bool isSmallOut = m_lastSmall > m_board.Una();
    if (length == 0 || (isSmall && !m_spec.nodelay && !m_isClosing && isSmallOut))
    {
        return 0;
    }
    return static_cast<uint16_t>(length);
}

bool
Sender::SendNew(int64_t now, bool fillsWindow, bool isPushed)
{
    uint8_t flags = 0;
    const uint16_t length = NewSegmentLength(fillsWindow);
    if (length > 0)
    {
        // Linux: the end of what was written, and of a super-segment (commit 051ba67447de, 5.4).
        flags = isPushed || length == m_buffer.Unsent() ? Segment::PUSHED : 0;
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
    AnnounceTransmission(now);
    bool isIdle = m_board.PacketsOut() == 0;
    if (isIdle)
    {
        ArmRto(now, now);
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
Sender::Retransmit(int64_t now, uint64_t number, bool isProbe)
{
    AnnounceTransmission(now);
    if (number == m_board.Una() && m_reordering.deadline == NEVER)
    {
        ArmRto(now, now); // Linux tcp_xmit_retransmit_queue()
    }
    m_board.Retransmit(number);
    if (!isProbe)
    {
        m_undo.OnRetransmit(TimestampClock(now));
    }
    ++m_counters.retransmits;
    Transmit(now, number, m_board.At(number), false);
}

void
Sender::AnnounceTransmission(int64_t now)
{
    // Linux tcp_event_data_sent()
    if (m_board.InFlight() == 0)
    {
        SyncState();
        m_congestion->OnTransmitStart(m_state, now, now - m_lastSendTime);
    }
}

void
Sender::Transmit(int64_t now, uint64_t number, Segment& segment, bool isIdle)
{
    segment.sentTime = now;
    m_rate.OnSent(now, segment, isIdle);
    if (m_wantsLosses)
    {
        m_board.FlightAt(number) = {m_board.InFlight(), static_cast<uint32_t>(m_lost)};
    }
    m_prr.OnSent();
    ++m_counters.segments;
    m_lastSendTime = now;
    m_output.SendSegment(now, number, segment);
}

void
Sender::ValidateCwnd(int64_t now, bool isLimited)
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
    if (IsCwndLimited())
    {
        m_cwndUsed = 0;
        m_cwndTime = now;
        return;
    }
    m_cwndUsed = std::max(m_cwndUsed, out);
    if (!m_hasCongControl && now - m_cwndTime >= m_rtt.Rto())
    {
        ShrinkUnusedCwnd(now);
    }
}

void
Sender::ShrinkUnusedCwnd(int64_t now)
{
    // RFC 2861 as in Linux tcp_cwnd_application_limited(). As tcp_cong_avoid() sets the time anew
    // with each ACK of new data, windows shrink only where such ACKs stay away.
    m_cwndTime = now;
    if (m_state.caState != CaState::OPEN || m_buffer.IsWriterBlocked())
    {
        return;
    }
    uint32_t used = std::max(m_cwndUsed, m_spec.initialWindow);
    if (used < m_state.cwnd)
    {
        m_state.ssthresh = std::max(m_state.ssthresh, m_state.cwnd / 2 + m_state.cwnd / 4);
        m_state.cwnd = (m_state.cwnd + used) / 2;
    }
    m_cwndUsed = 0;
}

} // namespace tunnelcc
