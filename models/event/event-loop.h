/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EVENT_LOOP_H
#define TUNNELCC_EVENT_LOOP_H

#include "ns3/simulator-impl.h"

#include <cstdint>
#include <list>
#include <vector>

namespace tunnelcc
{

class EventLoop;

/**
 * Something that the event loop wakes at a time it asked for: a delay line, a timer.
 *
 * Sources live as long as the simulation and are scheduled again and again without allocation.
 * Each has a rank, given in order of construction.
 */
class EventSource
{
  public:
    EventSource();
    virtual ~EventSource() = default;
    EventSource(const EventSource&) = delete;
    EventSource& operator=(const EventSource&) = delete;

    /// The time asked for has come. \param now simulated time, ns
    virtual void Fire(int64_t now) = 0;

  protected:
    EventLoop& m_loop;     //!< the simulation's event loop
    const uint64_t m_rank; //!< order among events of the same time
};

/**
 * ns-3 simulator implementation for few pending events and many of them each second.
 *
 * A 4-ary heap of 24-byte entries, with a short sorted list in front of it for events that come
 * before all in the heap. The list takes several from the heap at a time, so that most of those
 * that an event causes come before what the heap has left, and never enter it. 64-bit event numbers
 * (ns3::DefaultSimulatorImpl's 32-bit ones wrap within an hour of a fast link) and one virtual call
 * per event. Events of the same time run in order of their sources' rank, ordinary ns-3 events
 * after them in order of scheduling, so that results do not depend on how often a timer was moved
 * or a line rescheduled.
 *
 * Serves ordinary ns-3 models too. Deviations from ns3::DefaultSimulatorImpl: not thread-safe, and
 * the scheduler cannot be chosen.
 */
class EventLoop final : public ns3::SimulatorImpl
{
  public:
    static ns3::TypeId GetTypeId();

    EventLoop();
    ~EventLoop() override;

    /// Make ns3::Simulator use this class. Call before anything else touches the simulator.
    static void Install();

    /// The running simulation's loop. Aborts when Install() came too late.
    static EventLoop& Get();

    /// Simulated time, ns.
    int64_t Time() const
    {
        return m_now;
    }

    /// Wake `source` at `time` ns, not before now.
    void Insert(int64_t time, uint64_t rank, EventSource* source)
    {
        if (m_nearSize == NEAR)
        {
            SpillNear();
        }
        if (IsBeforeHeap(time, rank))
        {
            InsertNear({time, rank, source});
        }
        else
        {
            PushHeap(time, rank, source);
        }
    }

    /**
     * Whether an event of the given time and rank would be the next to run. A source that asks may
     * go on at once after AdvanceTo(), without a round trip through the heap.
     */
    bool IsNext(int64_t time, uint64_t rank) const
    {
        return !m_stop && IsFirst(time, rank);
    }

    /// Move the clock to an event for which IsNext() holds.
    void AdvanceTo(int64_t time)
    {
        m_now = time;
        ++m_eventCount;
    }

    /// Rank for a new source.
    uint64_t NewRank()
    {
        return m_ranks++;
    }

    // ns3::SimulatorImpl
    void Destroy() override;
    bool IsFinished() const override;
    void Stop() override;
    ns3::EventId Stop(const ns3::Time& delay) override;
    ns3::EventId Schedule(const ns3::Time& delay, ns3::EventImpl* event) override;
    void ScheduleWithContext(uint32_t context,
                             const ns3::Time& delay,
                             ns3::EventImpl* event) override;
    ns3::EventId ScheduleNow(ns3::EventImpl* event) override;
    ns3::EventId ScheduleDestroy(ns3::EventImpl* event) override;
    void Remove(const ns3::EventId& id) override;
    void Cancel(const ns3::EventId& id) override;
    bool IsExpired(const ns3::EventId& id) const override;
    void Run() override;
    ns3::Time Now() const override;
    ns3::Time GetDelayLeft(const ns3::EventId& id) const override;
    ns3::Time GetMaximumSimulationTime() const override;
    void SetScheduler(ns3::ObjectFactory schedulerFactory) override;
    uint32_t GetSystemId() const override;
    uint32_t GetContext() const override;
    uint64_t GetEventCount() const override;

  private:
    static constexpr size_t NEAR = 8; //!< most events kept out of the heap

    struct Entry
    {
        int64_t time;
        uint64_t rank;
        EventSource* source;
    };

    class ForeignEvent;

    /// Time and rank as one number, which takes no branch to compare.
    static unsigned __int128 Key(int64_t time, uint64_t rank)
    {
        return static_cast<unsigned __int128>(time) << 64 | rank;
    }

    static bool Before(int64_t time, uint64_t rank, const Entry& other)
    {
        return Key(time, rank) < Key(other.time, other.rank);
    }

    bool IsEmpty() const
    {
        return m_nearSize == 0 && m_heap.empty();
    }

    bool IsBeforeHeap(int64_t time, uint64_t rank) const
    {
        return m_heap.empty() || Before(time, rank, m_heap.front());
    }

    /// Whether an event of the given time and rank comes before all others.
    bool IsFirst(int64_t time, uint64_t rank) const
    {
        return m_nearSize > 0 ? Before(time, rank, m_near[m_nearSize - 1])
                              : IsBeforeHeap(time, rank);
    }

    /// Insert an event that comes before all in the heap.
    void InsertNear(const Entry& entry)
    {
        size_t i = m_nearSize++;
        while (i > 0 && !Before(entry.time, entry.rank, m_near[i - 1]))
        {
            m_near[i] = m_near[i - 1];
            --i;
        }
        m_near[i] = entry;
    }

    Entry Pop()
    {
        if (m_nearSize == 0)
        {
            RefillNear();
        }
        return m_near[--m_nearSize];
    }

    void SpillNear();  //!< Make room in front of the heap.
    void RefillNear(); //!< Take the first events from the heap, which has at least one.
    void PushHeap(int64_t time, uint64_t rank, EventSource* source);
    Entry PopHeap();
    ns3::EventId ScheduleForeign(uint32_t context, int64_t time, ns3::EventImpl* event);
    void Clear();

    static EventLoop* s_current; //!< the simulator's implementation, if it is one of ours

    Entry m_near[NEAR]; //!< before all in the heap, the latest first
    size_t m_nearSize{0};
    std::vector<Entry> m_heap;
    int64_t m_now{0};
    uint64_t m_ranks{0};
    uint64_t m_foreignEvents{0}; //!< ordinary ns-3 events scheduled so far
    int64_t m_foreignTime{-1};   //!< when the latest of them ran
    uint32_t m_foreignUid{0};    //!< number of the latest of them that ran
    uint64_t m_eventCount{0};
    uint32_t m_context;
    bool m_stop{false};
    std::list<ns3::EventId> m_destroyEvents;
};

} // namespace tunnelcc

#endif // TUNNELCC_EVENT_LOOP_H
