/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_TUNNEL_H
#define TUNNELCC_PACKET_TUNNEL_H

#include "fec/fec-log.h"
#include "program-queue.h"
#include "reorder-buffer.h"
#include "spec/end.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// Counts of the packets that a tunnel's program took from its device in one direction, since the
/// simulation began.
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

/// Counts of the packets that a tunnel sent on the path in one direction, since the simulation
/// began.
struct OuterCounters
{
    uint64_t packets{0};    //!< IP packets, fragments included
    uint64_t bytes{0};      //!< IP bytes
    uint64_t fragmented{0}; //!< inner packets, or shards, that left in more than one packet

    /// Count a datagram, which left in packets of these sizes, IP bytes.
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

/// Counts of one direction of a tunnel.
struct TunnelCounters
{
    InnerCounters inner;
    OuterCounters outer;
};

/// Packets that a QUIC carrier did not take in one direction, since the simulation began.
struct CarrierDrops
{
    uint64_t full{0};     //!< its queue was full
    uint64_t tooLarge{0}; //!< they fit into none of its packets
};

/// Counts of FEC in one direction.
struct FecReport
{
    OuterCounters parity;           //!< packets of parity on the path, since the simulation began
    FecCounters packets;            //!< since PacketTunnel::StartMeasuring()
    const Histogram& recoveryDelay; //!< from the time a packet was sent to the time at which the
                                    //!< shard was sent that recovered it, ns
};

/// The counters of a tunnel that carries packets, as datagrams or in a stream, for probes.
class PacketTunnel
{
  public:
    virtual ~PacketTunnel() = default;

    /// Bring the counters up to date.
    virtual void CatchUp(int64_t now) = 0;

    /// The queue in front of the program at one end.
    virtual const ProgramQueue& DeviceQueue(End sender) const = 0;

    /// Packets from one end that the far end's socket dropped.
    virtual uint64_t SocketDrops(End sender) const = 0;

    /// Packets from one end that its carrier did not take; empty: it takes all.
    virtual std::optional<CarrierDrops> DropsAtCarrier(End /* sender */) const
    {
        return std::nullopt;
    }

    /// Counts of the packets that one end sent.
    virtual TunnelCounters Counters(End sender) const = 0;

    /// The warm-up is over: what has several routes counts from now on, and FEC the groups that
    /// begin.
    virtual void StartMeasuring()
    {
    }

    /// What several routes did to the packets of one end; empty if they have one, or flows have.
    virtual std::optional<UplinksReport> Uplinks(End /* sender */) const
    {
        return std::nullopt;
    }

    /// Counts of FEC until `now` (ns) for the packets of one end; empty if there is no FEC.
    virtual std::optional<FecReport> Fec(int64_t /* now */, End /* sender */) const
    {
        return std::nullopt;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_TUNNEL_H
