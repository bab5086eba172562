/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HANDSHAKE_OPTIONS_H
#define TUNNELCC_HANDSHAKE_OPTIONS_H

#include "path/packet.h"

#include <cstdint>

namespace tunnelcc
{

constexpr uint32_t DATA_ACK_BYTES = 12; //!< of an option DSS with a data ACK of 64 bits alone

/// Whether a packet of a subflow's client is the third one of a handshake: no data came yet.
inline bool
IsThirdOfHandshake(const Packet& packet)
{
    return packet.kind == PacketKind::ACK && packet.ackNumber == 0 && packet.sackBlocks == 0;
}

/**
 * What the options of a handshake's packet have beyond those that TcpSpec counts, bytes: MP_CAPABLE
 * on the first subflow, MP_JOIN on others (RFC 8684, sections 3.1 and 3.2), and on the client's
 * ACK in place of a data ACK (Linux 7.3 mptcp_established_options()).
 */
inline uint32_t
HandshakeOptionBytes(const Packet& packet, bool isClient, bool isJoin)
{
    switch (packet.kind)
    {
    case PacketKind::SYN:
        return isJoin ? 12 : 4;
    case PacketKind::SYN_ACK:
        return isJoin ? 16 : 12;
    default:
        return isClient && IsThirdOfHandshake(packet) ? (isJoin ? 24 : 20) - DATA_ACK_BYTES : 0;
    }
}

} // namespace tunnelcc

#endif // TUNNELCC_HANDSHAKE_OPTIONS_H
