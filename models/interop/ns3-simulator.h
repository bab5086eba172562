/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NS3_SIMULATOR_H
#define TUNNELCC_NS3_SIMULATOR_H

#include "event/event-loop.h"

#include "ns3/simulator-impl.h"

#include <cstdint>
#include <list>

namespace tunnelcc
{

/**
 * The event loop as implementation of ns3::Simulator, so that ns-3's models and ours have one
 * clock.
 *
 * Ordinary ns-3 events of a time run after ours of that time, in order of scheduling. Deviations
 * from ns3::DefaultSimulatorImpl: not thread-safe, and the scheduler cannot be chosen.
 */
class Ns3Simulator final : public ns3::SimulatorImpl
{
  public:
    static ns3::TypeId GetTypeId();

    Ns3Simulator();
    ~Ns3Simulator() override;

    /// The loop behind ns3::Simulator, of which a process has one.
    static EventLoop& Loop();

    /// Begin a simulation at time 0 with this class behind ns3::Simulator. What was scheduled
    /// before is forgotten.
    static void Install();

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
    class Event;

    ns3::EventId ScheduleAt(uint32_t context, int64_t time, ns3::EventImpl* event);
    void Clear();

    EventLoop& m_loop;
    uint64_t m_scheduled{0};  //!< ns-3 events so far
    int64_t m_latestTime{-1}; //!< when the latest of them ran
    uint32_t m_latestUid{0};  //!< number of the latest of them that ran
    uint32_t m_context;
    std::list<ns3::EventId> m_destroyEvents;
};

} // namespace tunnelcc

#endif // TUNNELCC_NS3_SIMULATOR_H
