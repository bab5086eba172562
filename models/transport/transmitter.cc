/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "transmitter.h"

#include "congestion/slow-start.h"

#include <algorithm>
#include <optional>

namespace tunnelcc
{

Transmitter::Transmitter(const TcpSpec& spec, const Parts& parts)
    : m_mss(spec.mss),
      m_deferralLimit(spec.tsoDeferralLimit),
      m_board(parts.board),
      m_buffer(parts.buffer),
      m_rate(parts.rate),
      m_window(parts.window),
      m_recovery(parts.recovery),
      m_pacer(parts.pacer),
      m_output(parts.output),
      m_peerWindow(spec.mss, spec.nodelay)
{
}

// Bursts ---------------------------------------------------------------------------------------

uint32_t
Transmitter::SegmentsPerBurst() const
{
    // Linux tcp_tso_autosize(): without pacing, by the rate that it would have.
    const TcpState& state = m_window.State();
    const double rate = state.pacingRate > 0 ? state.pacingRate : WindowPacing{}.GetRate(state);
    return m_pacer.BurstSegments(rate, state.mss, m_window.Algorithm().MinTsoSegments(state));
}

Transmitter::Burst
Transmitter::SendBurst(int64_t now, uint32_t perBurst, bool isOne)
{
    if (auto lost = isOne ? m_recovery.NextLost() : std::nullopt)
    {
        return RepairBurst(now, perBurst, *lost);
    }
    // Linux tcp_cwnd_test(): a super-segment is at most half of the window, so that two are in
    // flight.
    const uint32_t most = std::min(perBurst, std::max(m_window.State().cwnd / 2, 1U));
    Burst burst;
    uint32_t filled = 0; // segments of the current super-segment
    while (!m_window.IsFull() && !burst.isWhole)
    {
        const uint64_t before = m_buffer.SentOffset();
        if (auto lost = m_recovery.NextLost())
        {
            Retransmit(now, *lost);
            burst.bytes += m_board.At(*lost).length;
        }
        else if (filled == 0 && DefersNew(now, perBurst))
        {
            burst.isLimited = m_window.Room() < PeerRoom();
            break;
        }
        else if (SendNext(now, false, filled > 0 && CompletesBurst(filled, most)))
        {
            burst.bytes += m_buffer.SentOffset() - before;
            filled = filled + 1 < most ? filled + 1 : 0;
        }
        else
        {
            break;
        }
        ++burst.segments;
        burst.isWhole = isOne && burst.segments == most;
    }
    return burst;
}

Transmitter::Burst
Transmitter::RepairBurst(int64_t now, uint32_t perBurst, uint64_t first)
{
    // Linux tcp_xmit_retransmit_queue(): pacing lets one buffer go at a time, which is what was
    // lost of neighbours that were sent together.
    Burst burst;
    burst.isWhole = true;
    std::optional<uint64_t> lost = first;
    const int64_t sentTime = m_board.At(first).sentTime;
    for (uint64_t number = first; lost == number && m_board.At(number).sentTime == sentTime &&
                                  burst.segments < perBurst && !m_window.IsFull();
         ++number)
    {
        Retransmit(now, number);
        burst.bytes += m_board.At(number).length;
        ++burst.segments;
        lost = m_recovery.NextLost();
    }
    return burst;
}

bool
Transmitter::DefersNew(int64_t now, uint32_t perBurst) const
{
    // Linux tcp_tso_should_defer()
    constexpr int64_t RECENT = 1'000'000;  // ns
    constexpr uint64_t WINDOW_DIVISOR = 3; // sysctl tcp_tso_win_divisor
    const TcpState& state = m_window.State();
    const bool isRecent = now - std::max(m_lastSendTime, m_pacer.NextSend()) <= RECENT;
    if (perBurst == 1 || !isRecent || state.caState >= CaState::RECOVERY ||
        m_board.PacketsOut() == 0)
    {
        return false;
    }
    const uint64_t full = uint64_t{perBurst} * state.mss;
    const uint64_t unsent = m_buffer.Unsent();
    if (unsent <= state.mss || (m_isClosing && unsent <= full))
    {
        return false;
    }
    const uint64_t windows = std::min<uint64_t>(m_peerWindow.Edge() - m_buffer.Acked(),
                                                uint64_t{state.cwnd} * state.mss);
    const uint64_t room = std::min(PeerRoom(), m_window.Room());
    if (room == 0 || room >= std::min(full, windows / WINDOW_DIVISOR))
    {
        return false;
    }
    const int64_t nextAck = m_board.At(m_board.Una()).sentTime + state.srtt;
    return nextAck - now <= std::min(state.srtt / 2, m_deferralLimit);
}

bool
Transmitter::CompletesBurst(uint32_t filled, uint32_t most) const
{
    const uint64_t two = 2 * uint64_t{m_mss};
    return filled + 1 == most || m_board.InFlight() + 1 >= m_window.State().cwnd ||
           m_buffer.Unsent() < two || PeerRoom() < two;
}

// Segments -------------------------------------------------------------------------------------

bool
Transmitter::SendNext(int64_t now, bool fillsWindow, bool isPushed)
{
    uint8_t flags = 0;
    const uint16_t length = NextLength(fillsWindow);
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
    m_window.OnTransmit(now, now - m_lastSendTime);
    const bool isIdle = m_board.PacketsOut() == 0;
    const uint64_t number = m_board.Nxt();
    Segment& segment = m_board.Append(length, flags);
    m_buffer.OnSent(length);
    m_peerWindow.OnSent(number, length);
    Transmit(now, number, segment, isIdle);
    return true;
}

void
Transmitter::Retransmit(int64_t now, uint64_t number, bool isProbe)
{
    m_window.OnTransmit(now, now - m_lastSendTime);
    m_board.Retransmit(number);
    if (!isProbe)
    {
        m_recovery.OnRetransmit(now);
    }
    ++m_retransmits;
    Transmit(now, number, m_board.At(number), false);
}

void
Transmitter::Transmit(int64_t now, uint64_t number, Segment& segment, bool isIdle)
{
    segment.sentTime = now;
    m_isHeadSent |= number == m_board.Una();
    m_rate.OnSent(now, segment, isIdle);
    m_window.NoteFlight(number);
    m_recovery.OnTransmit();
    ++m_window.State().segmentsSent;
    m_lastSendTime = now;
    m_output.SendSegment(now, number, segment);
}

} // namespace tunnelcc
