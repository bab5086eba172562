/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-format.h"

#include "transport/acknowledgement.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

// RFC 9293, section 3.1
constexpr uint16_t TCP_FIN = 0x01;
constexpr uint16_t TCP_SYN = 0x02;
constexpr uint16_t TCP_PSH = 0x08;
constexpr uint16_t TCP_ACK = 0x10;
constexpr uint16_t TCP_ECE = 0x40;
constexpr uint16_t TCP_CWR = 0x80;
constexpr uint32_t TCP_HEADER_BYTES = 20;

// Kinds of options (RFC 9293, section 3.2; RFC 7323; RFC 2018)
constexpr uint8_t MAXIMUM_SEGMENT_SIZE = 2;
constexpr uint8_t WINDOW_SCALE = 3;
constexpr uint8_t SACK_PERMITTED = 4;
constexpr uint8_t SACK_OPTION = 5;
constexpr uint8_t TIMESTAMPS = 8;

constexpr uint32_t LARGEST_WINDOW = 65535;

bool
IsSyn(const Packet& packet)
{
    return packet.kind == PacketKind::SYN || packet.kind == PacketKind::SYN_ACK;
}

uint8_t
EcnField(const Packet& packet)
{
    // RFC 3168, section 5; RFC 9331 for ECT(1).
    return packet.isCe ? 3 : packet.isL4s ? 1 : packet.isEct ? 2 : 0;
}

void
AddTimestamps(ByteWriter& writer, uint32_t value, uint32_t echo)
{
    writer.U8(TIMESTAMPS).U8(10).U32(value).U32(echo);
}

} // namespace

TcpFormat::TcpFormat(const TcpSpec& spec,
                     const SocketAddress& self,
                     const SocketAddress& peer,
                     uint64_t draw)
    : m_spec(spec),
      m_self(self),
      m_other(peer),
      m_first(static_cast<uint32_t>(draw)),
      m_clock(static_cast<uint32_t>(draw >> 32))
{
}

TcpFormat::View&
TcpFormat::ViewOf(uint32_t view)
{
    if (view >= m_views.size())
    {
        m_views.resize(view + 1);
    }
    return m_views[view];
}

void
TcpFormat::OnSent(const SeenPacket& seen)
{
    const Packet& packet = seen.packet;
    if (packet.kind == PacketKind::DATA)
    {
        m_offsets.OnSent(packet.segment, packet.length + packet.isFin);
    }
    const bool acknowledges = packet.kind == PacketKind::ACK || packet.hasAck;
    if (acknowledges)
    {
        const uint32_t number =
            packet.kind == PacketKind::ACK ? packet.ackNumber : seen.extras->ackNumber;
        m_peer->m_acked = number;
        m_peer->m_offsets.OnAcked(number);
        const uint64_t offset = m_peer->m_offsets.Of(number);
        m_peer->m_contents.Forget(offset);
        if (m_subflow)
        {
            m_peer->m_subflow->OnAcked(offset);
        }
    }
    if (m_log)
    {
        m_log->OnSent(Logged(seen), *m_sender, *m_peer->m_log);
    }
}

void
TcpFormat::OnArriving(const SeenPacket& seen)
{
    m_peer->m_log->OnReceived(Logged(seen), *m_log);
}

void
TcpFormat::OnArrived(int64_t now)
{
    m_peer->m_log->OnChange(now, *m_peer->m_sender);
}

TcpLog::Packet
TcpFormat::Logged(const SeenPacket& seen) const
{
    const Packet& packet = seen.packet;
    TcpLog::Packet logged;
    logged.now = seen.now;
    logged.isSyn = IsSyn(packet);
    logged.hasSegment = packet.kind == PacketKind::DATA;
    if (logged.hasSegment)
    {
        logged.payloadBytes = packet.length;
        logged.isFin = packet.isFin;
        logged.segment = packet.segment;
        logged.tsVal = packet.tsVal;
        logged.offset = m_offsets.Of(packet.segment);
    }
    else if (packet.kind == PacketKind::ACK)
    {
        logged.tsVal = packet.tsValLow;
    }
    logged.headerBytes = seen.ipBytes - IpHeaderBytes() - logged.payloadBytes;
    if (packet.kind == PacketKind::ACK || packet.hasAck)
    {
        logged.ack = Acknowledgement::Of(seen.now, packet, seen.extras);
        logged.maximum = m_peer->m_offsets.Of(logged.ack->number) + logged.ack->window;
    }
    return logged;
}

TcpFormat::Header
TcpFormat::HeaderOf(const SeenPacket& seen, View& view) const
{
    const Packet& packet = seen.packet;
    Header header{};
    header.sequence = SequenceOf(view.next);
    header.flags = TCP_ACK;
    header.tsVal = TimestampClock(seen.now);
    header.tsEcr = packet.tsEcr;
    header.sackBlocks = packet.sackBlocks;
    switch (packet.kind)
    {
    case PacketKind::SYN:
    case PacketKind::SYN_ACK:
        header.sequence = m_first;
        header.tsVal = packet.tsVal;
        header.flags = packet.kind == PacketKind::SYN ? TCP_SYN : TCP_SYN | TCP_ACK;
        if (m_spec.ecn)
        {
            header.flags |= packet.kind == PacketKind::SYN ? TCP_ECE | TCP_CWR : TCP_ECE;
        }
        view.window = packet.synWindow;
        break;
    case PacketKind::FRAGMENT:
    case PacketKind::DATA: {
        const uint64_t offset = m_offsets.Of(packet.segment);
        view.next = std::max(view.next, offset + packet.length + packet.isFin);
        header.sequence = SequenceOf(offset);
        header.tsVal = packet.tsVal;
        header.flags |= (packet.isFin ? TCP_FIN : 0) | (packet.isPushed ? TCP_PSH : 0) |
                        (packet.isCwr ? TCP_CWR : 0);
        header.sackBlocks = 0;
        if (packet.hasAck)
        {
            view.ackNumber = seen.extras->ackNumber;
            view.window = seen.extras->window;
            header.tsEcr = seen.extras->ackTsEcr;
            view.NoteDataAck(seen.extras->dataAck);
        }
        break;
    }
    case PacketKind::ACK: {
        const Acknowledgement ack = Acknowledgement::Of(seen.now, packet, seen.extras);
        header.tsVal = ack.tsVal;
        view.ackNumber = ack.number;
        view.window = ack.window;
        if (packet.hasAck)
        {
            view.NoteDataAck(seen.extras->dataAck);
        }
        break;
    }
    default: // a window probe (Linux tcp_xmit_probe_skb())
        header.sequence = SequenceOf(m_offsets.Of(m_acked)) - 1;
        header.tsEcr = 0;
        break;
    }
    header.flags |= packet.isEce ? TCP_ECE : 0;
    header.acknowledgement = packet.kind == PacketKind::SYN ? 0 : PeerSequenceOf(view.ackNumber);
    const uint32_t window = IsSyn(packet) ? view.window : view.window >> m_spec.windowScale;
    header.window = static_cast<uint16_t>(std::min(window, LARGEST_WINDOW));
    if (m_spec.HasTimestamps())
    {
        header.tsVal += m_clock;
        header.tsEcr += packet.kind == PacketKind::SYN ? 0 : m_peer->m_clock;
    }
    return header;
}

void
TcpFormat::WriteSynOptions(const Header& header, std::vector<uint8_t>& bytes) const
{
    ByteWriter writer(bytes);
    const bool hasTimestamps = m_spec.HasTimestamps();
    // What the path carries, whatever options segments will have.
    const uint32_t plain = IpHeaderBytes() + TCP_HEADER_BYTES;
    writer.U8(MAXIMUM_SEGMENT_SIZE).U8(4).U16(m_spec.mss + m_spec.headerBytes - plain);
    hasTimestamps ? writer.U8(SACK_PERMITTED).U8(2)
                  : writer.U8(NO_OPERATION).U8(NO_OPERATION).U8(SACK_PERMITTED).U8(2);
    if (hasTimestamps)
    {
        AddTimestamps(writer, header.tsVal, header.tsEcr);
    }
    // Without window scaling (RFC 7323) a SYN is shorter.
    if (m_spec.synBytes > plain + (hasTimestamps ? 16 : 8))
    {
        writer.U8(NO_OPERATION).U8(WINDOW_SCALE).U8(3).U8(m_spec.windowScale);
    }
}

void
TcpFormat::WriteOptions(const SeenPacket& seen,
                        const Header& header,
                        std::vector<uint8_t>& bytes) const
{
    ByteWriter writer(bytes);
    if (m_spec.HasTimestamps())
    {
        writer.U8(NO_OPERATION).U8(NO_OPERATION);
        AddTimestamps(writer, header.tsVal, header.tsEcr);
    }
    if (header.sackBlocks > 0)
    {
        writer.U8(NO_OPERATION).U8(NO_OPERATION).U8(SACK_OPTION).U8(2 + 8 * header.sackBlocks);
        const SackBlocks& blocks = seen.extras->blocks;
        for (uint32_t i = 0; i < header.sackBlocks; ++i)
        {
            writer.U32(PeerSequenceOf(blocks.begin[i])).U32(PeerSequenceOf(blocks.end[i]));
        }
    }
}

void
TcpFormat::Write(const SeenPacket& seen, uint32_t viewNumber, PacketImage& image)
{
    const Packet& packet = seen.packet;
    IpHeader ip{m_self.address, m_other.address, IpProtocol::TCP, EcnField(packet), {}};
    image.Begin(seen.ipBytes);
    WriteIp(ip, seen.ipBytes, image.bytes);
    const auto begin = static_cast<uint32_t>(image.bytes.size());
    View& view = ViewOf(viewNumber);
    const Header header = HeaderOf(seen, view);
    ByteWriter(image.bytes)
        .U16(m_self.port)
        .U16(m_other.port)
        .U32(header.sequence)
        .U32(header.acknowledgement)
        .U16(header.flags) // and the length, below
        .U16(header.window)
        .U16(0)  // checksum, below
        .U16(0); // urgent pointer
    IsSyn(packet) ? WriteSynOptions(header, image.bytes) : WriteOptions(seen, header, image.bytes);
    const uint64_t offset = m_offsets.Of(packet.segment);
    if (m_subflow)
    {
        m_subflow->WriteOptions(packet, {offset, view.dataAck, m_spec.mappingBytes}, image.bytes);
    }
    const auto size = static_cast<uint32_t>(image.bytes.size()) - begin;
    image.bytes[begin + 12] = static_cast<uint8_t>(size / 4 << 4);
    image.headers = begin + size;
    if ((packet.kind == PacketKind::DATA || packet.kind == PacketKind::FRAGMENT) &&
        packet.length > 0)
    {
        m_subflow ? m_subflow->WriteContents(offset, packet.length, image)
                  : m_contents.Write(offset, packet.length, image, image.headers);
    }
    const uint16_t checksum =
        TransportChecksum(ip, std::span(image.bytes).subspan(begin), image.length - begin);
    image.bytes[begin + 16] = static_cast<uint8_t>(checksum >> 8);
    image.bytes[begin + 17] = static_cast<uint8_t>(checksum);
}

} // namespace tunnelcc
