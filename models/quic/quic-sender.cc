/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-sender.h"

#include <utility>

namespace tunnelcc
{

namespace
{

/// Least bytes of frames, PADDING among them: header protection takes its sample of 16 bytes 4
/// bytes behind the begin of the packet number (RFC 9001, section 5.4.2), which has 2 bytes in all
/// programs of the catalogue, and the tag has 16.
constexpr uint32_t LEAST_FRAMES = 2;

} // namespace

QuicSender::QuicSender(EventLoop& loop,
                       const QuicSpec& spec,
                       End end,
                       const Channel& channel,
                       std::unique_ptr<CongestionControl> algorithm,
                       QuicContents& contents,
                       QuicHandshake& handshake,
                       AckTracker& acks,
                       uint32_t path)
    : m_spec(spec),
      m_overhead(spec.packets.overhead[end]),
      m_channel(channel),
      m_contents(contents),
      m_handshake(handshake),
      m_acks(acks),
      m_path(path),
      m_detection(spec.loss, spec.acks.delay, m_history),
      m_congestion(spec, end, std::move(algorithm), m_history),
      m_search(spec.packets, end),
      m_lossTimer(loop, this),
      m_sendTimer(loop, this),
      m_ackTimer(loop, this)
{
}

// Sending ---------------------------------------------------------------------------------------

bool
QuicSender::SendAll(int64_t now)
{
    if (m_isSending)
    {
        return false;
    }
    m_isSending = true;
    bool hasSent = false;
    while (SendOne(now))
    {
        hasSent = true;
        m_contents.OnPacketSent(now);
    }
    m_isSending = false;
    SetTimers(now);
    return hasSent;
}

bool
QuicSender::SendOne(int64_t now)
{
    if (m_detection.ProbesDue() > 0)
    {
        SendProbe(now);
        return true;
    }
    if (SendHandshakePacket(now))
    {
        return true;
    }
    const bool hasRoom = m_congestion.HasRoom();
    if (!hasRoom || m_congestion.NextSend(now) > now)
    {
        NoteLimit(now, hasRoom ? SendLimit::PACING : SendLimit::CONGESTION_WINDOW);
        return m_acks.IsDue(now) && SendPacket(now, true);
    }
    if (m_isHandshakeDone && m_search.IsDue(now, m_detection.Rtt().Smoothed()))
    {
        SendMtuProbe(now);
        return true;
    }
    return SendPacket(now, false);
}

bool
QuicSender::SendHandshakePacket(int64_t now)
{
    if (!m_handshake.HasPacket())
    {
        return false;
    }
    const uint64_t number = m_handshake.Take();
    m_history.AddFrame({number, 0, 0, QuicFrameKind::CRYPTO, false});
    // Its size is known with the ACK in it.
    Transmit(now, m_handshake.SizeOf(number), m_acks.HasNew());
    return true;
}

void
QuicSender::SendProbe(int64_t now)
{
    m_detection.OnProbe();
    uint64_t oldest = m_history.Oldest();
    while (oldest != QuicPacket::NONE && m_history.At(oldest).isRepeated)
    {
        oldest = m_history.At(oldest).next;
    }
    if (oldest != QuicPacket::NONE)
    {
        QuicPacket& packet = m_history.At(oldest);
        packet.isRepeated = true;
        if (packet.isMtuProbe)
        {
            m_search.OnLost();
        }
        Repeat(packet);
        if (m_spec.loss.probedLose || packet.isMtuProbe)
        {
            m_history.Settle(packet, QuicPacketFate::LOST);
        }
    }
    if (SendHandshakePacket(now))
    {
        return;
    }
    const uint32_t ack = m_acks.HasNew() ? m_acks.FrameBytes(now) : 0;
    uint32_t frames =
        m_contents.AddFrames(now, m_path, m_search.Size() - m_overhead - ack, ack > 0);
    if (m_history.NewFrames() == 0)
    {
        m_history.AddFrame({}); // PING
        frames = ack > 0 ? 1 : LEAST_FRAMES;
    }
    Transmit(now, m_overhead + ack + frames, ack > 0);
}

void
QuicSender::SendMtuProbe(int64_t now)
{
    m_history.AddFrame({}); // PING, then padding
    Transmit(now, m_search.Begin(now), false);
    m_history.At(m_history.Next() - 1).isMtuProbe = true;
}

bool
QuicSender::SendPacket(int64_t now, bool isAckOnly)
{
    const bool hasAck =
        m_acks.HasNew() && (isAckOnly || m_contents.TakesAckAlong() || m_acks.IsDue(now));
    const uint32_t ack = hasAck ? m_acks.FrameBytes(now) : 0;
    uint32_t frames =
        isAckOnly ? 0
                  : m_contents.AddFrames(now, m_path, m_search.Size() - m_overhead - ack, hasAck);
    if (m_history.NewFrames() > 0)
    {
        m_acksAlone = 0;
    }
    else if (!m_acks.IsDue(now))
    {
        NoteLimit(now, m_contents.LimitOfData(m_path));
        return false;
    }
    else if (m_spec.acks.alone > 0 && m_acksAlone++ == m_spec.acks.alone)
    {
        m_history.AddFrame({}); // PING: the peer's ACK will end the list of ranges
        frames = 1;
        m_acksAlone = 0;
    }
    Transmit(now, m_overhead + ack + frames, ack > 0);
    return true;
}

void
QuicSender::Transmit(int64_t now, uint32_t bytes, bool hasAck)
{
    const bool isIdle = m_history.InFlight() == 0;
    const uint64_t number = m_history.Next();
    QuicPacket& sent = hasAck ? m_history.Send(m_acks.Ranges().All(), m_acks.Ranges().Version())
                              : m_history.Send();
    sent.bytes = static_cast<uint16_t>(bytes);
    sent.sample.sentTime = now;
    if (hasAck)
    {
        sent.ackDelay = m_acks.Delay(now);
        m_acks.OnSent();
    }
    if (sent.fate == QuicPacketFate::OUTSTANDING)
    {
        m_history.CountInFlight(sent);
        m_congestion.OnSent(now, sent, isIdle);
        m_detection.OnSent(now);
        CountData(sent);
    }
    else
    {
        m_congestion.OnAckSent(now, sent);
    }
    const uint32_t ipBytes = m_spec.packets.header + bytes;
    m_counters.bytes += ipBytes;
    ++m_counters.all;
    if (ipBytes > m_spec.packets.mtu)
    {
        return; // it may not be fragmented (RFC 9000, section 14)
    }
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.segment = static_cast<uint32_t>(number);
    packet.datagramBytes = ipBytes;
    packet.sink = m_peer;
    m_channel.Send(now, packet, ipBytes);
}

void
QuicSender::CountData(const QuicPacket& packet)
{
    bool hasData = false;
    bool isAgain = false;
    for (uint32_t i = 0; i < packet.frames; ++i)
    {
        const QuicFrame& frame = m_history.FrameOf(packet, i);
        hasData |= frame.kind == QuicFrameKind::STREAM || frame.kind == QuicFrameKind::DATAGRAM;
        isAgain |= frame.isAgain;
    }
    m_counters.packets += hasData;
    m_counters.retransmits += isAgain;
}

void
QuicSender::NoteLimit(int64_t now, SendLimit limit)
{
    if (limit == SendLimit::APPLICATION && m_isHandshakeDone)
    {
        m_congestion.MarkAppLimited();
    }
    const bool isIdle = limit == SendLimit::APPLICATION;
    m_limits.Set(now, isIdle ? m_idle : limit, m_detection.Rtt().Smoothed());
    if (!isIdle)
    {
        m_idle = SendLimit::APPLICATION;
    }
}

void
QuicSender::NoteIdle(int64_t now, SendLimit why)
{
    if (m_limits.Get() == SendLimit::APPLICATION)
    {
        m_idle = why;
        m_limits.Set(now, why);
    }
}

// What becomes of packets -----------------------------------------------------------------------

void
QuicSender::OnHandshakeDone(int64_t now)
{
    m_isHandshakeDone = true;
    m_detection.OnHandshakeDone();
    m_congestion.Init(now, m_detection.Rtt());
    m_search.Start(now);
}

void
QuicSender::OnAck(int64_t now, const QuicPacket& ack, const PacketHistory& peer)
{
    const uint64_t priorBytes = m_history.BytesInFlight();
    Settle(now, m_detection.OnAck(now, ack, peer), priorBytes);
}

void
QuicSender::Settle(int64_t now, const LossDetection::Outcome& outcome, uint64_t priorBytes)
{
    for (uint64_t number : outcome.lost)
    {
        QuicPacket& packet = m_history.At(number);
        if (packet.isMtuProbe)
        {
            m_search.OnLost();
        }
        if (!packet.isRepeated)
        {
            Repeat(packet);
        }
    }
    for (uint64_t number : outcome.acked)
    {
        const QuicPacket& packet = m_history.At(number);
        if (packet.isMtuProbe)
        {
            m_search.OnAcked();
            m_congestion.SetPacketBytes(m_search.Size());
        }
        if (packet.ranges > 0)
        {
            m_acks.OnAckOfAck(m_history.RangeOf(packet, packet.ranges - 1U).end - 1);
        }
        for (uint32_t i = 0; i < packet.frames && !packet.isRepeated; ++i)
        {
            m_contents.OnFrameAcked(m_history.FrameOf(packet, i));
        }
    }
    m_congestion.OnOutcome(now, outcome, m_detection.Rtt(), priorBytes);
}

void
QuicSender::Repeat(QuicPacket& packet)
{
    for (uint32_t i = 0; i < packet.frames; ++i)
    {
        m_contents.OnFrameLost(m_path, m_history.FrameOf(packet, i));
    }
}

uint64_t
QuicSender::RepeatAll()
{
    uint64_t bytes = 0;
    for (uint64_t number = m_history.Oldest(); number != QuicPacket::NONE;)
    {
        QuicPacket& packet = m_history.At(number);
        number = packet.next;
        if (std::exchange(packet.isRepeated, true))
        {
            continue;
        }
        for (uint32_t i = 0; i < packet.frames; ++i)
        {
            const QuicFrame& frame = m_history.FrameOf(packet, i);
            bytes += frame.kind == QuicFrameKind::STREAM ? frame.length : 0;
        }
        Repeat(packet);
    }
    return bytes;
}

// Timers ----------------------------------------------------------------------------------------

void
QuicSender::SetTimers(int64_t now)
{
    m_lossTimer.Set(m_detection.Deadline());
    m_ackTimer.Set(m_acks.Deadline());
    if (m_limits.Get() == SendLimit::PACING)
    {
        m_sendTimer.Set(m_congestion.NextSend(now));
    }
}

void
QuicSender::OnLossTime(int64_t now)
{
    if (m_detection.Deadline() > now)
    {
        SetTimers(now);
        return;
    }
    const uint64_t priorBytes = m_history.BytesInFlight();
    Settle(now, m_detection.OnTimer(now), priorBytes);
    if (m_detection.ProbesDue() > 0 && m_isHandshakeDone)
    {
        m_history.Skip(); // a gap gets an ACK at once (quic-go v0.60.0, OnLossDetectionTimeout())
        m_contents.OnProbeTimeout(m_path);
    }
    m_contents.SendMore(now);
}

void
QuicSender::OnSendTime(int64_t now)
{
    m_contents.SendMore(now);
}

void
QuicSender::OnAckTime(int64_t now)
{
    m_contents.SendMore(now);
}

} // namespace tunnelcc
