/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_TUNNEL_H
#define TUNNELCC_PACKET_TUNNEL_H

#include "program-queue.h"
#include "spec/end.h"

#include <cstdint>

namespace tunnelcc
{

/// What a tunnel put on the path in one direction since the simulation began.
struct OuterCounters
{
    uint64_t packets{0};    //!< IP packets, fragments included
    uint64_t bytes{0};      //!< IP bytes
    uint64_t fragmented{0}; //!< inner packets that left in more than one datagram
};

/// What can be watched of a tunnel that carries packets, as datagrams or in a stream.
class PacketTunnel
{
  public:
    virtual ~PacketTunnel() = default;

    /// Bring up to date what can be watched.
    virtual void CatchUp(int64_t now) = 0;

    /// Queue in front of the program at one end.
    virtual const ProgramQueue& DeviceQueue(End sender) const = 0;

    /// Packets from one end that the far end's socket dropped.
    virtual uint64_t SocketDrops(End sender) const = 0;

    /// What one end sent over the path.
    virtual OuterCounters Outer(End sender) const = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_TUNNEL_H
