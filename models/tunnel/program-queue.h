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
     * \param packet the packet, for the handler to change
     * \param ipBytes its size
     * \param extras what goes with it, if Packet::HasExtras()
     */
    virtual void OnHandled(int64_t now,
                           Packet& packet,
                           uint32_t ipBytes,
                           const PacketExtras* extras) = 0;
};

/// Counts since the simulation began.
struct ProgramQueueCounters
{
    uint64_t packets{0};    //!< offered
    uint64_t drops{0};      //!< of them, by the full queue
    uint32_t maxWaiting{0}; //!< most packets that ever waited
};

/**
 * A queue of packets in front of a program that handles one after the other: the queue of a TUN or
 * TAP device, or the receive buffer of a UDP socket. The packet being handled has left the queue.
 */
class ProgramQueue
{
  public:
    virtual ~ProgramQueue() = default;

    /**
     * Offer a packet.
     * \param now ns
     * \param packet the packet
     * \param ipBytes its size
     * \param extras what goes with it, if Packet::HasExtras()
     * \param handler who goes on with it
     */
    virtual void Enqueue(int64_t now,
                         const Packet& packet,
                         uint32_t ipBytes,
                         const PacketExtras* extras,
                         PacketHandler& handler) = 0;

    /// Bring up to date what can be read here, and what follows from packets that are done.
    virtual void CatchUp(int64_t now) = 0;

    /// Packets that wait.
    virtual uint32_t Waiting() const = 0;

    virtual const ProgramQueueCounters& Counters() const = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_PROGRAM_QUEUE_H
