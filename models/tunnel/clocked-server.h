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
 * A program that handles packets on a core that it has to itself.
 *
 * Runs on a virtual clock, as Link does: when a packet is offered, its end is known, so that
 * packets may be offered ahead of simulated time, each no earlier than the one before. Where nobody
 * can notice, packets that are done may also be handed over late, many of them in one event; with
 * them goes the time at which they were done.
 */
class ClockedServer final : public ProgramQueue, private EventSource, private CpuLoad
{
  public:
    /**
     * \param cpu of the host
     * \param cost of a packet
     * \param limit most packets that wait; 0: no limit
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

    /// Counts; drops of packets that were offered ahead come with their time.
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
    int64_t m_freeAt{0};         //!< when the latest packet is done, ns
    int64_t m_submitted{0};      //!< work taken so far, ns
    uint32_t m_latestBytes{0};   //!< size of the latest packet, of which most are alike
    int64_t m_latestDuration{0}; //!< and its work, ns
    bool m_isArmed{false};       //!< an event is pending, or being run
    PacketBacklog m_work;        //!< what was not handed over; a packet's time is its end
    Fifo<int64_t> m_begins;      //!< of the work for packets that wait, ns
    Fifo<int64_t> m_dropsAhead;  //!< times of drops that are still to come, ns
    ProgramQueueCounters m_counters;
};

} // namespace tunnelcc

#endif // TUNNELCC_CLOCKED_SERVER_H
