/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "divided-format.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

constexpr uint32_t IPV4_BYTES = 20;
constexpr uint32_t IPV6_BYTES = 40;
constexpr uint32_t ICMP_BYTES = 8;

/// The headers of IP with which a packet begins.
IpHeader
IpHeaderOf(std::span<const uint8_t> bytes)
{
    IpHeader header;
    const bool isIpv4 = bytes[0] >> 4 == 4;
    const size_t length = isIpv4 ? 4 : 16;
    const size_t source = isIpv4 ? 12 : 8;
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(source),
                length,
                header.source.bytes.begin());
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(source + length),
                length,
                header.destination.bytes.begin());
    header.source.version = header.destination.version = isIpv4 ? 4 : 6;
    header.protocol = static_cast<IpProtocol>(isIpv4 ? bytes[9] : bytes[6]);
    header.ecn = isIpv4 ? bytes[1] & 3 : (bytes[1] >> 4) & 3;
    return header;
}

uint32_t
PlainSize(const IpHeader& header)
{
    return header.source.version == 4 ? IPV4_BYTES : IPV6_BYTES;
}

/// Write a checksum at a place of an image.
void
PutChecksum(uint16_t checksum, size_t at, PacketImage& image)
{
    image.bytes[at] = static_cast<uint8_t>(checksum >> 8);
    image.bytes[at + 1] = static_cast<uint8_t>(checksum);
}

} // namespace

PacketFormat&
FormatTable::FormatOf(const Packet& packet, const PacketSink* receiver) const
{
    const auto* pieces = dynamic_cast<const PieceSink*>(receiver);
    const DividedPacket* whole = pieces ? pieces->WholeOf(packet) : nullptr;
    if (!whole)
    {
        return *Of(receiver).format;
    }
    m_divided->Choose(*whole, packet.segment);
    return *m_divided;
}

void
DividedFormat::Write(const SeenPacket& seen, uint32_t view, PacketImage& image)
{
    const DividedPacket& whole = *m_chosen;
    const uint32_t number = m_number;
    const uint32_t place = seen.packet.tsVal;
    PacketFormat& format = m_table.FormatOf(whole.packet, whole.packet.sink);
    const uint32_t size = format.SizeOf(whole.packet);
    format.Write({seen.now, whole.packet, size, &whole.extras}, view, m_whole);
    m_whole.bytes.resize(size);

    const bool isFragment = seen.packet.kind == PacketKind::FRAGMENT;
    IpHeader ip = IpHeaderOf(m_whole.bytes);
    const uint32_t plain = PlainSize(ip);
    const uint32_t offset = place * (whole.first - whole.headers);
    ip.ecn = seen.packet.isCe ? 3 : ip.ecn;
    if (isFragment)
    {
        ip.fragment = IpFragment{static_cast<uint16_t>(number), offset, place + 1 == whole.count};
    }
    image.Begin(seen.ipBytes);
    WriteIp(ip, seen.ipBytes, image.bytes);
    const auto begin = static_cast<uint32_t>(image.bytes.size());
    const std::span<const uint8_t> payload = std::span(m_whole.bytes).subspan(plain);
    if (isFragment)
    {
        const auto part = payload.subspan(std::min<size_t>(offset, payload.size()));
        image.Put(begin, part);
        image.headers = begin;
        return;
    }
    // A segment: the headers of TCP again, with its own sequence number, and its part of the data.
    constexpr uint8_t FIN_OR_PSH = 0x09;
    const uint32_t headers = whole.headers - plain;
    image.Put(begin, payload.first(headers));
    image.Put(begin + headers, payload.subspan(headers + offset));
    image.headers = begin + headers;
    uint32_t sequence = 0;
    for (size_t i = 0; i < 4; ++i)
    {
        sequence = sequence << 8 | payload[4 + i];
    }
    sequence += offset;
    for (size_t i = 0; i < 4; ++i)
    {
        image.bytes[begin + 4 + i] = static_cast<uint8_t>(sequence >> (24 - 8 * i));
    }
    if (place + 1 < whole.count)
    {
        image.bytes[begin + 13] &= static_cast<uint8_t>(~FIN_OR_PSH);
    }
    PutChecksum(0, begin + 16, image);
    PutChecksum(TransportChecksum(ip, std::span(image.bytes).subspan(begin), image.length - begin),
                begin + 16,
                image);
}

void
TooBigFormat::Write(const SeenPacket& seen, uint32_t view, PacketImage& image)
{
    image.Begin(seen.ipBytes);
    const MtuMessages::Quoted* about = m_messages.About(seen.packet);
    IpHeader ip;
    ip.source = ip.destination = m_router;
    if (about)
    {
        const SeenPacket quoted{seen.now, about->packet, about->ipBytes, &about->extras};
        m_table.FormatOf(about->packet, quoted.Receiver()).Write(quoted, view, m_quoted);
        ip.destination = IpHeaderOf(m_quoted.bytes).source;
    }
    const bool isIpv4 = m_router.version == 4;
    ip.protocol = isIpv4 ? IpProtocol::ICMP : IpProtocol::ICMPV6;
    WriteIp(ip, seen.ipBytes, image.bytes);
    const size_t begin = image.bytes.size();
    ByteWriter writer(image.bytes);
    // Destination unreachable, fragmentation needed; packet too big.
    writer.U8(isIpv4 ? 3 : 2).U8(isIpv4 ? 4 : 0).U16(0).U32(m_messages.Spec().mtu);
    image.headers = static_cast<uint32_t>(begin + ICMP_BYTES);
    if (about)
    {
        image.Put(begin + ICMP_BYTES, m_quoted.bytes);
    }
    const std::span<const uint8_t> message = std::span(image.bytes).subspan(begin);
    const auto length = static_cast<uint32_t>(image.length - begin);
    PutChecksum(isIpv4 ? FoldChecksum(ChecksumOf(message)) : TransportChecksum(ip, message, length),
                begin + 2,
                image);
}

} // namespace tunnelcc
