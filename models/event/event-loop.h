/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EVENT_LOOP_H
#define TUNNELCC_EVENT_LOOP_H

#include "event-queue.h"

#include "ns3/simulator-impl.h"

#include <cstdint>
#include <list>

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
    EventSource();
    virtual ~EventSource() = default;
    EventSource(const EventSource&) = delete;
    EventSource& operator=(const EventSource&) = delete;

    /// Called by the event loop at the time that was asked for. \param now simulated time, ns
    virtual void Fire(int64_t now) = 0;

  protected:
    EventLoop& m_loop;     //!< the simulation's event loop
    const uint64_t m_rank; //!< order among events of the same time
};

/**
 * The simulator: an implementation of ns3::SimulatorImpl on an EventQueue.
 *
 * An event costs one virtual call. Event numbers have 64 bits, because those of
 * ns3::DefaultSimulatorImpl, with 32 bits, wrap within an hour of a fast link. Events of the same
 * time run in order of their sources' rank, and ordinary ns-3 events after them in order of
 * scheduling. So results do not depend on how often a timer was moved or a line rescheduled.
 *
 * Ordinary ns-3 models run on it, too. Unlike ns3::DefaultSimulatorImpl, it is not thread-safe, and
 * its scheduler cannot be chosen.
 */
class EventLoop final : public ns3::SimulatorImpl
{
  public:
    static ns3::TypeId GetTypeId();

    EventLoop();
    ~EventLoop() override;

    /// Make ns3::Simulator use this class. Call before anything else touches the simulator.
    static void Install();

    /// The loop of the running simulation. Aborts if Install() was called too late.
    static EventLoop& Get();

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
    class ForeignEvent;

    ns3::EventId ScheduleForeign(uint32_t context, int64_t time, ns3::EventImpl* event);
    void Clear();

    static EventLoop* s_current; //!< the simulator's implementation, if it is one of ours

    EventQueue m_queue;
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
