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
 * The queue of pending events, in order of time, then of rank.
 *
 * Few events are in one sorted list. If there are more, the list has those of the next
 * microseconds, and the others wait in hierarchical timing wheels (Varghese and Lauck, 1987). Then
 * an event costs the same, however many are pending. A slot of the lowest wheel lasts 16
 * microseconds; a slot of any other wheel lasts as long as the whole wheel below it. The events of
 * a slot are sorted when they move to the list.
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

    /// Add an event. It must come after the one that was taken last.
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

    /// Whether an event with this time (ns) and rank would come before all others.
    bool IsFirst(int64_t time, uint64_t rank)
    {
        return m_near.empty() ? IsBeforeWheels(time, rank) : Key(time, rank) < KeyOf(m_near.back());
    }

    /// Time of the first event, ns. \pre there is one
    int64_t FirstTime()
    {
        if (m_near.empty())
        {
            Refill();
        }
        return m_near.back().time;
    }

    /// Take out all events of a source. It looks at all that are pending.
    void Remove(const EventSource* source);

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
            // With hundreds of flows, the source of the event after the next is in no near cache.
            __builtin_prefetch(m_near.end()[-2].source);
        }
        return first;
    }

  private:
    static constexpr size_t MOST_IN_LIST = 96; //!< events that are in the list alone
    static constexpr size_t FEW = 16;          //!< with so few events, the wheels are given up
    static constexpr int LOWEST_BITS = 14;     //!< a slot of the lowest wheel lasts 16,384 ns
    static constexpr int WHEEL_BITS = 6;       //!< a wheel has 64 slots
    static constexpr int WHEELS = 9;           //!< for all 63 bits of a time
    static constexpr uint64_t ALL = UINT64_MAX;
    static constexpr uint32_t NONE = UINT32_MAX;

    /// An event in a slot, and a link to the next one in that slot.
    struct Node
    {
        Event event;
        uint32_t next; //!< its place in m_nodes
    };

    struct Wheel
    {
        uint64_t filled{0};                           //!< a bit for each slot that has events
        std::array<uint32_t, 1 << WHEEL_BITS> firsts; //!< first of each slot: place in m_nodes
    };

    /// Time and rank as one number, so that a comparison takes no branch.
    static unsigned __int128 Key(int64_t time, uint64_t rank)
    {
        return static_cast<unsigned __int128>(time) << 64 | rank;
    }

    static unsigned __int128 KeyOf(const Event& event)
    {
        return Key(event.time, event.rank);
    }

    // One member at a time. If these were written in parts and then copied as a whole, the
    // processor would wait until all earlier writes are in its cache.
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

    // Not inline: otherwise events that go to the list would pay for its registers.
    [[gnu::noinline]] void InsertLater(int64_t time, uint64_t rank, EventSource* source);
    /// IsFirst() for an empty list.
    [[gnu::noinline]] bool IsBeforeWheels(int64_t time, uint64_t rank);
    /// Move the later half of the list to the wheels. \pre the wheels are empty
    [[gnu::noinline]] void Spill();
    /// Move the next events into the list. \pre the list is empty, and an event is pending
    [[gnu::noinline]] void Refill();
    /// Begin of the first slot that has events, ns. \pre there is one
    uint64_t FirstSlotTime() const;
    /// Put a node into its slot. \pre its event comes at m_position or later
    void PutInSlot(uint32_t place);
    /// Move the events of the first slot that has any: to the list, unsorted, or to lower wheels.
    void TakeSlot();
    void SortList();

    std::vector<Event> m_near;  //!< the sorted list, latest first: events before m_nearEnd
    uint64_t m_nearEnd{ALL};    //!< end of the list's time, ns; ALL: the wheels are empty
    size_t m_inWheels{0};       //!< number of events in the wheels
    uint64_t m_position{0};     //!< number of the lowest wheel's latest slot, counted from time 0
    uint32_t m_filledWheels{0}; //!< a bit for each wheel that has events
    std::array<Wheel, WHEELS> m_wheels;
    std::vector<Node> m_nodes;
    uint32_t m_free{NONE}; //!< first of the nodes not in use
};

} // namespace tunnelcc

#endif // TUNNELCC_EVENT_QUEUE_H
