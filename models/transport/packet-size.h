/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_SIZE_H
#define TUNNELCC_PACKET_SIZE_H

#include "path/packet.h"
#include "spec/tcp-spec.h"

namespace tunnelcc
{

/// Bytes of the SACK option with `blocks` blocks, padded (RFC 2018).
constexpr uint32_t
SackOptionBytes(uint32_t blocks)
{
    return blocks ? 4 + 8 * blocks : 0;
}

/// IP bytes of a segment with `payload` bytes. \param tcp settings of the end that sends it
inline uint32_t
SegmentIpBytes(uint32_t payload, const TcpSpec& tcp)
{
    return tcp.headerBytes + payload;
}

/// IP bytes of a pure ACK. \param sackBlocks number of its SACK blocks  \param tcp as for IpBytes()
inline uint32_t
AckIpBytes(uint32_t sackBlocks, const TcpSpec& tcp)
{
    return tcp.headerBytes - tcp.mappingBytes + SackOptionBytes(sackBlocks);
}

/// IP bytes of a packet of TCP or QUIC. \param tcp settings of the end that sent it
inline uint32_t
IpBytes(const Packet& packet, const TcpSpec& tcp)
{
    switch (packet.kind)
    {
    case PacketKind::SYN:
    case PacketKind::SYN_ACK:
        return tcp.synBytes;
    case PacketKind::DATA:
        return SegmentIpBytes(packet.length, tcp);
    case PacketKind::DATAGRAM:
        return packet.datagramBytes;
    default:
        return AckIpBytes(packet.sackBlocks, tcp);
    }
}

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_SIZE_H
