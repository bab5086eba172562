/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PROGRAM_QUEUE_H
#define TUNNELCC_PROGRAM_QUEUE_H

#include "path/packet.h"

#include <cstdint>

namespace tunnelcc
{

/// Receives the packets that leave a ProgramQueue.
class PacketHandler
{
  public:
    virtual ~PacketHandler() = default;

    /**
     * The CPU is done with a packet.
     * \param now ns
     * \param packet the packet; the handler may change it
     * \param ipBytes its size, bytes
     * \param extras its extras, if Packet::HasExtras()
     */
    virtual void OnHandled(int64_t now,
                           Packet& packet,
                           uint32_t ipBytes,
                           const PacketExtras* extras) = 0;
};

/// Counts since the simulation began.
struct ProgramQueueCounters
{
    uint64_t packets{0};    //!< packets that arrived
    uint64_t drops{0};      //!< of them, dropped by the full queue
    uint32_t maxWaiting{0}; //!< largest number of waiting packets
};

/**
 * A queue of packets in front of a program, which handles one packet after the other: the queue of
 * a TUN or TAP device, or the receive buffer of a UDP socket. The packet in work has left the
 * queue.
 */
class ProgramQueue
{
  public:
    virtual ~ProgramQueue() = default;

    /**
     * Put a packet into the queue, or drop it.
     * \param now ns
     * \param packet the packet
     * \param ipBytes its size, bytes
     * \param extras its extras, if Packet::HasExtras()
     * \param handler receives the packet when the program is done with it
     */
    virtual void Enqueue(int64_t now,
                         const Packet& packet,
                         uint32_t ipBytes,
                         const PacketExtras* extras,
                         PacketHandler& handler) = 0;

    /// Bring the counters up to date, and hand over the packets that are done.
    virtual void CatchUp(int64_t now) = 0;

    /// Number of waiting packets.
    virtual uint32_t Waiting() const = 0;

    virtual const ProgramQueueCounters& Counters() const = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_PROGRAM_QUEUE_H
