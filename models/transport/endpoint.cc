/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "endpoint.h"

#include "packet-size.h"

namespace tunnelcc
{

namespace
{

/// ACKs sent at once when data begins to arrive (Linux TCP_MAX_QUICKACKS), and after a mark
/// (__tcp_ecn_check_ce()).
constexpr uint32_t QUICK_ACKS = 16;
constexpr uint32_t QUICK_ACKS_OF_MARK = 2;

/// Longest delay of an ACK (Linux TCP_DELACK_MAX).
constexpr int64_t LONGEST_ACK_DELAY = 200'000'000;

/// Duplicate ACKs that are sent at once before others are compressed (Linux
/// TCP_FASTRETRANS_THRESH).
constexpr uint32_t DUPLICATE_ACKS = 3;

/// Most ACKs that become one, and how long they wait: a twentieth of the RTT, but no longer than
/// this, and some slack (Linux sysctls tcp_comp_sack_nr, _delay_ns, _slack_ns).
constexpr uint32_t COMPRESSED_ACKS = 44;
constexpr int64_t COMPRESSION_RTTS = 20;
constexpr int64_t COMPRESSION_TIME = 1'000'000;
constexpr int64_t COMPRESSION_SLACK = 100'000;

/// Retransmissions of a SYN and of a SYN-ACK (Linux sysctl tcp_syn_retries, tcp_synack_retries).
constexpr uint32_t SYN_RETRIES = 6;
constexpr uint32_t SYN_ACK_RETRIES = 5;

} // namespace

TcpEndpoint::TcpEndpoint(const TcpSpec& spec,
                         const Channel& channel,
                         std::unique_ptr<CongestionControl> congestion)
    : m_spec(spec),
      m_channel(channel),
      m_sender(spec, std::move(congestion), *this),
      m_receiver(spec),
      m_receiveRtt(spec.receiveGrowth == ReceiveGrowth::OUT_OF_ORDER, spec.mss),
      m_ackTimer(this),
      m_compressionTimer(this),
      m_synTimer(this)
{
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
    m_state = State::SYN_SENT;
    SendSyn(now);
}

void
TcpEndpoint::SendSyn(int64_t now)
{
    bool isAnswer = m_state == State::SYN_RECEIVED;
    Packet packet = MakePacket(isAnswer ? PacketKind::SYN_ACK : PacketKind::SYN);
    packet.synWindow = m_receiver.Window();
    packet.tsVal = TimestampClock(now);
    packet.tsEcr = m_echo;
    m_synTime = now;
    ++m_synsSent;
    uint32_t bytes = IpBytes(packet, m_spec);
    m_wire.ackBytes += bytes;
    m_channel.Send(now, packet, bytes);
    uint32_t doublings = m_synRetries - std::min(m_synRetries, LinearTimeouts());
    m_synTimer.Set(now + (RttEstimator::INITIAL_RTO << doublings));
}

uint32_t
TcpEndpoint::LinearTimeouts() const
{
    return m_state == State::SYN_SENT ? m_spec.synLinearTimeouts : 0;
}

void
TcpEndpoint::OnSynTimer(int64_t now)
{
    // Linux tcp_write_timeout(), reqsk_timer_handler(): linear time-outs come on top.
    bool isAnswer = m_state == State::SYN_RECEIVED;
    if (m_synRetries == (isAnswer ? SYN_ACK_RETRIES : SYN_RETRIES + LinearTimeouts()))
    {
        m_connectFailedTime = isAnswer ? -1 : now;
        m_state = State::CLOSED;
        m_synRetries = 0;
        return;
    }
    ++m_synRetries;
    SendSyn(now);
}

void
TcpEndpoint::OnSyn(int64_t now, const Packet& packet)
{
    if (m_state == State::ESTABLISHED)
    {
        return;
    }
    m_peerWindow = packet.synWindow;
    m_echo = m_peerClock = packet.tsVal;
    m_state = State::SYN_RECEIVED;
    SendSyn(now);
}

void
TcpEndpoint::OnSynAck(int64_t now, const Packet& packet)
{
    if (m_state == State::SYN_SENT)
    {
        m_peerWindow = packet.synWindow;
        m_echo = m_peerClock = packet.tsVal;
        SendAck(now);
        Establish(now, packet);
    }
    else
    {
        SendAck(now); // our ACK of the first SYN-ACK was lost
    }
}

int64_t
TcpEndpoint::HandshakeRtt(int64_t now, const Packet& packet) const
{
    // Karn's rule: if the SYN was sent more than once, only its echo tells which one was answered.
    bool hasEcho = packet.kind != PacketKind::DATA && m_spec.HasTimestamps();
    if (m_synsSent == 1 || !hasEcho)
    {
        return now - m_synTime;
    }
    constexpr int64_t MS = 1'000'000;
    return std::max<int64_t>(TimestampClock(now) - packet.tsEcr, 1) * MS;
}

void
TcpEndpoint::Establish(int64_t now, const Packet& packet)
{
    m_state = State::ESTABLISHED;
    m_establishedTime = now;
    m_synTimer.Cancel();
    m_receiver.OnEstablished(now);
    m_sender.OnEstablished(now, HandshakeRtt(now, packet), m_peerWindow);
    m_isMirroringMarks = m_sender.NeedsEcn();
    if (m_user)
    {
        m_user->OnConnected(now);
    }
}

// Data ------------------------------------------------------------------------------------------

void
TcpEndpoint::Receive(int64_t now, const Packet& packet, const PacketExtras* extras)
{
    if (packet.kind == PacketKind::SYN)
    {
        OnSyn(now, packet);
        return;
    }
    if (m_state == State::CLOSED)
    {
        return; // the handshake was given up
    }
    if (packet.kind == PacketKind::SYN_ACK)
    {
        OnSynAck(now, packet);
        return;
    }
    if (m_state == State::SYN_RECEIVED)
    {
        Establish(now, packet);
    }
    switch (packet.kind)
    {
    case PacketKind::DATA:
        OnData(now, packet);
        if (packet.hasAck)
        {
            OnAck(now, Acknowledgement::Of(now, packet, extras));
        }
        break;
    case PacketKind::ACK:
        OnAck(now, Acknowledgement::Of(now, packet, extras));
        break;
    default:
        SendAck(now);
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

void
TcpEndpoint::ChargeMemory()
{
    if (!m_memory)
    {
        return;
    }
    uint64_t held = m_sender.Buffer().Queued() + m_receiver.Buffered();
    uint64_t charged = std::max(held, m_charged);
    if (charged - held > m_memory->Reserve())
    {
        // Linux sk_mem_uncharge(): half of what was kept in reserve goes back at once.
        charged = held + m_memory->Reserve() / 2;
    }
    m_memory->Charge(static_cast<int64_t>(charged - m_charged));
    m_charged = charged;
}

uint64_t
TcpEndpoint::Write(int64_t now, uint64_t bytes)
{
    uint64_t accepted = m_sender.Write(now, bytes);
    ChargeMemory();
    return accepted;
}

void
TcpEndpoint::OnData(int64_t now, const Packet& packet)
{
    // RFC 7323, section 4.3: echo the earliest segment that the next ACK newly acknowledges.
    if (m_receiver.IsNextToAck(packet) && static_cast<int32_t>(packet.tsVal - m_echo) > 0)
    {
        m_echo = packet.tsVal;
    }
    if (m_spec.HasTimestamps())
    {
        m_receiveRtt.OnEcho(TimestampClock(now),
                            packet.tsEcr,
                            packet.length,
                            m_receiver.Readable() == 0);
    }
    uint64_t readable = m_receiver.Readable();
    if (m_compressed > 0 && m_receiver.CrowdsBlocks(packet))
    {
        SendAck(now); // Linux tcp_sack_new_ofo_skb(): while the runs that it is to tell of fit
    }
    bool isAckDue = OnMarking(now, packet);
    if (m_receiver.HasDelivered(packet))
    {
        AckQuickly(QUICK_ACKS); // Linux tcp_data_queue(): a retransmission that was not needed
    }
    AckUrgency urgency = m_receiver.OnData(packet);
    if (m_receiver.Readable() > readable)
    {
        OnInOrder(now);
    }
    if (m_receiver.HasWindowGrown())
    {
        m_quickAcks |= 1; // Linux tcp_grow_window(): tell the sender of it
    }
    ChargeMemory();
    ++m_unacked;
    m_pushes += packet.length < m_spec.mss || (packet.isPushed && m_spec.pushedAcks);
    if (m_user && (m_receiver.Readable() > 0 || m_receiver.IsFinished()))
    {
        m_isReceiving = true;
        m_user->OnReadable(now);
        m_isReceiving = false;
    }
    if (m_unacked == 0)
    {
        return; // answered by data of ours
    }
    bool leavesHole = urgency == AckUrgency::COMPRESSED;
    isAckDue |= urgency == AckUrgency::NOW || (m_quickAcks > 0 && !IsInPingPong());
    if (isAckDue || IsAckDueAfterRead() ||
        (leavesHole ? !CompressesAck(now) : m_unacked >= m_spec.ackEvery))
    {
        SendAck(now);
    }
    else if (!leavesHole)
    {
        DelayAck(now);
    }
}

void
TcpEndpoint::OnInOrder(int64_t now)
{
    // Linux tcp_event_data_recv(). After a gap longer than the RTO, the sender may have begun anew
    // with a window so small that it waits for each ACK. So it has with the first data.
    m_receiveRtt.OnInOrder(now, m_receiver.Received(), m_receiver.Window());
    const int64_t least = m_spec.delayedAck;
    const int64_t gap = now - m_lastInOrder;
    if (m_ackTime == 0 || (gap >= m_ackTime && gap > m_sender.Rto()))
    {
        m_quickAcks = std::max(m_quickAcks, QUICK_ACKS);
        m_ackTime = std::max(m_ackTime, least);
    }
    else if (gap <= least / 2)
    {
        m_ackTime = m_ackTime / 2 + least / 2;
    }
    else if (gap < m_ackTime)
    {
        m_ackTime = std::min(m_ackTime / 2 + gap, m_sender.Rto());
    }
    m_lastInOrder = now;
}

bool
TcpEndpoint::OnMarking(int64_t now, const Packet& packet)
{
    if (m_isMirroringMarks)
    {
        // RFC 8257, section 3.2; Linux dctcp_ece_ack_update()
        bool changes = m_echoesMark != (packet.isCe != 0);
        if (changes && m_unacked > 0)
        {
            SendAck(now); // of what came before
        }
        m_echoesMark = packet.isCe;
        return changes || packet.isCwr;
    }
    // RFC 3168, section 6.1.3: echo a mark until the sender says that it has reacted. Linux
    // tcp_ecn_accept_cwr(), __tcp_ecn_check_ce(): its window may be so small that it waits for each
    // ACK; what cannot be marked after what could is a retransmission.
    m_echoesMark &= !packet.isCwr;
    bool isRepeated = m_hasSeenEct && !packet.isEct;
    if ((packet.isCe && !m_echoesMark) || isRepeated)
    {
        AckQuickly(QUICK_ACKS_OF_MARK);
    }
    m_echoesMark |= packet.isCe;
    m_hasSeenEct |= packet.isEct;
    return packet.isCwr;
}

void
TcpEndpoint::AckQuickly(uint32_t acks)
{
    // Linux tcp_enter_quickack_mode()
    m_quickAcks = std::max(m_quickAcks, acks);
    m_answers = 0;
    m_ackTime = m_spec.delayedAck;
}

int64_t
TcpEndpoint::AckDelay() const
{
    // Linux tcp_send_delayed_ack()
    const int64_t least = m_spec.delayedAck;
    const int64_t longest = std::max(LONGEST_ACK_DELAY, least);
    return std::clamp(m_ackTime, least, std::min(longest, std::max(m_sender.State().srtt, least)));
}

void
TcpEndpoint::DelayAck(int64_t now)
{
    // Linux tcp_send_delayed_ack()
    const int64_t delay = AckDelay();
    if (m_ackTimer.IsPending() && m_ackDue <= now + delay / 4)
    {
        SendAck(now); // it is nearly time
    }
    else if (!m_ackTimer.IsPending() || now + delay < m_ackDue)
    {
        m_ackTimerSet = now;
        m_ackDue = now + delay;
        m_ackTimer.Set(m_ackDue);
    }
}

bool
TcpEndpoint::CompressesAck(int64_t now)
{
    // Linux __tcp_ack_snd_check(), but that two segments in order which leave a hole count as one:
    // there they do where they narrow the window.
    if (m_compressed >= COMPRESSED_ACKS)
    {
        return false;
    }
    if (m_receiver.Next() != m_duplicatesOf)
    {
        m_duplicatesOf = m_receiver.Next();
        m_duplicateAcks = 0;
    }
    if (m_duplicateAcks < DUPLICATE_ACKS)
    {
        ++m_duplicateAcks;
        return false;
    }
    if (m_compressed++ == 0)
    {
        // Of what arrives and of what was sent, the lesser RTT: where nothing but the handshake was
        // sent, no queue that came later is in it.
        int64_t rtt = std::min(m_receiveRtt.Rtt(), m_sender.State().srtt);
        int64_t delay = std::min(COMPRESSION_TIME, rtt / COMPRESSION_RTTS);
        m_compressionTimer.Set(now + delay + COMPRESSION_SLACK);
    }
    return true;
}

bool
TcpEndpoint::IsAckDueAfterRead() const
{
    // Linux tcp_cleanup_rbuf(): the window has reopened, or all was read after a segment behind
    // which the sender may be waiting, and nothing out of order is left either.
    uint32_t enough = IsInPingPong() ? 2 : 1;
    bool isDrained = m_unacked > 0 && m_pushes >= enough && m_receiver.Buffered() == 0;
    return isDrained || m_receiver.NeedsWindowUpdate();
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

void
TcpEndpoint::OnDelayedAck(int64_t now)
{
    int64_t expiry = TimerWheel(m_spec.jiffy).Expiry(m_ackTimerSet, m_ackDue);
    if (now < expiry)
    {
        m_ackTimer.Set(expiry);
        return;
    }
    // Linux tcp_delack_timer_handler(): nothing came in time, nor was there an answer.
    m_ackTime = IsInPingPong() ? m_spec.delayedAck : std::min(2 * m_ackTime, m_sender.Rto());
    m_answers = IsInPingPong() ? 0 : m_answers;
    SendAck(now);
}

Acknowledgement
TcpEndpoint::MakeAck(int64_t now)
{
    Acknowledgement ack;
    ack.tsVal = TimestampClock(now);
    ack.tsEcr = m_echo;
    ack.isEce = m_echoesMark;
    m_receiver.Describe(ack);
    if (m_quickAcks > 0 && m_unacked > 0 && --m_quickAcks == 0)
    {
        m_ackTime = m_spec.delayedAck; // Linux tcp_dec_quickack_mode()
    }
    m_unacked = 0;
    m_pushes = 0;
    m_compressed = 0;
    m_ackTimer.Cancel();
    m_compressionTimer.Cancel();
    return ack;
}

void
TcpEndpoint::SendAck(int64_t now)
{
    Packet packet = MakePacket(PacketKind::ACK);
    PacketExtras extras;
    MakeAck(now).WriteTo(packet, extras);
    uint32_t bytes = IpBytes(packet, m_spec);
    m_wire.ackBytes += bytes;
    ++m_wire.acks;
    m_channel.Send(now, packet, bytes, &extras);
}

void
TcpEndpoint::SendSegment(int64_t now, uint64_t number, const Segment& segment)
{
    Packet packet = MakePacket(PacketKind::DATA);
    packet.segment = static_cast<uint32_t>(number);
    packet.tsVal = TimestampClock(now);
    packet.tsEcr = m_peerClock;
    packet.length = segment.length;
    packet.isFin = segment.Has(Segment::FIN);
    packet.isPushed = segment.Has(Segment::PUSHED);
    packet.isEct = m_isMirroringMarks || (m_spec.ecn && !segment.Has(Segment::EVER_RETRANSMITTED));
    packet.isCwr = m_sender.TakesCwr();
    NoteAnswer(now);
    PacketExtras extras;
    if (m_unacked > 0)
    {
        MakeAck(now).WriteTo(packet, extras);
    }
    uint32_t bytes = IpBytes(packet, m_spec);
    m_wire.dataBytes += bytes;
    m_channel.Send(now, packet, bytes, &extras);
}

void
TcpEndpoint::NoteAnswer(int64_t now)
{
    // Linux tcp_event_data_sent(): the first data in answer to what came a moment ago
    bool isFirst = m_lastWrite < m_lastInOrder;
    if (isFirst && now - m_lastInOrder < m_ackTime)
    {
        m_answers += !IsInPingPong();
    }
    m_lastWrite = now;
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
    if (!m_isReceiving && IsAckDueAfterRead())
    {
        SendAck(now);
    }
}

} // namespace tunnelcc
