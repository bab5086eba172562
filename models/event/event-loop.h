/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EVENT_LOOP_H
#define TUNNELCC_EVENT_LOOP_H

#include "event-queue.h"

#include <cstdint>

namespace tunnelcc
{

class EventLoop;

/**
 * Something that asks the event loop to wake it at a time, such as a delay line or a timer.
 *
 * A source lives as long as the simulation, and is scheduled any number of times without
 * allocation. Its rank is its number in order of construction.
 */
class EventSource
{
  public:
    explicit EventSource(EventLoop& loop);
    virtual ~EventSource() = default;
    EventSource(const EventSource&) = delete;
    EventSource& operator=(const EventSource&) = delete;

    /// Called by the event loop at the time that was asked for. \param now simulated time, ns
    virtual void Fire(int64_t now) = 0;

    /// The simulation's event loop.
    EventLoop& Loop() const
    {
        return m_loop;
    }

    /// Take all its events out of the loop, so that it may be destroyed while the simulation goes
    /// on. The cost grows with the number of pending events.
    void Withdraw();

  protected:
    EventLoop& m_loop;     //!< the simulation's event loop
    const uint64_t m_rank; //!< order among events of the same time
};

/**
 * The clock and the pending events of a simulation. A process may have several.
 *
 * An event costs one virtual call. Event numbers have 64 bits, because those of
 * ns3::DefaultSimulatorImpl, with 32 bits, wrap within an hour of a fast link. Events of the same
 * time run in order of their sources' rank, so results do not depend on how often a timer was moved
 * or a line rescheduled. It is not thread-safe.
 *
 * Models of ns-3 run on it, too, with Ns3Simulator (interop/).
 */
class EventLoop final
{
  public:
    EventLoop() = default;
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    /// Begin at time 0, without events. What was scheduled is forgotten.
    void Reset();

    /// Run events until none is left or Stop().
    void Run();

    /// Let Run() return after the event that is running.
    void Stop()
    {
        m_stop = true;
    }

    /// Whether Run() would return, or is about to.
    bool IsFinished() const
    {
        return m_queue.IsEmpty() || m_stop;
    }

    /// Simulated time, ns.
    int64_t Time() const
    {
        return m_now;
    }

    /// Wake `source` at `time` ns, not before now.
    void Insert(int64_t time, uint64_t rank, EventSource* source)
    {
        m_queue.Insert(time, rank, source);
    }

    /**
     * Whether an event with this time (ns) and rank would be the next to run. If so, its source may
     * call AdvanceTo() and run at once, instead of inserting it into the queue.
     */
    bool IsNext(int64_t time, uint64_t rank)
    {
        return !m_stop && m_queue.IsFirst(time, rank);
    }

    /// Set the clock to the time of an event for which IsNext() is true, ns.
    void AdvanceTo(int64_t time)
    {
        m_now = time;
        ++m_eventCount;
    }

    /// Time of the next event, ns; INT64_MAX: none is pending.
    int64_t NextTime()
    {
        return m_queue.IsEmpty() ? INT64_MAX : m_queue.FirstTime();
    }

    /// Follow another simulator's clock, until Run() or Reset(): no source may run ahead of it.
    /// \param time of that clock, ns
    void Follow(int64_t time)
    {
        m_stop = true;
        m_now = time;
    }

    /// Run the events up to `time` ns, included, and set the clock to it, as of Follow().
    void RunTo(int64_t time)
    {
        Follow(m_now);
        while (NextTime() <= time)
        {
            const EventQueue::Event event = m_queue.Pop();
            AdvanceTo(event.time);
            event.source->Fire(event.time);
        }
        m_now = time;
    }

    /// Take all events of a source out.
    void Remove(const EventSource& source)
    {
        m_queue.Remove(&source);
    }

    /// Rank for a new source.
    uint64_t NewRank()
    {
        return m_ranks++;
    }

    /// Events run since Reset().
    uint64_t GetEventCount() const
    {
        return m_eventCount;
    }

    /// Take all events out of the queue, in order, and call `discard(event)` for each.
    template <class F>
    void Clear(F discard)
    {
        while (!m_queue.IsEmpty())
        {
            discard(m_queue.Pop());
        }
    }

  private:
    EventQueue m_queue;
    int64_t m_now{0};
    uint64_t m_ranks{0};
    uint64_t m_eventCount{0};
    bool m_stop{false};
};

inline void
EventSource::Withdraw()
{
    m_loop.Remove(*this);
}

} // namespace tunnelcc

#endif // TUNNELCC_EVENT_LOOP_H
