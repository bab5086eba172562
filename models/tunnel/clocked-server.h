/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CLOCKED_SERVER_H
#define TUNNELCC_CLOCKED_SERVER_H

#include "event/fifo.h"
#include "host/cpu.h"
#include "packet-backlog.h"
#include "program-queue.h"
#include "spec/tunnel-spec.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * A program that handles packets and has a core to itself.
 *
 * It is a virtual clock, as Link is: when a packet arrives, the end of its work is computed. So
 * packets may be passed to it ahead of simulated time, in order of their arrival. Packets that are
 * done may be handed over late, many of them in one event, where this changes nothing behind it.
 * The time at which each was done goes with it.
 */
class ClockedServer final : public ProgramQueue, private EventSource, private CpuLoad
{
  public:
    /**
     * \param cpu the CPU of the host
     * \param cost the cost of a packet
     * \param limit largest number of waiting packets; 0: no limit
     * \param slack how late packets may be handed over, ns
     */
    ClockedServer(Cpu& cpu, const PacketCostSpec& cost, uint32_t limit, int64_t slack = 0);

    void Enqueue(int64_t now,
                 const Packet& packet,
                 uint32_t ipBytes,
                 const PacketExtras* extras,
                 PacketHandler& handler) override;

    void CatchUp(int64_t now) override;

    uint32_t Waiting() const override
    {
        return static_cast<uint32_t>(m_begins.Size());
    }

    /// The counts. Drops of packets that came ahead of simulated time count from their time on.
    const ProgramQueueCounters& Counters() const override
    {
        return m_counters;
    }

  private:
    void Fire(int64_t now) override;
    int64_t Busy(int64_t now) const override;

    bool Admit(int64_t now);
    int64_t DurationOf(uint32_t ipBytes) const;
    void Push(const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras,
              PacketHandler& handler);
    void HandOver(int64_t now);
    void Begin(int64_t now);
    void CountDrops(int64_t now);

    const Cpu& m_cpu;
    const PacketCostSpec m_cost;
    const uint32_t m_limit;
    const int64_t m_slack;       //!< ns
    int64_t m_freeAt{0};         //!< time at which the latest packet is done, ns
    int64_t m_submitted{0};      //!< CPU time of all packets so far, ns
    uint32_t m_latestBytes{0};   //!< size of the latest packet; most packets have the same
    int64_t m_latestDuration{0}; //!< its CPU time, ns
    bool m_isArmed{false};       //!< an event is pending, or runs now
    PacketBacklog m_work;        //!< packets not handed over; their time is the end of their work
    Fifo<int64_t> m_begins;      //!< times at which the work on waiting packets begins, ns
    Fifo<int64_t> m_dropsAhead;  //!< times of drops that lie ahead, ns
    ProgramQueueCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_CLOCKED_SERVER_H
