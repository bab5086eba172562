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
    const SenderState& state = m_window.State();
    const double rate = state.pacingRate > 0 ? state.pacingRate : WindowPacing{}.GetRate(state);
    return m_pacer.BurstSegments(rate, state.minRtt, m_window.Algorithm().MinTsoSegments(state));
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
        uint32_t sent = 1;
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
        else if ((sent = SendRun(now, filled, most)) > 0)
        {
            burst.bytes += m_buffer.SentOffset() - before;
            filled = filled + sent < most ? filled + sent : 0;
        }
        else
        {
            break;
        }
        burst.segments += sent;
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
    const SenderState& state = m_window.State();
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

// Segments -------------------------------------------------------------------------------------

uint32_t
Transmitter::FullSegments(uint32_t most) const
{
    const uint64_t bytes = std::min(m_buffer.UnsentTogether(), PeerRoom());
    return bytes >= uint64_t{most} * m_mss ? most : static_cast<uint32_t>(bytes / m_mss);
}

uint32_t
Transmitter::SendRun(int64_t now, uint32_t filled, uint32_t most)
{
    if (FullSegments(1) == 0)
    {
        return SendNext(now, false, filled > 0); // which ends the super-segment
    }
    m_window.OnTransmit(now, now - m_lastSendTime);
    const uint32_t room = m_window.State().cwnd - m_board.InFlight();
    const uint32_t count = FullSegments(std::min(most - filled, room));
    const bool isLast = m_buffer.Unsent() == uint64_t{count} * m_mss;
    const bool isPushed = filled + count > 1 || isLast;
    SendNew(now, static_cast<uint16_t>(m_mss), isPushed ? Segment::PUSHED : 0, count, filled > 0);
    return count;
}

bool
Transmitter::SendNext(int64_t now, bool fillsWindow, bool endsSuperSegment)
{
    uint8_t flags = 0;
    const uint16_t length = NextLength(fillsWindow);
    if (length > 0)
    {
        // Linux: the end of what was written, and of a super-segment (commit 051ba67447de, 5.4).
        flags = endsSuperSegment || length == m_buffer.Unsent() ? Segment::PUSHED : 0;
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
    SendNew(now, length, flags, 1, endsSuperSegment);
    return true;
}

void
Transmitter::SendProbe(int64_t now, uint16_t length)
{
    m_window.OnTransmit(now, now - m_lastSendTime);
    SendNew(now, length, length == m_buffer.Unsent() ? Segment::PUSHED : 0, 1, false);
}

void
Transmitter::SendNew(int64_t now, uint16_t length, uint8_t flags, uint32_t count, bool goesOn)
{
    const uint64_t first = m_board.Nxt();
    const uint64_t last = first + count - 1;
    Segment segment{};
    segment.length = length;
    m_rate.OnSent(now, segment, m_board.PacketsOut() == 0);
    m_board.Append(segment, count);
    m_board.At(last).flags |= flags | Segment::BUFFER_END;
    if (goesOn)
    {
        m_board.At(first - 1).flags &= ~Segment::BUFFER_END;
    }
    m_buffer.OnSent(uint64_t{count} * length, goesOn ? 0 : 1);
    m_peerWindow.OnSent(last, length);
    Transmit(now, first, count);
}

void
Transmitter::Retransmit(int64_t now, uint64_t number, bool isProbe)
{
    m_window.OnTransmit(now, now - m_lastSendTime);
    m_board.Retransmit(number);
    m_recovery.ForgetMtuProbe();
    if (!isProbe)
    {
        m_recovery.OnRetransmit(now);
    }
    ++m_retransmits;
    m_rate.OnSent(now, m_board.At(number), false);
    Transmit(now, number, 1);
}

void
Transmitter::Transmit(int64_t now, uint64_t first, uint32_t count)
{
    const uint64_t last = first + count - 1;
    m_isHeadSent |= first == m_board.Una();
    m_window.NoteFlights(last, count);
    m_recovery.OnTransmit(count);
    m_window.State().segmentsSent += count;
    m_lastSendTime = now;
    m_output.SendSegments(now, first, count, m_board.At(last));
}

} // namespace tunnelcc
