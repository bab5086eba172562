/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-simulator.h"

#include "ns3/abort.h"
#include "ns3/event-impl.h"
#include "ns3/global-value.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace tunnelcc
{

NS_OBJECT_ENSURE_REGISTERED(Ns3Simulator);

namespace
{

/// Ranks of ns-3's events start here, after every source's.
constexpr uint64_t FIRST_RANK = uint64_t{1} << 32;

/// ns3::EventId numbers below this one are reserved (ns3::EventId::UID).
constexpr uint32_t FIRST_UID = ns3::EventId::UID::VALID;

} // namespace

/// An ordinary ns-3 event on its way through the queue; deletes itself when it has run.
class Ns3Simulator::Event final : public EventSource
{
  public:
    Event(Ns3Simulator& simulator, ns3::EventImpl* event, uint32_t context, uint32_t uid)
        : EventSource(simulator.m_loop),
          m_simulator(simulator),
          m_event(event, false),
          m_context(context),
          m_uid(uid)
    {
    }

    void Fire(int64_t now) override
    {
        std::unique_ptr<Event> self(this);
        m_simulator.m_context = m_context;
        m_simulator.m_latestTime = now;
        m_simulator.m_latestUid = m_uid;
        m_event->Invoke();
    }

  private:
    Ns3Simulator& m_simulator;
    ns3::Ptr<ns3::EventImpl> m_event;
    uint32_t m_context;
    uint32_t m_uid;
};

ns3::TypeId
Ns3Simulator::GetTypeId()
{
    static ns3::TypeId tid = ns3::TypeId("tunnelcc::Ns3Simulator")
                                 .SetParent<ns3::SimulatorImpl>()
                                 .AddConstructor<Ns3Simulator>();
    return tid;
}

Ns3Simulator::Ns3Simulator()
    : m_loop(Loop()),
      m_context(ns3::Simulator::NO_CONTEXT)
{
}

Ns3Simulator::~Ns3Simulator()
{
    Clear();
    m_loop.Reset();
}

EventLoop&
Ns3Simulator::Loop()
{
    static EventLoop loop;
    return loop;
}

void
Ns3Simulator::Install()
{
    ns3::Simulator::Destroy();
    Loop().Reset();
    GetTypeId();
    ns3::GlobalValue::Bind("SimulatorImplementationType",
                           ns3::StringValue("tunnelcc::Ns3Simulator"));
    NS_ABORT_MSG_UNLESS(ns3::DynamicCast<Ns3Simulator>(ns3::Simulator::GetImplementation()),
                        "ns-3 has another simulator");
}

void
Ns3Simulator::Clear()
{
    m_loop.Clear([](const EventQueue::Event& event) {
        if (event.rank >= FIRST_RANK)
        {
            delete static_cast<Event*>(event.source);
        }
    });
}

void
Ns3Simulator::Destroy()
{
    while (!m_destroyEvents.empty())
    {
        ns3::Ptr<ns3::EventImpl> event = m_destroyEvents.front().PeekEventImpl();
        m_destroyEvents.pop_front();
        event->Invoke();
    }
    Clear();
}

bool
Ns3Simulator::IsFinished() const
{
    return m_loop.IsFinished();
}

void
Ns3Simulator::Stop()
{
    m_loop.Stop();
}

ns3::EventId
Ns3Simulator::Stop(const ns3::Time& delay)
{
    return ns3::Simulator::Schedule(delay, &ns3::Simulator::Stop);
}

ns3::EventId
Ns3Simulator::ScheduleAt(uint32_t context, int64_t time, ns3::EventImpl* event)
{
    uint64_t number = m_scheduled++;
    auto uid = static_cast<uint32_t>(number) + FIRST_UID;
    m_loop.Insert(time, FIRST_RANK + number, new Event(*this, event, context, uid));
    return ns3::EventId(ns3::Ptr<ns3::EventImpl>(event), time, context, uid);
}

ns3::EventId
Ns3Simulator::Schedule(const ns3::Time& delay, ns3::EventImpl* event)
{
    return ScheduleAt(m_context, m_loop.Time() + delay.GetTimeStep(), event);
}

void
Ns3Simulator::ScheduleWithContext(uint32_t context, const ns3::Time& delay, ns3::EventImpl* event)
{
    ScheduleAt(context, m_loop.Time() + delay.GetTimeStep(), event);
}

ns3::EventId
Ns3Simulator::ScheduleNow(ns3::EventImpl* event)
{
    return ScheduleAt(m_context, m_loop.Time(), event);
}

ns3::EventId
Ns3Simulator::ScheduleDestroy(ns3::EventImpl* event)
{
    ns3::EventId id(ns3::Ptr<ns3::EventImpl>(event, false),
                    m_loop.Time(),
                    ns3::Simulator::NO_CONTEXT,
                    ns3::EventId::UID::DESTROY);
    m_destroyEvents.push_back(id);
    return id;
}

void
Ns3Simulator::Remove(const ns3::EventId& id)
{
    Cancel(id);
}

void
Ns3Simulator::Cancel(const ns3::EventId& id)
{
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool
Ns3Simulator::IsExpired(const ns3::EventId& id) const
{
    if (!id.PeekEventImpl() || id.PeekEventImpl()->IsCancelled())
    {
        return true;
    }
    if (id.GetUid() == ns3::EventId::UID::DESTROY)
    {
        return std::find(m_destroyEvents.begin(), m_destroyEvents.end(), id) ==
               m_destroyEvents.end();
    }
    auto time = static_cast<int64_t>(id.GetTs());
    if (time != m_loop.Time())
    {
        return time < m_loop.Time();
    }
    return m_latestTime == time && static_cast<int32_t>(id.GetUid() - m_latestUid) <= 0;
}

void
Ns3Simulator::Run()
{
    m_loop.Run();
}

ns3::Time
Ns3Simulator::Now() const
{
    return ns3::TimeStep(m_loop.Time());
}

ns3::Time
Ns3Simulator::GetDelayLeft(const ns3::EventId& id) const
{
    return IsExpired(id) ? ns3::TimeStep(0)
                         : ns3::TimeStep(static_cast<int64_t>(id.GetTs()) - m_loop.Time());
}

ns3::Time
Ns3Simulator::GetMaximumSimulationTime() const
{
    return ns3::TimeStep(std::numeric_limits<int64_t>::max());
}

void
Ns3Simulator::SetScheduler(ns3::ObjectFactory)
{
}

uint32_t
Ns3Simulator::GetSystemId() const
{
    return 0;
}

uint32_t
Ns3Simulator::GetContext() const
{
    return m_context;
}

uint64_t
Ns3Simulator::GetEventCount() const
{
    return m_loop.GetEventCount();
}

} // namespace tunnelcc
