/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EVENT_QUEUE_H
#define TUNNELCC_EVENT_QUEUE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

class EventSource;

/**
 * Pending events, in order of time, then of rank.
 *
 * A few are in a sorted list. Where there are more, it has those of the next microseconds, and the
 * others wait in hierarchical timing wheels (Varghese and Lauck, 1987): an event then costs the
 * same however many are pending. The lowest wheel has a slot for every 16 microseconds, each other
 * one a slot for all of the wheel below. Events of a slot are not sorted until they move to the
 * list.
 */
class EventQueue
{
  public:
    struct Event
    {
        int64_t time; //!< ns, not negative
        uint64_t rank;
        EventSource* source;
    };

    EventQueue();

    bool IsEmpty() const
    {
        return m_near.empty() && m_inWheels == 0;
    }

    /// Add an event that comes after the one taken last.
    void Insert(int64_t time, uint64_t rank, EventSource* source)
    {
        if (static_cast<uint64_t>(time) >= m_nearEnd)
        {
            InsertLater(time, rank, source);
        }
        else
        {
            InsertNear(time, rank, source);
            if (m_near.size() > MOST_IN_LIST && m_nearEnd == ALL)
            {
                Spill();
            }
        }
    }

    /// Whether an event of the given time and rank would come before all others.
    bool IsFirst(int64_t time, uint64_t rank)
    {
        return m_near.empty() ? IsBeforeWheels(time, rank) : Key(time, rank) < KeyOf(m_near.back());
    }

    /// Take the first event. \pre there is one
    Event Pop()
    {
        if (m_near.empty())
        {
            Refill();
        }
        const Event first = m_near.back();
        m_near.pop_back();
        if (m_near.size() > 1)
        {
            // Of hundreds of flows, what will be needed next but one is in no near cache.
            __builtin_prefetch(m_near.end()[-2].source);
        }
        return first;
    }

  private:
    static constexpr size_t MOST_IN_LIST = 96; //!< events that are in the list alone
    static constexpr size_t FEW = 16;          //!< events for which the wheels are given up again
    static constexpr int LOWEST_BITS = 14;     //!< a slot of the lowest wheel lasts 16,384 ns
    static constexpr int WHEEL_BITS = 6;       //!< a wheel has 64 slots
    static constexpr int WHEELS = 9;           //!< for all 63 bits of a time
    static constexpr uint64_t ALL = UINT64_MAX;
    static constexpr uint32_t NONE = UINT32_MAX;

    /// An event in a slot, and the one behind it.
    struct Node
    {
        Event event;
        uint32_t next; //!< place in m_nodes
    };

    struct Wheel
    {
        uint64_t filled{0};                           //!< a bit for each slot that has events
        std::array<uint32_t, 1 << WHEEL_BITS> firsts; //!< of each slot, places in m_nodes
    };

    /// Time and rank as one number, which takes no branch to compare.
    static unsigned __int128 Key(int64_t time, uint64_t rank)
    {
        return static_cast<unsigned __int128>(time) << 64 | rank;
    }

    static unsigned __int128 KeyOf(const Event& event)
    {
        return Key(event.time, event.rank);
    }

    // Members one by one: a processor that copies as a whole what was written in parts first waits
    // until its caches have all that was written before.
    static void Write(Event& event, int64_t time, uint64_t rank, EventSource* source)
    {
        event.time = time;
        event.rank = rank;
        event.source = source;
    }

    void InsertNear(int64_t time, uint64_t rank, EventSource* source)
    {
        m_near.emplace_back();
        Event* place = &m_near.back();
        for (; place > m_near.data() && Key(time, rank) > KeyOf(place[-1]); --place)
        {
            *place = place[-1];
        }
        Write(*place, time, rank, source);
    }

    // Not inline, or events that go to the list would pay for their registers.
    [[gnu::noinline]] void InsertLater(int64_t time, uint64_t rank, EventSource* source);
    /// As IsFirst(), where the list is empty.
    [[gnu::noinline]] bool IsBeforeWheels(int64_t time, uint64_t rank);
    /// Move the later half of the list, in which all events are, to the wheels.
    [[gnu::noinline]] void Spill();
    /// Fill the list, which is empty. \pre there is an event
    [[gnu::noinline]] void Refill();
    /// When the first slot that has events begins, ns. \pre there is one
    uint64_t FirstSlotTime() const;
    /// Put a node, whose event comes at m_position or later, into its slot.
    void PutInSlot(uint32_t place);
    /// Empty the first slot that has events: into the list, not sorted, or into the wheels below.
    void TakeSlot();
    void SortList();

    std::vector<Event> m_near;  //!< the latest first; all that come before m_nearEnd
    uint64_t m_nearEnd{ALL};    //!< ns; ALL: nothing is in the wheels
    size_t m_inWheels{0};       //!< events
    uint64_t m_position{0};     //!< number of the lowest wheel's latest slot, counted from time 0
    uint32_t m_filledWheels{0}; //!< a bit for each wheel that has events
    std::array<Wheel, WHEELS> m_wheels;
    std::vector<Node> m_nodes;
    uint32_t m_free{NONE}; //!< first of the nodes not in use
};

} // namespace tunnelcc

#endif // TUNNELCC_EVENT_QUEUE_H
