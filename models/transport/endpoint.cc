/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "endpoint.h"

#include "packet-size.h"

#include <algorithm>
#include <optional>

namespace tunnelcc
{

namespace
{

/// The bits of a packet of this kind, all others 0.
PacketBits
BitsOf(PacketKind kind)
{
    PacketBits bits{};
    bits.kind = kind;
    return bits;
}

/// Write what every packet has but its time, one member after the other, as Channel::SendRun()
/// needs it.
[[gnu::always_inline]] inline void
Begin(Packet& packet, PacketSink* sink, PacketBits bits)
{
    packet.sink = sink;
    static_cast<PacketBits&>(packet) = bits;
}

} // namespace

TcpEndpoint::TcpEndpoint(EventLoop& loop,
                         const TcpSpec& spec,
                         const Channel& channel,
                         std::unique_ptr<CongestionControl> congestion)
    : m_spec(spec),
      m_channel(channel),
      m_sender(loop, spec, std::move(congestion), *this),
      m_receiver(spec),
      m_receiveRtt(spec.receiveGrowth == ReceiveGrowth::OUT_OF_ORDER, spec.mss),
      m_acks(loop, m_spec, m_sender.Rtt(), *this),
      m_handshake(loop, spec.synLinearTimeouts, *this)
{
    MtuSource* source = m_channel.GetMtuSource();
    if (source)
    {
        source->BelongTo(m_mtuEar, spec.headerBytes);
    }
    m_sender.SetPath(source, spec.headerBytes);
}

void
TcpEndpoint::Join(TcpEndpoint& a, TcpEndpoint& b)
{
    a.SetPeer(b);
    b.SetPeer(a);
}

Packet
TcpEndpoint::MakePacket(PacketKind kind) const
{
    Packet packet{};
    packet.sink = m_peer;
    packet.kind = kind;
    return packet;
}

// Handshake -------------------------------------------------------------------------------------

void
TcpEndpoint::Connect(int64_t now)
{
    m_sender.OnConnecting(now);
    m_handshake.Connect(now);
}

void
TcpEndpoint::SendSyn(int64_t now, bool isAnswer)
{
    Packet packet = MakePacket(isAnswer ? PacketKind::SYN_ACK : PacketKind::SYN);
    packet.synWindow = m_receiver.Window();
    packet.tsVal = TimestampClock(now);
    packet.tsEcr = m_echo;
    uint32_t bytes = IpBytes(packet, m_spec);
    bytes += m_dataLevel ? m_dataLevel->HandshakeBytes(packet) : 0;
    m_wire.ackBytes += bytes;
    m_channel.Send(now, packet, bytes);
}

void
TcpEndpoint::OnSyn(int64_t now, const Packet& packet)
{
    m_peerWindow = packet.synWindow;
    m_echo = m_peerClock = packet.tsVal;
    if (!m_spec.serverNodelay)
    {
        m_sender.UseNagle();
    }
    m_sender.OnConnecting(now);
    m_handshake.Accept(now);
}

void
TcpEndpoint::OnSynAck(int64_t now, const Packet& packet)
{
    m_peerWindow = packet.synWindow;
    m_echo = m_peerClock = packet.tsVal;
    SendAck(now);
    Establish(now, packet);
}

bool
TcpEndpoint::ShakeHands(int64_t now, const Packet& packet)
{
    using State = TcpHandshake::State;
    if (packet.kind == PacketKind::SYN)
    {
        OnSyn(now, packet);
        return false;
    }
    switch (m_handshake.GetState())
    {
    case State::CLOSED: // it was given up
        return false;
    case State::SYN_RECEIVED:
        Establish(now, packet);
        return true;
    default:
        if (packet.kind == PacketKind::SYN_ACK)
        {
            OnSynAck(now, packet);
            return false;
        }
        return true;
    }
}

void
TcpEndpoint::Establish(int64_t now, const Packet& packet)
{
    m_isEstablished = true;
    m_handshake.Establish(now);
    m_receiver.OnEstablished(now);
    bool hasEcho = packet.kind != PacketKind::WINDOW_PROBE && m_spec.HasTimestamps();
    std::optional<uint32_t> echo = hasEcho ? std::optional(packet.tsEcr) : std::nullopt;
    if (m_handshake.LostSyns(echo))
    {
        m_sender.BeginWithOneSegment();
    }
    m_sender.OnEstablished(now, m_handshake.Rtt(now, echo), m_peerWindow);
    if (m_sender.NeedsEcn())
    {
        m_ecnEcho.MirrorMarks();
        m_isL4s = m_sender.IsL4s();
    }
    if (m_user)
    {
        m_user->OnOpen(now);
    }
}

// Data ------------------------------------------------------------------------------------------

void
TcpEndpoint::Receive(int64_t now, const Packet& packet, const PacketExtras* extras)
{
    if (!m_isEstablished && !ShakeHands(now, packet))
    {
        return;
    }
    switch (packet.kind)
    {
    case PacketKind::DATA: {
        // As in Linux tcp_rcv_established(): what the ACK lets go is on its way before the
        // application sees the data, and so before its answer.
        const Arrival arrival = TakeData(now, packet);
        if (packet.hasAck)
        {
            OnAck(now, Acknowledgement::Of(now, packet, extras));
            if (m_dataLevel) [[unlikely]]
            {
                TakeDataAck(now, *extras, extras->window);
            }
        }
        DeliverData(now, arrival);
        if (m_spec.writes == WriteMode::BLOCKING && m_sender.OnData() && m_user)
        {
            m_user->OnWritable(now);
        }
        break;
    }
    case PacketKind::ACK:
        OnAck(now, Acknowledgement::Of(now, packet, extras));
        if (packet.hasAck) [[unlikely]]
        {
            TakeDataAck(now, *extras, packet.window);
        }
        break;
    case PacketKind::SYN: // a late copy
        break;
    default:
        SendAck(now); // of a window probe; or our ACK of the first SYN-ACK was lost
    }
}

void
TcpEndpoint::SetMemory(TcpMemory& memory)
{
    m_memory = &memory;
    memory.AddSocket();
    m_sender.SetMemory(&memory);
    m_receiver.SetMemory(&memory);
}

uint64_t
TcpEndpoint::HeldMemory() const
{
    return m_sender.Buffer().Memory() + m_receiver.Buffered();
}

void
TcpEndpoint::Charge(uint64_t charged)
{
    m_memory->Charge(static_cast<int64_t>(charged - m_charged));
    m_charged = charged;
}

void
TcpEndpoint::ReturnReserve()
{
    if (m_memory)
    {
        Charge(HeldMemory());
    }
}

void
TcpEndpoint::UpdateCharge()
{
    uint64_t held = HeldMemory();
    uint64_t charged = std::max(held, m_charged);
    if (charged - held > m_memory->Reserve())
    {
        // Linux sk_mem_uncharge(): half of what was kept in reserve goes back at once.
        charged = held + m_memory->Reserve() / 2;
    }
    Charge(charged);
}

uint64_t
TcpEndpoint::Write(int64_t now, uint64_t bytes, bool isResumed)
{
    if (m_memory && m_memory->IsUnderPressure() && m_sender.WantsNewBuffer())
    {
        ReturnReserve(); // Linux before 6.0, sk_stream_alloc_skb()
    }
    uint64_t accepted = m_sender.Write(now, bytes, isResumed);
    ChargeMemory();
    return accepted;
}

TcpEndpoint::Arrival
TcpEndpoint::TakeData(int64_t now, const Packet& packet)
{
    const uint64_t received = m_receiver.Received();
    // RFC 7323, section 4.3: echo the earliest segment that the next ACK newly acknowledges.
    if (m_receiver.IsNextToAck(packet) && static_cast<int32_t>(packet.tsVal - m_echo) > 0)
    {
        m_echo = packet.tsVal;
    }
    if (m_spec.HasTimestamps())
    {
        const bool isAllRead = m_receiver.Readable() == 0;
        m_receiveRtt.OnEcho(TimestampClock(now), packet.tsEcr, packet.length, isAllRead);
    }
    if (m_acks.IsCompressing() && m_receiver.CrowdsBlocks(packet))
    {
        SendAck(now); // Linux tcp_sack_new_ofo_skb(): while the runs that it is to tell of fit
    }
    const bool isAckDue = (packet.HasMarks() || m_ecnEcho.IsOn()) && TakeMarks(now, packet);
    if (m_receiver.HasDelivered(packet))
    {
        m_acks.AckQuickly(); // Linux tcp_data_queue(): a retransmission that was not needed
    }
    const AckUrgency urgency = m_receiver.OnData(packet);
    if (m_receiver.Received() > received)
    {
        m_receiveRtt.OnInOrder(now, m_receiver.Received(), m_receiver.Window());
        m_acks.OnInOrder(now);
    }
    if (m_receiver.HasWindowGrown())
    {
        m_acks.OnWindowGrown();
    }
    ChargeMemory();
    m_acks.OnSegment(packet.length, packet.isPushed);
    return {urgency, isAckDue, packet.isPushed != 0};
}

void
TcpEndpoint::DeliverData(int64_t now, const Arrival& arrival)
{
    if (m_user && (m_receiver.Readable() > 0 || m_receiver.IsFinished()))
    {
        m_isReceiving = true;
        m_user->OnReadable(now);
        m_isReceiving = false;
    }
    if (!m_acks.HasUnacked())
    {
        return; // answered by data of ours
    }
    if (m_acks.AcksAnyway(arrival.urgency) || m_acks.Decide(now,
                                                            {arrival.urgency,
                                                             arrival.isAckDue,
                                                             m_receiver.Buffered() == 0,
                                                             m_receiver.NeedsWindowUpdate(),
                                                             m_receiver.Next(),
                                                             m_receiveRtt.Rtt(),
                                                             arrival.isPushed}))
    {
        SendAck(now);
    }
}

bool
TcpEndpoint::TakeMarks(int64_t now, const Packet& packet)
{
    const EcnMarks marks{packet.isEct != 0, packet.isCe != 0, packet.isCwr != 0};
    if (m_ecnEcho.NeedsAckBefore(marks) && m_acks.HasUnacked())
    {
        SendAck(now);
    }
    const EcnEcho::Request request = m_ecnEcho.OnSegment(marks);
    if (request.isQuickAckDue)
    {
        m_acks.AckQuickly(EcnEcho::QUICK_ACKS);
    }
    return request.isAckDue;
}

void
TcpEndpoint::OnAck(int64_t now, const Acknowledgement& ack)
{
    m_peerClock = ack.tsVal;
    bool wakesWriter = m_sender.OnAck(now, ack);
    ChargeMemory();
    if (m_finishedTime < 0 && m_sender.IsFinished())
    {
        m_finishedTime = now;
    }
    if (wakesWriter && m_user)
    {
        m_user->OnWritable(now);
    }
}

// Inline, because each ACK needs it.
[[gnu::always_inline]] inline Acknowledgement
TcpEndpoint::MakeAck(int64_t now)
{
    Acknowledgement ack;
    ack.tsVal = TimestampClock(now);
    ack.tsEcr = m_echo;
    ack.isEce = m_ecnEcho.IsEchoing();
    m_receiver.Describe(ack);
    if (m_receiver.IsCrowded())
    {
        m_acks.EndQuickAcks();
    }
    m_acks.OnAckSent();
    return ack;
}

void
TcpEndpoint::SendAck(int64_t now)
{
    if (m_dataLevel) [[unlikely]]
    {
        SendDataAck(now);
        return;
    }
    const Acknowledgement ack = MakeAck(now);
    const uint32_t bytes = AckIpBytes(ack.sackBlocks, m_spec);
    m_wire.ackBytes += bytes;
    ++m_wire.acks;
    PacketExtras extras;
    auto write = [&](Packet& packet, uint32_t = 0) {
        Begin(packet, m_peer, BitsOf(PacketKind::ACK));
        ack.WriteTo(packet, extras);
    };
    if (ack.sackBlocks == 0)
    {
        m_channel.SendRun(now, bytes, 1, write);
        return;
    }
    Packet packet;
    write(packet);
    m_channel.Send(now, packet, bytes, &extras);
}

void
TcpEndpoint::SendDataAck(int64_t now)
{
    Acknowledgement ack = MakeAck(now);
    ack.window = m_dataLevel->Window();
    Packet packet;
    PacketExtras extras;
    Begin(packet, m_peer, BitsOf(PacketKind::ACK));
    ack.WriteTo(packet, extras);
    packet.hasAck = true; // it has extras
    extras.dataAck = m_dataLevel->DataAck();
    const uint32_t bytes = AckIpBytes(ack.sackBlocks, m_spec) + m_dataLevel->HandshakeBytes(packet);
    m_wire.ackBytes += bytes;
    ++m_wire.acks;
    m_channel.Send(now, packet, bytes, &extras);
}

void
TcpEndpoint::TakeDataAck(int64_t now, const PacketExtras& extras, uint32_t window)
{
    m_dataLevel->OnDataAck(now, extras.dataAck, window);
}

void
TcpEndpoint::SendSegments(int64_t now, uint64_t first, uint32_t count, const Segment& last)
{
    const bool isNew = !last.Has(Segment::EVER_RETRANSMITTED);
    const bool isEct = m_ecnEcho.IsMirroring() || (m_spec.ecn && isNew);
    PacketBits bits = BitsOf(PacketKind::DATA);
    bits.isEct = isEct;
    bits.isL4s = m_isL4s;
    bits.isFin = last.Has(Segment::FIN);
    auto write = [sink = m_peer,
                  bits,
                  tsVal = TimestampClock(now),
                  length = last.length,
                  tsEcr = m_peerClock](Packet& packet, uint64_t number, bool isPushed) {
        PacketBits own = bits;
        own.isPushed = isPushed;
        Begin(packet, sink, own);
        packet.segment = static_cast<uint32_t>(number);
        packet.tsVal = tsVal;
        packet.tsEcr = tsEcr;
        packet.length = length;
    };
    const bool isPushed = last.Has(Segment::PUSHED);
    const uint32_t bytes = SegmentIpBytes(last.length, m_spec);
    m_wire.dataBytes += uint64_t{count} * bytes;

    m_acks.OnDataSent(now);
    // Linux tcp_ecn_send(). Accurate ECN has no such flag.
    const bool tellsCwr = isEct && isNew && !m_isL4s && m_sender.TakeCwr();
    if (tellsCwr || m_acks.HasUnacked())
    {
        // What we have to tell goes with the first of them.
        Packet telling{};
        write(telling, first, isPushed && count == 1);
        telling.isCwr = tellsCwr;
        PacketExtras extras;
        if (m_acks.HasUnacked())
        {
            MakeAck(now).WriteTo(telling, extras);
            if (m_dataLevel) [[unlikely]]
            {
                extras.window = m_dataLevel->Window();
                extras.dataAck = m_dataLevel->DataAck();
            }
        }
        m_channel.Send(now, telling, bytes, &extras);
        ++first;
        --count;
    }
    if (count > 0)
    {
        m_channel.SendRun(now, bytes, count, [&](Packet& packet, uint32_t place) {
            write(packet, first + place, isPushed && place + 1 == count);
        });
    }
}

void
TcpEndpoint::SendWindowProbe(int64_t now)
{
    Packet probe = MakePacket(PacketKind::WINDOW_PROBE);
    uint32_t bytes = IpBytes(probe, m_spec);
    m_wire.ackBytes += bytes;
    m_channel.Send(now, probe, bytes);
}

void
TcpEndpoint::Read(int64_t now, uint64_t bytes)
{
    m_receiver.Read(now, bytes, m_receiveRtt.Rtt());
    ChargeMemory();
    if (!m_isReceiving &&
        m_acks.AcksRead(m_receiver.Buffered() == 0, m_receiver.NeedsWindowUpdate()))
    {
        SendAck(now);
    }
}

} // namespace tunnelcc
