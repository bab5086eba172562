/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_TUNNEL_H
#define TUNNELCC_PACKET_TUNNEL_H

#include "fec/fec-log.h"
#include "program-queue.h"
#include "spec/end.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// What the hosts sent into a tunnel in one direction since the simulation began, without what the
/// device dropped or still holds.
struct InnerCounters
{
    uint64_t packets{0};
    uint64_t bytes{0}; //!< IP bytes

    /// A packet was taken from the device.
    void Count(uint32_t ipBytes)
    {
        ++packets;
        bytes += ipBytes;
    }
};

/// What a tunnel put on the path in one direction since the simulation began.
struct OuterCounters
{
    uint64_t packets{0};    //!< IP packets, fragments included
    uint64_t bytes{0};      //!< IP bytes
    uint64_t fragmented{0}; //!< inner packets, or shards, that left in more than one datagram

    /// A datagram left in packets of these IP bytes.
    void Count(const std::vector<uint32_t>& outer)
    {
        if (outer.size() == 1) // as nearly all do
        {
            ++packets;
            bytes += outer.front();
            return;
        }
        packets += outer.size();
        for (uint32_t ipBytes : outer)
        {
            bytes += ipBytes;
        }
        ++fragmented;
    }
};

/// What went into a tunnel and came out of it in one direction.
struct TunnelCounters
{
    InnerCounters inner;
    OuterCounters outer;
};

/// What FEC did in one direction.
struct FecReport
{
    OuterCounters parity;           //!< of the packets on the path, since the simulation began
    FecCounters packets;            //!< since PacketTunnel::StartMeasuring()
    const Histogram& recoveryDelay; //!< how much later than a packet the shard left that brought it
                                    //!< back, ns
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

    /// What one end's host sent into the tunnel, and what it sent over the path.
    virtual TunnelCounters Counters(End sender) const = 0;

    /// The warm-up is over: FEC counts what begins from now on.
    virtual void StartMeasuring()
    {
    }

    /// What FEC did until `now` ns for what one end sent; none: there is no FEC.
    virtual std::optional<FecReport> Fec(int64_t /* now */, End /* sender */) const
    {
        return std::nullopt;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_TUNNEL_H
