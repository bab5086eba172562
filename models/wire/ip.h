/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_IP_H
#define TUNNELCC_IP_H

#include "packet-image.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace tunnelcc
{

/// An address of IPv4, which takes 4 of the bytes, or of IPv6.
struct IpAddress
{
    std::array<uint8_t, 16> bytes{};
    uint8_t version{4};

    std::span<const uint8_t> Span() const
    {
        return {bytes.data(), version == 4 ? size_t{4} : size_t{16}};
    }
};

/// Numbers that IP has for what it carries (IANA, Protocol Numbers).
enum class IpProtocol : uint8_t
{
    ICMP = 1,
    TCP = 6,
    UDP = 17,
    FRAGMENT = 44, //!< IPv6's fragment header
    ESP = 50,
    ICMPV6 = 58
};

/// The part of a datagram that a fragment holds, bytes.
struct IpFragment
{
    uint16_t identification;
    uint32_t offset;
    bool isLast;
};

/// What the headers of IP say.
struct IpHeader
{
    IpAddress source;
    IpAddress destination;
    IpProtocol protocol{IpProtocol::TCP};
    uint8_t ecn{0};                     //!< RFC 3168
    std::optional<IpFragment> fragment; //!< none: whole, and not to be fragmented

    /// Bytes that it takes.
    uint32_t Size() const
    {
        const uint32_t plain = source.version == 4 ? 20 : 40;
        return plain + (source.version == 6 && fragment ? 8 : 0);
    }
};

/**
 * Write the header of IPv4 (RFC 791, without options) or IPv6 (RFC 8200).
 * \param length of the packet with this header, bytes
 */
void WriteIp(const IpHeader& header, uint32_t length, std::vector<uint8_t>& bytes);

/// Sum of 16-bit words, as the Internet checksum has it (RFC 1071), without its complement.
uint32_t ChecksumOf(std::span<const uint8_t> bytes, uint32_t sum = 0);

/// The checksum that belongs to a sum.
uint16_t FoldChecksum(uint32_t sum);

/**
 * The checksum of TCP or UDP (RFC 9293, section 3.1; RFC 768; RFC 8200, section 8.1).
 * \param payload of IP, all bytes that are not 0 at its end included
 * \param length of the payload, bytes
 */
uint16_t TransportChecksum(const IpHeader& header,
                           std::span<const uint8_t> payload,
                           uint32_t length);

/// Write the header of UDP with a checksum of 0; see FinishUdp(). \param length with this header
void WriteUdp(uint16_t source, uint16_t destination, uint32_t length, std::vector<uint8_t>& bytes);

/// Compute the checksum of UDP, now that the packet is complete. \param at where UDP begins
void FinishUdp(const IpHeader& header, PacketImage& image, uint32_t at);

} // namespace tunnelcc

#endif // TUNNELCC_IP_H
