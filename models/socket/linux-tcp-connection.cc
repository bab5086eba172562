/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "linux-tcp-connection.h"

#include "interop/ns3-simulator.h"
#include "linux-tcp-settings.h"
#include "transport/acknowledgement.h"
#include "transport/packet-size.h"

#include "ns3/tcp-option-rfc793.h"
#include "ns3/tcp-option-sack-permitted.h"
#include "ns3/tcp-option-sack.h"
#include "ns3/tcp-option-ts.h"
#include "ns3/tcp-option-winscale.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

namespace
{

using ns3::SequenceNumber32;
using ns3::TcpHeader;
using ns3::TcpOption;

// RFC 3168, section 5; RFC 9331 for ECT(1)
constexpr uint8_t ECT_1 = 1;
constexpr uint8_t ECT_0 = 2;
constexpr uint8_t CE = 3;

template <class Option>
ns3::Ptr<const Option>
Find(const TcpHeader& header, uint8_t kind)
{
    return ns3::DynamicCast<const Option>(header.GetOption(kind));
}

void
Pad(TcpHeader& header, int count)
{
    for (; count > 0; --count)
    {
        header.AppendOption(ns3::CreateObject<ns3::TcpOptionNOP>());
    }
}

void
AddTimestamps(TcpHeader& header, uint32_t value, uint32_t echo)
{
    auto timestamps = ns3::CreateObject<ns3::TcpOptionTS>();
    timestamps->SetTimestamp(value);
    timestamps->SetEcho(echo);
    header.AppendOption(timestamps);
}

} // namespace

LinuxTcpConnection::LinuxTcpConnection(const TcpSpec& spec,
                                       std::unique_ptr<CongestionControl> congestion,
                                       std::shared_ptr<SentSegments> sent,
                                       SegmentSink& sink,
                                       StreamUser& user)
    : m_spec(spec),
      m_sink(sink),
      m_sent(std::move(sent)),
      m_endpoint(Ns3Simulator::Loop(),
                 m_spec,
                 Channel(static_cast<PacketDevice&>(*this)),
                 std::move(congestion))
{
    m_endpoint.SetUser(&user);
}

LinuxTcpConnection::~LinuxTcpConnection()
{
    m_endpoint.Withdraw();
}

uint32_t
LinuxTcpConnection::MssOf(const TcpHeader& syn)
{
    const auto option = Find<ns3::TcpOptionMSS>(syn, TcpOption::MSS);
    return option && option->GetMSS() > TCP_TIMESTAMPS ? option->GetMSS() - TCP_TIMESTAMPS : 0;
}

// The application -------------------------------------------------------------------------------

void
LinuxTcpConnection::Connect(int64_t now)
{
    m_endpoint.Connect(now);
}

void
LinuxTcpConnection::TakeOver(int64_t now, const LinuxTcpConnection& before)
{
    m_isMute = true;
    m_endpoint.Connect(before.m_synTime);
    m_isMute = false;
    m_written = before.m_written;
    m_endpoint.Write(now, m_written.End());
    m_isClosing = before.m_isClosing;
}

bool
LinuxTcpConnection::Write(int64_t now, ns3::Ptr<ns3::Packet> bytes)
{
    if (IsHolding())
    {
        return false;
    }
    const uint32_t size = bytes->GetSize();
    const uint64_t before = m_endpoint.GetSender().Buffer().Written();
    m_written.Append(bytes->Copy()); // first: what is taken may leave at once
    const uint64_t taken = m_endpoint.Write(now, size);
    if (taken == 0 && size > 0)
    {
        m_written.TakeBack(before);
        return false;
    }
    return true;
}

bool
LinuxTcpConnection::WriteRest(int64_t now)
{
    if (IsHolding())
    {
        m_endpoint.Resume(now, m_written.End() - m_endpoint.GetSender().Buffer().Written());
    }
    if (IsHolding())
    {
        return false;
    }
    if (m_isClosing)
    {
        m_endpoint.Close(now);
    }
    return true;
}

void
LinuxTcpConnection::Close(int64_t now)
{
    m_isClosing = true;
    if (!IsHolding())
    {
        m_endpoint.Close(now);
    }
}

ns3::Ptr<ns3::Packet>
LinuxTcpConnection::Read(int64_t now, uint32_t length)
{
    auto bytes = m_arrived.Read(length);
    m_endpoint.Read(now, length);
    return bytes;
}

// Segments of this end --------------------------------------------------------------------------

void
LinuxTcpConnection::Send(int64_t now,
                         const Packet& packet,
                         uint32_t /* ipBytes */,
                         const PacketExtras* extras)
{
    if (m_isMute)
    {
        return;
    }
    switch (packet.kind)
    {
    case PacketKind::SYN:
    case PacketKind::SYN_ACK:
        m_synTime = now;
        SendSyn(packet);
        break;
    case PacketKind::DATA:
        SendData(now, packet, extras);
        break;
    case PacketKind::ACK:
        SendAck(now, Acknowledgement::Of(now, packet, extras));
        break;
    default:
        SendProbe(now);
    }
}

void
LinuxTcpConnection::SendSyn(const Packet& packet)
{
    const bool isAnswer = packet.kind == PacketKind::SYN_ACK;
    uint8_t flags = TcpHeader::SYN | (isAnswer ? TcpHeader::ACK : 0);
    if (m_spec.ecn)
    {
        flags |= TcpHeader::ECE | (isAnswer ? 0 : TcpHeader::CWR); // RFC 3168, section 6.1.1
    }
    TcpHeader header;
    header.SetFlags(flags);
    m_toldWindow = packet.synWindow;
    header.SetSequenceNumber(m_sent->Initial());
    header.SetAckNumber(isAnswer ? m_peer->SequenceOf(0) : SequenceNumber32(0));
    header.SetWindowSize(static_cast<uint16_t>(std::min(packet.synWindow, UNSCALED_WINDOW)));
    auto mss = ns3::CreateObject<ns3::TcpOptionMSS>();
    mss->SetMSS(static_cast<uint16_t>(std::min(m_spec.mss + TCP_TIMESTAMPS, UNSCALED_WINDOW)));
    header.AppendOption(mss);
    header.AppendOption(ns3::CreateObject<ns3::TcpOptionSackPermitted>());
    AddTimestamps(header, packet.tsVal, isAnswer ? packet.tsEcr : 0);
    Pad(header, 1);
    auto scale = ns3::CreateObject<ns3::TcpOptionWinScale>();
    scale->SetScale(static_cast<uint8_t>(m_spec.windowScale));
    header.AppendOption(scale);
    m_sink.SendSegment(header, ns3::Create<ns3::Packet>(), 0);
}

TcpHeader
LinuxTcpConnection::MakeHeader(SequenceNumber32 sequence, uint32_t tsVal, uint32_t tsEcr) const
{
    TcpHeader header;
    header.SetFlags(TcpHeader::ACK);
    header.SetSequenceNumber(sequence);
    header.SetAckNumber(m_peer->SequenceOf(m_toldNumber));
    const uint32_t window = m_toldWindow >> m_spec.windowScale;
    header.SetWindowSize(static_cast<uint16_t>(std::min(window, UNSCALED_WINDOW)));
    Pad(header, 2);
    AddTimestamps(header, tsVal, tsEcr);
    return header;
}

void
LinuxTcpConnection::AddBlocks(TcpHeader& header, const Acknowledgement& ack) const
{
    if (ack.sackBlocks == 0)
    {
        return;
    }
    Pad(header, 2);
    auto option = ns3::CreateObject<ns3::TcpOptionSack>();
    for (uint32_t i = 0; i < ack.sackBlocks; ++i)
    {
        option->AddSackBlock(
            {m_peer->SequenceOf(ack.blocks->begin[i]), m_peer->SequenceOf(ack.blocks->end[i])});
    }
    header.AppendOption(option);
}

void
LinuxTcpConnection::NoteTold(const Acknowledgement& ack)
{
    m_toldNumber = ack.number;
    m_toldWindow = ack.window;
    m_toldEcho = ack.tsEcr;
    m_peer->OnAcked(ack.number);
}

void
LinuxTcpConnection::SendData(int64_t now, const Packet& packet, const PacketExtras* extras)
{
    const SequenceNumber32 next = m_sent->Next();
    m_sent->OnSent(packet.segment, packet.length + packet.isFin);
    m_newlySent += m_sent->Next() != next ? packet.length : 0;
    Acknowledgement ack;
    uint32_t echo = packet.tsEcr;
    if (packet.hasAck)
    {
        ack = Acknowledgement::Of(now, packet, extras);
        echo = ack.tsEcr;
        NoteTold(ack);
        if (packet.length + SackOptionBytes(ack.sackBlocks) > m_spec.mss)
        {
            SendAck(now, ack);
            ack.sackBlocks = 0;
        }
    }
    TcpHeader header = MakeHeader(m_sent->SequenceOf(packet.segment), packet.tsVal, echo);
    AddBlocks(header, ack);
    header.SetFlags(TcpHeader::ACK | (packet.isPushed ? TcpHeader::PSH : 0) |
                    (packet.isFin ? TcpHeader::FIN : 0) | (packet.isCwr ? TcpHeader::CWR : 0) |
                    (packet.isEce ? TcpHeader::ECE : 0));
    auto payload = packet.length > 0
                       ? m_written.Copy(m_sent->OffsetOf(packet.segment), packet.length)
                       : ns3::Create<ns3::Packet>();
    m_sink.SendSegment(header, payload, packet.isL4s ? ECT_1 : packet.isEct ? ECT_0 : 0);
}

void
LinuxTcpConnection::SendAck(int64_t now, const Acknowledgement& ack)
{
    NoteTold(ack);
    TcpHeader header = MakeHeader(m_sent->Next(), ack.tsVal, ack.tsEcr);
    AddBlocks(header, ack);
    header.SetFlags(TcpHeader::ACK | (ack.isEce ? TcpHeader::ECE : 0));
    m_sink.SendSegment(header, ns3::Create<ns3::Packet>(), 0);
}

void
LinuxTcpConnection::SendProbe(int64_t now)
{
    // Linux tcp_xmit_probe_skb()
    const auto una = static_cast<uint32_t>(m_endpoint.GetSender().Board().Una());
    TcpHeader header = MakeHeader(m_sent->SequenceOf(una) - 1, TimestampClock(now), m_toldEcho);
    m_sink.SendSegment(header, ns3::Create<ns3::Packet>(), 0);
}

void
LinuxTcpConnection::Reset()
{
    TcpHeader header;
    header.SetFlags(TcpHeader::RST | (m_peer ? TcpHeader::ACK : 0));
    header.SetSequenceNumber(m_sent->Next());
    header.SetAckNumber(m_peer ? m_peer->SequenceOf(m_toldNumber) : SequenceNumber32(0));
    m_sink.SendSegment(header, ns3::Create<ns3::Packet>(), 0);
}

// Segments of the other end ---------------------------------------------------------------------

bool
LinuxTcpConnection::Receive(int64_t now,
                            const TcpHeader& header,
                            ns3::Ptr<ns3::Packet> payload,
                            uint8_t ecn)
{
    const uint8_t flags = header.GetFlags();
    if (flags & TcpHeader::SYN)
    {
        return ReceiveSyn(now, header);
    }
    if (!m_peer || !(flags & TcpHeader::ACK) || !header.HasOption(TcpOption::TS))
    {
        return false;
    }
    if (payload->GetSize() > 0 || (flags & TcpHeader::FIN))
    {
        ReceiveData(now, header, std::move(payload), ecn);
    }
    else
    {
        ReceiveAck(now, header);
    }
    m_written.Forget(m_endpoint.GetSender().Buffer().Acked());
    return true;
}

bool
LinuxTcpConnection::ReceiveSyn(int64_t now, const TcpHeader& header)
{
    const auto timestamps = Find<ns3::TcpOptionTS>(header, TcpOption::TS);
    const auto scale = Find<ns3::TcpOptionWinScale>(header, TcpOption::WINSCALE);
    if (!m_peer)
    {
        m_peer = SentSegments::Find(header.GetSequenceNumber());
    }
    if (!m_peer || header.GetSequenceNumber() != m_peer->Initial() || !timestamps || !scale)
    {
        return false;
    }
    const bool isAnswer = header.GetFlags() & TcpHeader::ACK;
    m_peerScale = scale->GetScale();
    if (isAnswer)
    {
        m_spec.ecn &= (header.GetFlags() & TcpHeader::ECE) != 0;
    }
    m_heardNumber = header.GetAckNumber();
    m_heardWindow = header.GetWindowSize();
    Packet packet{};
    packet.kind = isAnswer ? PacketKind::SYN_ACK : PacketKind::SYN;
    packet.synWindow = header.GetWindowSize();
    packet.tsVal = timestamps->GetTimestamp();
    packet.tsEcr = timestamps->GetEcho();
    m_endpoint.Receive(now, packet, nullptr);
    return true;
}

bool
LinuxTcpConnection::ReadBlocks(const TcpHeader& header, Packet& packet, PacketExtras& extras) const
{
    const auto option = Find<ns3::TcpOptionSack>(header, TcpOption::SACK);
    if (!option)
    {
        return true;
    }
    uint32_t count = 0;
    for (const auto& [begin, end] : option->GetSackList())
    {
        const auto first = m_sent->At(begin);
        const auto last = m_sent->At(end);
        if (!first || !last || count == SackBlocks::MAX)
        {
            return false;
        }
        extras.blocks.begin[count] = *first;
        extras.blocks.end[count] = *last;
        ++count;
    }
    packet.sackBlocks = count & 7U; // its bits
    // RFC 2883: a D-SACK lies below the ACK, or within the second block.
    const auto number = *m_sent->At(header.GetAckNumber());
    const auto isBefore = [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; };
    packet.isDuplicate =
        count > 0 && (isBefore(extras.blocks.begin[0], number) ||
                      (count > 1 && !isBefore(extras.blocks.begin[0], extras.blocks.begin[1]) &&
                       !isBefore(extras.blocks.end[1], extras.blocks.end[0])));
    return true;
}

void
LinuxTcpConnection::ReceiveData(int64_t now,
                                const TcpHeader& header,
                                ns3::Ptr<ns3::Packet> payload,
                                uint8_t ecn)
{
    const uint8_t flags = header.GetFlags();
    const auto number = m_peer->At(header.GetSequenceNumber());
    const auto acked = m_sent->At(header.GetAckNumber());
    const uint32_t end = payload->GetSize() + ((flags & TcpHeader::FIN) ? 1 : 0);
    if (!number || !acked || header.GetSequenceNumber() + end != m_peer->SequenceOf(*number + 1))
    {
        return;
    }
    const auto timestamps = Find<ns3::TcpOptionTS>(header, TcpOption::TS);
    Packet packet{};
    PacketExtras extras{};
    packet.kind = PacketKind::DATA;
    packet.segment = *number;
    packet.length = static_cast<uint16_t>(payload->GetSize());
    packet.tsVal = timestamps->GetTimestamp();
    packet.tsEcr = timestamps->GetEcho();
    packet.isEct = ecn != 0;
    packet.isL4s = ecn == ECT_1;
    packet.isCe = ecn == CE;
    packet.isCwr = (flags & TcpHeader::CWR) != 0;
    packet.isPushed = (flags & TcpHeader::PSH) != 0;
    packet.isFin = (flags & TcpHeader::FIN) != 0;
    packet.isEce = (flags & TcpHeader::ECE) != 0;
    if (!ReadBlocks(header, packet, extras))
    {
        return;
    }
    // Each segment has an ACK. One that tells nothing new is none in the models.
    const uint32_t window = header.GetWindowSize() << m_peerScale;
    packet.hasAck = packet.sackBlocks > 0 || packet.isEce ||
                    header.GetAckNumber() != m_heardNumber || window != m_heardWindow;
    m_heardNumber = header.GetAckNumber();
    m_heardWindow = window;
    extras.ackNumber = *acked;
    extras.window = window;
    extras.ackTsEcr = packet.tsEcr;
    if (packet.length > 0)
    {
        m_arrived.Add(m_peer->OffsetOf(*number), std::move(payload));
    }
    m_endpoint.Receive(now, packet, &extras);
}

void
LinuxTcpConnection::ReceiveAck(int64_t now, const TcpHeader& header)
{
    const auto timestamps = Find<ns3::TcpOptionTS>(header, TcpOption::TS);
    const auto acked = m_sent->At(header.GetAckNumber());
    if (!acked)
    {
        return;
    }
    Packet packet{};
    PacketExtras extras{};
    const auto next = static_cast<uint32_t>(m_endpoint.GetReceiver().Next());
    if (header.GetSequenceNumber() + 1 == m_peer->SequenceOf(next))
    {
        packet.kind = PacketKind::WINDOW_PROBE;
        m_endpoint.Receive(now, packet, nullptr);
        return;
    }
    packet.kind = PacketKind::ACK;
    packet.ackNumber = *acked;
    packet.window = header.GetWindowSize() << m_peerScale;
    packet.tsValLow = static_cast<uint16_t>(timestamps->GetTimestamp());
    packet.tsEcr = timestamps->GetEcho();
    packet.isEce = (header.GetFlags() & TcpHeader::ECE) != 0;
    if (!ReadBlocks(header, packet, extras))
    {
        return;
    }
    m_heardNumber = header.GetAckNumber();
    m_heardWindow = packet.window;
    m_endpoint.Receive(now, packet, &extras);
}

} // namespace tunnelcc
