/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "kcp-endpoint.h"

#include "event/time-units.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

constexpr uint32_t MOST_PROBE_WAIT = 120'000; // ms

} // namespace

KcpEndpoint::KcpEndpoint(EventLoop& loop,
                         const KcpSpec& spec,
                         End end,
                         const Channel& channel,
                         const KcpPhase& phase)
    : m_spec(spec),
      m_behaviour(KcpBehaviour::Of(spec.generation)),
      m_phase(phase),
      m_channel(channel),
      m_sender(spec, spec.sendWindow[end], spec.room - KcpSegment::HEADER_BYTES),
      m_receiver(spec.receiveWindow[end]),
      m_tick(loop, this)
{
    if (m_spec.fec)
    {
        m_encoder.emplace(loop, *m_spec.fec, m_fecLog, static_cast<ShardSender&>(*this));
    }
}

void
KcpEndpoint::Join(KcpEndpoint& a, KcpEndpoint& b)
{
    for (auto [end, peer] : {std::pair(&a, &b), std::pair(&b, &a)})
    {
        end->m_peer = peer;
        if (end->m_spec.fec)
        {
            end->m_decoder.emplace(*end->m_spec.fec, peer->m_fecLog);
        }
    }
}

uint32_t
KcpEndpoint::Clock(int64_t now) const
{
    return static_cast<uint32_t>((now + m_phase.clock) / MS);
}

void
KcpEndpoint::Start(int64_t now)
{
    m_establishedTime = now;
    m_tick.Set(now + m_phase.flush);
}

void
KcpEndpoint::Connect(int64_t now)
{
    Start(now);
    if (m_user)
    {
        m_user->OnOpen(now);
    }
}

uint64_t
KcpEndpoint::Write(int64_t now, uint64_t bytes)
{
    if (!m_sender.HasRoom())
    {
        m_isBlocked = true;
        NoteLimit(now);
        return 0;
    }
    m_sender.Write(bytes);
    m_idle = SendLimit::APPLICATION;
    if (m_behaviour.writesFlush)
    {
        Flush(now);
    }
    return bytes;
}

void
KcpEndpoint::NoteIdle(int64_t now, SendLimit why)
{
    m_idle = why;
    NoteLimit(now);
}

void
KcpEndpoint::Read(int64_t /* now */, uint64_t bytes)
{
    m_tellsWindow |= m_receiver.Read(bytes);
}

// Receiving -------------------------------------------------------------------------------------

void
KcpEndpoint::Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */)
{
    if (m_isDecoding)
    {
        Input(now, packet, m_isRegular);
        m_isRegular = false; // what else it delivers, parity brought back
        return;
    }
    bool isNew = m_establishedTime < 0;
    if (isNew)
    {
        if (packet.kind == PacketKind::FEC && packet.IsParity())
        {
            return; // does not say to which session it belongs
        }
        Start(now);
    }
    if (packet.kind == PacketKind::DATAGRAM)
    {
        Input(now, packet, true);
    }
    else
    {
        m_isDecoding = true;
        m_isRegular = !packet.IsParity();
        m_decoder->Receive(now, packet);
        m_isDecoding = false;
    }
    if (isNew && m_user)
    {
        m_user->OnOpen(now);
    }
    TellUser(now);
}

void
KcpEndpoint::Input(int64_t now, const Packet& packet, bool isRegular)
{
    KcpLog& log = m_peer->m_log;
    const KcpDatagram* datagram = log.Find(packet.segment);
    if (!datagram)
    {
        return; // as if it were lost
    }
    if (isRegular)
    {
        m_sender.SetPeerWindow(datagram->window);
    }
    const uint32_t una = m_sender.Una();
    bool hasAdvanced = m_sender.OnUna(datagram->una);
    bool hasResend = false;
    bool hasAck = false;
    uint32_t ackTime = 0;
    uint32_t highest = 0;
    for (uint32_t i = 0; i < datagram->items; ++i)
    {
        const KcpSegment& segment = log.ItemOf(*datagram, i);
        switch (segment.command)
        {
        case KcpCommand::ACK:
            m_sender.OnAck(segment.number);
            if (m_behaviour.countsEachAck)
            {
                hasResend |= m_sender.CountFor(segment.number, segment.time);
            }
            if (m_behaviour.countsEachAck || !hasAck ||
                static_cast<int32_t>(segment.number - highest) > 0)
            {
                ackTime = segment.time;
                highest = segment.number;
            }
            hasAck = true;
            break;
        case KcpCommand::PUSH:
            m_receiver.OnPush(segment.number, segment.time, segment.length);
            break;
        case KcpCommand::WINDOW_ASK:
            m_tellsWindow = true;
            break;
        case KcpCommand::WINDOW_TELL:
            break;
        }
    }
    log.OnArrival(packet.segment);
    if (hasAck && isRegular)
    {
        if (!m_behaviour.countsEachAck)
        {
            m_sender.CountFor(highest, ackTime);
        }
        m_sender.OnSample(Clock(now) - ackTime);
    }
    if (m_spec.congestion && m_sender.Una() != una)
    {
        m_sender.GrowWindow();
    }
    if ((hasAdvanced && m_behaviour.advanceFlushes) || (hasResend && m_behaviour.resendFlushes))
    {
        Flush(now);
    }
    else if (m_behaviour.fullListFlushes &&
             m_receiver.Acks().size() >= m_spec.room / KcpSegment::HEADER_BYTES)
    {
        FlushAcks(now);
    }
}

void
KcpEndpoint::TellUser(int64_t now)
{
    if (m_user && m_receiver.Readable() > 0)
    {
        m_user->OnReadable(now);
    }
    if (m_behaviour.inputWakesWriter)
    {
        WakeWriter(now);
    }
}

void
KcpEndpoint::WakeWriter(int64_t now)
{
    if (m_isBlocked && m_user && m_sender.HasRoom())
    {
        m_isBlocked = false;
        m_user->OnWritable(now);
    }
}

// Sending ---------------------------------------------------------------------------------------

void
KcpEndpoint::OnTick(int64_t now)
{
    Flush(now);
    auto interval = static_cast<uint32_t>(m_spec.interval / MS);
    uint32_t wait =
        m_behaviour.clockHeedsTimeouts ? m_sender.TimeToTimeout(Clock(now), interval) : interval;
    m_tick.Set(now + wait * MS);
    WakeWriter(now);
}

void
KcpEndpoint::Flush(int64_t now)
{
    BeginFlush();
    ListAcks(now);
    ListProbes(now);
    uint32_t clock = Clock(now);
    for (const KcpSender::Transmission& sent : m_sender.Flush(clock))
    {
        List(now, {sent.number, clock, sent.length, KcpCommand::PUSH});
    }
    SendDatagram(now);
    NoteLimit(now);
}

void
KcpEndpoint::NoteLimit(int64_t now)
{
    // A writer that blocks waits for a window, too: it counts what waits for the next flush.
    const bool isFull = m_isBlocked || m_sender.IsWindowFull();
    m_limits.Set(now, isFull ? m_sender.LeastWindow() : m_idle);
}

void
KcpEndpoint::FlushAcks(int64_t now)
{
    BeginFlush();
    ListAcks(now);
    ListProbes(now);
    m_sender.MoveIntoWindow(); // they are sent at the next flush
    SendDatagram(now);
}

void
KcpEndpoint::BeginFlush()
{
    m_una = m_receiver.Next();
    m_window = m_receiver.Window();
}

void
KcpEndpoint::ListAcks(int64_t now)
{
    auto& acks = m_receiver.Acks();
    for (size_t i = 0; i < acks.size(); ++i)
    {
        // What lies below UNA needs no ACK of its own. The last one gives the round-trip time.
        bool isAbove = static_cast<int32_t>(acks[i].number - m_una) >= 0;
        if (isAbove || i + 1 == acks.size())
        {
            List(now, {acks[i].number, acks[i].time, 0, KcpCommand::ACK});
        }
    }
    acks.clear();
}

void
KcpEndpoint::ListProbes(int64_t now)
{
    if (m_sender.PeerWindow() > 0)
    {
        m_probeWait = 0;
    }
    else if (m_probeWait == 0)
    {
        m_probeWait = m_behaviour.firstProbe;
        m_probeTime = Clock(now) + m_probeWait;
    }
    else if (static_cast<int32_t>(Clock(now) - m_probeTime) >= 0)
    {
        m_probeWait = std::min(m_probeWait + m_probeWait / 2, MOST_PROBE_WAIT);
        m_probeTime = Clock(now) + m_probeWait;
        List(now, {0, 0, 0, KcpCommand::WINDOW_ASK});
    }
    if (m_tellsWindow)
    {
        m_tellsWindow = false;
        List(now, {0, 0, 0, KcpCommand::WINDOW_TELL});
    }
}

void
KcpEndpoint::List(int64_t now, const KcpSegment& segment)
{
    uint32_t bytes = KcpSegment::HEADER_BYTES + segment.length;
    if (m_bytes + bytes > m_spec.room)
    {
        SendDatagram(now);
    }
    if (m_bytes == 0)
    {
        m_datagram = &m_log.Open({{}, m_una, m_window});
    }
    m_log.Append(*m_datagram) = segment;
    m_bytes += bytes;
}

void
KcpEndpoint::SendDatagram(int64_t now)
{
    if (m_bytes == 0)
    {
        return;
    }
    uint32_t bytes = m_bytes;
    m_bytes = 0;
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.segment = static_cast<uint32_t>(m_log.Newest());
    packet.sink = m_peer;
    if (m_encoder)
    {
        m_encoder->Send(now, packet, bytes, nullptr);
        return;
    }
    packet.datagramBytes = m_spec.header + bytes;
    m_wire.bytes += packet.datagramBytes;
    m_channel.Send(now, packet, packet.datagramBytes);
}

void
KcpEndpoint::SendShard(int64_t now, Packet& shard, uint32_t bytes)
{
    uint32_t ipBytes = m_spec.header + bytes;
    shard.sink = m_peer;
    m_wire.bytes += ipBytes;
    if (shard.IsParity())
    {
        m_wire.parityBytes += ipBytes;
        ++m_wire.parity;
    }
    m_channel.Send(now, shard, ipBytes);
}

} // namespace tunnelcc
