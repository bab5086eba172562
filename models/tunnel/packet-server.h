/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_SERVER_H
#define TUNNELCC_PACKET_SERVER_H

#include "event/fifo.h"
#include "experiment/experiment-spec.h"
#include "host/cpu.h"
#include "path/packet.h"

#include <cstdint>

namespace tunnelcc
{

/// Who goes on with a packet that a PacketServer has handled.
class PacketHandler
{
  public:
    virtual ~PacketHandler() = default;

    /**
     * The CPU is done with a packet.
     * \param now ns
     * \param packet the packet, for the handler to change
     * \param ipBytes its size, 0 for an ACK that rides along
     * \param blocks its SACK blocks, if it has any
     */
    virtual void OnHandled(int64_t now,
                           Packet& packet,
                           uint32_t ipBytes,
                           const SackBlocks* blocks) = 0;
};

/// Counts since the simulation began.
struct PacketServerCounters
{
    uint64_t packets{0};    //!< offered
    uint64_t drops{0};      //!< of them, by the full queue
    uint32_t maxWaiting{0}; //!< most packets that ever waited
};

/**
 * A queue of packets in front of a program that handles one after the other: the queue of a TUN or
 * TAP device, or the receive buffer of a UDP socket.
 *
 * The packet being handled has left the queue. Work that costs nothing is done at once. A program
 * that cannot go on blocks: packets wait until it is unblocked.
 */
class PacketServer final : private CpuUser
{
  public:
    /**
     * \param thread that does the work
     * \param cost of a packet
     * \param limit most packets that wait; 0: no limit
     */
    PacketServer(CpuThread& thread, const PacketCostSpec& cost, uint32_t limit)
        : m_thread(thread),
          m_cost(cost),
          m_limit(limit ? limit : UINT32_MAX)
    {
    }

    PacketServer(const PacketServer&) = delete;
    PacketServer& operator=(const PacketServer&) = delete;

    /// Offer a packet. \returns whether there was room for it
    bool Enqueue(int64_t now,
                 const Packet& packet,
                 uint32_t ipBytes,
                 const SackBlocks* blocks,
                 PacketHandler& handler);

    /// Take an ACK that rides in the header of the packet just taken.
    void EnqueueAlong(int64_t now,
                      const Packet& ack,
                      const SackBlocks* blocks,
                      PacketHandler& handler);

    /// Begin no more packets, because of the one just handled, or before any came.
    void Block()
    {
        m_isBlocked = true;
        m_isBusy = true;
    }

    /// Go on.
    void Unblock(int64_t now)
    {
        m_isBlocked = false;
        GoOn(now);
    }

    bool IsBlocked() const
    {
        return m_isBlocked;
    }

    /// Packets that wait.
    uint32_t Waiting() const
    {
        return m_waiting;
    }

    const PacketServerCounters& Counters() const
    {
        return m_counters;
    }

  private:
    struct Work
    {
        Packet packet;
        PacketHandler* handler;
        uint32_t ipBytes;
    };

    bool IsFree() const
    {
        return m_cost.perPacket == 0 && m_cost.perByte == 0;
    }

    void Push(const Packet& packet,
              uint32_t ipBytes,
              const SackBlocks* blocks,
              PacketHandler& handler);
    void Begin(int64_t now);
    void GoOn(int64_t now);
    void HandleNext(int64_t now);
    void OnComputed(int64_t now) override;

    CpuThread& m_thread;
    const PacketCostSpec m_cost;
    const uint32_t m_limit;
    Fifo<Work> m_work;         //!< the first is being done, if any is
    Fifo<SackBlocks> m_blocks; //!< of those packets that have any, in the same order
    uint32_t m_waiting{0};
    bool m_isBusy{false};    //!< a packet is being handled, or must not be
    bool m_isBlocked{false}; //!< until Unblock()
    PacketServerCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_SERVER_H
