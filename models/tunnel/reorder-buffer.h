/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_REORDER_BUFFER_H
#define TUNNELCC_REORDER_BUFFER_H

#include "event/fifo.h"
#include "event/timer.h"
#include "path/histogram.h"
#include "program-queue.h"
#include "reordering-meter.h"
#include "route-rtt.h"
#include "spec/tunnel-spec.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tunnelcc
{

/// What several routes did to the order of packets in one direction, since StartMeasuring().
struct UplinksReport
{
    const ReorderingMeter& arrived; //!< at the far end
    const ReorderingMeter& left;    //!< behind the reorder buffer
    const Histogram& waited;        //!< in it, ns: of all packets
    uint64_t late{0};               //!< packets that it had given up
    uint64_t givenUp{0};            //!< packets for which others did not wait longer
};

/**
 * The far end of a tunnel with several routes: it hands numbered packets to the host, in order if
 * it has a buffer.
 *
 * A packet that is not the next one waits in the buffer. Where it has no room for a number, it
 * gives up the packets before, as DPDK's reorder library does (rte_reorder_insert()), which MLVPN
 * b934d49 has (reorder.c). A packet that was given up and comes late leaves at once.
 *
 * By its time, a packet leaves that has waited so long, and all before it, as RFC 2890, section
 * 2.2, has it for GRE. MLVPN (mlvpn.c, mlvpn_rtun_recv_data()) begins its time anew with each
 * packet, so that it gives up a lost one only where no room is left, or nothing comes any more.
 * Then all leave as they came, and the next packet that comes counts as the first.
 * ReorderSpec::restarts is that, and ReorderSpec::places its pool of packets: one that comes late
 * also keeps its place there, and leaves once more when all leave. Without a free place, packets
 * pass the buffer.
 */
class ReorderBuffer final : public PacketHandler, public LongestRtt
{
  public:
    /// \param spec of the buffer; none: packets leave as they come
    ReorderBuffer(EventLoop& loop, const std::optional<ReorderSpec>& spec);

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t ipBytes,
                   const PacketExtras* extras) override;

    /// The longest RTT over the routes is known better, ns.
    void Set(int64_t rtt) override;

    /// Count from now on.
    void StartMeasuring();

    UplinksReport Report() const
    {
        return {m_arrived, m_left, m_waited, m_lates, m_givenUp};
    }

  private:
    static constexpr int64_t UNKNOWN = 800 * MS; //!< MLVPN's time until RTTs are measured

    struct Slot
    {
        Packet packet;
        PacketExtras extras;
        int64_t since;  //!< when it came, ns
        uint64_t order; //!< in which packets came
        bool isUsed;
    };

    /// A packet that waits, or has left.
    struct Waiting
    {
        int64_t number;
        int64_t since; //!< ns
    };

    int64_t Size() const
    {
        return m_spec.size;
    }

    Slot& SlotOf(int64_t number)
    {
        return m_slots[static_cast<size_t>(number % Size())];
    }

    Slot MakeSlot(int64_t now, const Packet& packet, const PacketExtras* extras);

    void Leave(int64_t now, int64_t since, const Packet& packet, const PacketExtras* extras);

    /// A packet that waits leaves.
    void LeaveSlot(int64_t now, Slot& slot);

    /// The next packets leave that are there.
    void LeaveInOrder(int64_t now);

    /// Wait no longer for packets before a number: those leave that are there.
    void GiveUpTo(int64_t now, int64_t number);

    void SetTimer(int64_t now);

    void OnTime(int64_t now);

    /// All leave, as they came.
    void Empty(int64_t now);

    /// Late packets leave once more that came before another.
    void RepeatLate(int64_t now, uint64_t order);

    const ReorderSpec m_spec;
    int64_t m_time; //!< ns
    Timer<ReorderBuffer, &ReorderBuffer::OnTime> m_timer;
    std::vector<Slot> m_slots;    //!< by number
    std::vector<Slot*> m_leaving; //!< those that Empty() lets leave
    Fifo<Waiting> m_waitingSince; //!< in order of their arrival
    Fifo<Slot> m_late;            //!< copies of late packets that keep a place
    size_t m_waiting{0};          //!< packets in slots
    int64_t m_next{0};            //!< number of the next packet
    bool m_hasNext{false};        //!< a packet came since all had left
    uint64_t m_orders{0};         //!< packets that took a place
    ReorderingMeter m_arrived;
    ReorderingMeter m_left;
    Histogram m_waited;
    uint64_t m_lates{0};
    uint64_t m_givenUp{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_REORDER_BUFFER_H
