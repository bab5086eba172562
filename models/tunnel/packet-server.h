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
 * A program that handles packets on a thread which competes for cores, or which has other work.
 *
 * Work that costs nothing is done at once. A program that cannot go on blocks: then packets wait
 * until Unblock().
 */
class PacketServer final : public ProgramQueue, private CpuUser
{
  public:
    /**
     * \param thread the thread that does the work
     * \param cost the cost of a packet
     * \param limit largest number of waiting packets; 0: no limit
     * \param release packets that have left before their room is free, as UdpSocket's
     */
    PacketServer(CpuThread& thread,
                 const PacketCostSpec& cost,
                 uint32_t limit,
                 uint32_t release = 0)
        : m_thread(thread),
          m_cost(cost),
          m_limit(limit ? limit : UINT32_MAX),
          m_release(release)
    {
    }

    PacketServer(const PacketServer&) = delete;
    PacketServer& operator=(const PacketServer&) = delete;

    void Enqueue(int64_t now,
                 const Packet& packet,
                 uint32_t ipBytes,
                 const PacketExtras* extras,
                 PacketHandler& handler) override;

    /// Handle no more packets until Unblock(). The program calls it for a packet just handled, or
    /// before the first.
    void Block()
    {
        m_isBlocked = true;
        m_isBusy = true;
    }

    /// Handle packets again.
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
    const uint32_t m_release;
    PacketBacklog m_work; //!< packets; the first is the one in work, if there is one
    uint32_t m_waiting{0};
    uint32_t m_unreleased{0}; //!< packets that have left, and whose room is not free yet
    bool m_isBusy{false};     //!< a packet is in work, or none may be
    bool m_isBlocked{false};  //!< until Unblock()
    ProgramQueueCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_SERVER_H
