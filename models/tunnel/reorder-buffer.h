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

#include <algorithm>
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
    ReorderBuffer(EventLoop& loop, const std::optional<ReorderSpec>& spec)
        : m_spec(spec.value_or(ReorderSpec{})),
          m_time(m_spec.time ? m_spec.time : UNKNOWN),
          m_timer(loop, this),
          m_slots(m_spec.size)
    {
        m_leaving.reserve(m_slots.size());
    }

    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t /* ipBytes */,
                   const PacketExtras* extras) override
    {
        const int64_t number = packet.time;
        m_arrived.Count(number);
        if (m_spec.size == 0)
        {
            Leave(now, now, packet, extras);
            return;
        }
        if (m_spec.places && m_waiting + m_late.Size() >= m_spec.places)
        {
            Leave(now, now, packet, extras);
            return;
        }
        if (!m_hasNext)
        {
            m_next = number;
            m_hasNext = true;
        }
        const int64_t ahead = number - m_next;
        if (ahead < 0 || (m_spec.restarts && ahead >= 2 * Size()))
        {
            ++m_lates;
            if (m_spec.places)
            {
                m_late.Push(MakeSlot(now, packet, extras));
            }
            Leave(now, now, packet, extras);
            return;
        }
        if (ahead >= Size())
        {
            GiveUpTo(now, number - Size() + 1);
            LeaveInOrder(now);
        }
        if (number == m_next)
        {
            ++m_next;
            Leave(now, now, packet, extras);
            LeaveInOrder(now);
        }
        else
        {
            Slot& slot = SlotOf(number);
            slot = MakeSlot(now, packet, extras);
            slot.isUsed = true;
            ++m_waiting;
            if (!m_spec.restarts)
            {
                m_waitingSince.Push({number, now});
            }
        }
        SetTimer(now);
    }

    /// The longest RTT over the routes is known better, ns.
    void Set(int64_t rtt) override
    {
        if (m_spec.time == 0)
        {
            m_time = rtt * 22 / 10;
        }
    }

    /// Count from now on.
    void StartMeasuring()
    {
        m_arrived.StartMeasuring();
        m_left.StartMeasuring();
        m_waited = Histogram();
        m_lates = m_givenUp = 0;
    }

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

    Slot MakeSlot(int64_t now, const Packet& packet, const PacketExtras* extras)
    {
        return {packet, packet.HasExtras() ? *extras : PacketExtras{}, now, m_orders++, false};
    }

    void Leave(int64_t now, int64_t since, const Packet& packet, const PacketExtras* extras)
    {
        m_left.Count(packet.time);
        m_waited.Record(now - since);
        packet.sink->Receive(now, packet, extras);
    }

    /// A packet that waits leaves.
    void LeaveSlot(int64_t now, Slot& slot)
    {
        const Slot leaving = slot;
        slot.isUsed = false;
        --m_waiting;
        Leave(now, leaving.since, leaving.packet, &leaving.extras);
    }

    /// The next packets leave that are there.
    void LeaveInOrder(int64_t now)
    {
        while (m_waiting > 0 && SlotOf(m_next).isUsed)
        {
            LeaveSlot(now, SlotOf(m_next++));
        }
    }

    /// Wait no longer for packets before a number: those leave that are there.
    void GiveUpTo(int64_t now, int64_t number)
    {
        while (m_next < number)
        {
            if (m_waiting == 0)
            {
                m_givenUp += static_cast<uint64_t>(number - m_next);
                m_next = number;
                return;
            }
            Slot& slot = SlotOf(m_next++);
            if (slot.isUsed)
            {
                LeaveSlot(now, slot);
            }
            else
            {
                ++m_givenUp;
            }
        }
    }

    void SetTimer(int64_t now)
    {
        if (m_spec.restarts)
        {
            m_waiting + m_late.Size() > 0 ? m_timer.Set(now + m_time) : m_timer.Cancel();
            return;
        }
        while (!m_waitingSince.IsEmpty() && m_waitingSince.Front().number < m_next)
        {
            m_waitingSince.Pop(); // it has left
        }
        m_waitingSince.IsEmpty() ? m_timer.Cancel()
                                 : m_timer.Set(m_waitingSince.Front().since + m_time);
    }

    void OnTime(int64_t now)
    {
        if (m_spec.restarts)
        {
            Empty(now);
            return;
        }
        // The one that has waited longest, and all before it.
        GiveUpTo(now, m_waitingSince.Front().number);
        LeaveInOrder(now);
        SetTimer(now);
    }

    /// All leave, as they came.
    void Empty(int64_t now)
    {
        m_hasNext = false;
        m_leaving.clear();
        for (Slot& slot : m_slots)
        {
            if (slot.isUsed)
            {
                m_leaving.push_back(&slot);
            }
        }
        std::sort(m_leaving.begin(), m_leaving.end(), [](const Slot* one, const Slot* other) {
            return one->order < other->order;
        });
        for (Slot* slot : m_leaving)
        {
            RepeatLate(now, slot->order);
            LeaveSlot(now, *slot);
        }
        RepeatLate(now, m_orders);
    }

    /// Late packets leave once more that came before another.
    void RepeatLate(int64_t now, uint64_t order)
    {
        while (!m_late.IsEmpty() && m_late.Front().order < order)
        {
            const Slot again = m_late.Front();
            m_late.Pop();
            again.packet.sink->Receive(now, again.packet, &again.extras);
        }
    }

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
