/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ip.h"

namespace tunnelcc
{

namespace
{

constexpr uint8_t HOP_LIMIT = 64; // Linux sysctl ip_default_ttl, hop_limit
constexpr uint16_t DONT_FRAGMENT = 0x4000;
constexpr uint16_t MORE_FRAGMENTS = 0x2000;
constexpr uint32_t FRAGMENT_UNIT = 8;

void
WriteIpv4(const IpHeader& header, uint32_t length, std::vector<uint8_t>& bytes)
{
    const size_t begin = bytes.size();
    uint16_t identification = 0; // of a packet that is never fragmented, it says nothing (RFC 6864)
    uint16_t fragment = DONT_FRAGMENT;
    if (header.fragment)
    {
        identification = header.fragment->identification;
        fragment = static_cast<uint16_t>(header.fragment->offset / FRAGMENT_UNIT) |
                   (header.fragment->isLast ? 0 : MORE_FRAGMENTS);
    }
    ByteWriter(bytes)
        .U8(0x45)
        .U8(header.ecn)
        .U16(length)
        .U16(identification)
        .U16(fragment)
        .U8(HOP_LIMIT)
        .U8(static_cast<uint8_t>(header.protocol))
        .U16(0)
        .Bytes(header.source.Span())
        .Bytes(header.destination.Span());
    const uint16_t checksum = FoldChecksum(ChecksumOf(std::span(bytes).subspan(begin)));
    bytes[begin + 10] = static_cast<uint8_t>(checksum >> 8);
    bytes[begin + 11] = static_cast<uint8_t>(checksum);
}

void
WriteIpv6(const IpHeader& header, uint32_t length, std::vector<uint8_t>& bytes)
{
    constexpr uint32_t PLAIN_HEADER = 40;
    const IpProtocol next = header.fragment ? IpProtocol::FRAGMENT : header.protocol;
    ByteWriter writer(bytes);
    writer.U32((uint32_t{6} << 28) | (uint32_t{header.ecn} << 20))
        .U16(length - PLAIN_HEADER)
        .U8(static_cast<uint8_t>(next))
        .U8(HOP_LIMIT)
        .Bytes(header.source.Span())
        .Bytes(header.destination.Span());
    if (header.fragment)
    {
        writer.U8(static_cast<uint8_t>(header.protocol))
            .U8(0)
            .U16(header.fragment->offset | (header.fragment->isLast ? 0 : 1))
            .U32(header.fragment->identification);
    }
}

} // namespace

void
WriteIp(const IpHeader& header, uint32_t length, std::vector<uint8_t>& bytes)
{
    header.source.version == 4 ? WriteIpv4(header, length, bytes)
                               : WriteIpv6(header, length, bytes);
}

uint32_t
ChecksumOf(std::span<const uint8_t> bytes, uint32_t sum)
{
    // A packet has less than 2^16 bytes, so that the sum has room for all carries.
    size_t i = 0;
    for (; i + 1 < bytes.size(); i += 2)
    {
        sum += static_cast<uint32_t>(bytes[i]) << 8 | bytes[i + 1];
    }
    return i < bytes.size() ? sum + (static_cast<uint32_t>(bytes[i]) << 8) : sum;
}

uint16_t
FoldChecksum(uint32_t sum)
{
    while (sum > 0xffff)
    {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<uint16_t>(~sum);
}

uint16_t
TransportChecksum(const IpHeader& header, std::span<const uint8_t> payload, uint32_t length)
{
    uint32_t sum = ChecksumOf(header.source.Span());
    sum = ChecksumOf(header.destination.Span(), sum);
    sum += static_cast<uint8_t>(header.protocol);
    sum += (length >> 16) + (length & 0xffff);
    return FoldChecksum(ChecksumOf(payload, sum));
}

void
WriteUdp(uint16_t source, uint16_t destination, uint32_t length, std::vector<uint8_t>& bytes)
{
    ByteWriter(bytes).U16(source).U16(destination).U16(length).U16(0);
}

void
FinishUdp(const IpHeader& header, PacketImage& image, uint32_t at)
{
    const std::span payload = std::span(image.bytes).subspan(at);
    uint16_t checksum = TransportChecksum(header, payload, image.length - at);
    checksum = checksum == 0 ? 0xffff : checksum; // 0: there is none
    image.bytes[at + 6] = static_cast<uint8_t>(checksum >> 8);
    image.bytes[at + 7] = static_cast<uint8_t>(checksum);
}

} // namespace tunnelcc
