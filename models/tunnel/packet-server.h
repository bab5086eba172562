/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_SERVER_H
#define TUNNELCC_PACKET_SERVER_H

#include "host/cpu.h"
#include "packet-backlog.h"
#include "program-queue.h"
#include "spec/tunnel-spec.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * A program that handles packets on a thread that competes for cores, or is busy otherwise, too.
 *
 * Work that costs nothing is done at once. A program that cannot go on blocks: packets wait until
 * it is unblocked.
 */
class PacketServer final : public ProgramQueue, private CpuUser
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

    void Enqueue(int64_t now,
                 const Packet& packet,
                 uint32_t ipBytes,
                 const PacketExtras* extras,
                 PacketHandler& handler) override;

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
        StartNext(now);
    }

    bool IsBlocked() const
    {
        return m_isBlocked;
    }

    void CatchUp(int64_t /* now */) override
    {
    }

    uint32_t Waiting() const override
    {
        return m_waiting;
    }

    const ProgramQueueCounters& Counters() const override
    {
        return m_counters;
    }

  private:
    bool IsFree() const
    {
        return m_cost.perPacket == 0 && m_cost.perByte == 0;
    }

    void Begin(int64_t now);
    void StartNext(int64_t now);
    void OnComputed(int64_t now) override;

    CpuThread& m_thread;
    const PacketCostSpec m_cost;
    const uint32_t m_limit;
    PacketBacklog m_work; //!< the first is being done, if any is
    uint32_t m_waiting{0};
    bool m_isBusy{false};    //!< a packet is being handled, or must not be
    bool m_isBlocked{false}; //!< until Unblock()
    ProgramQueueCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_SERVER_H
