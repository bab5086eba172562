/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-loop.h"

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

NS_OBJECT_ENSURE_REGISTERED(EventLoop);

namespace
{

/// Ranks of ordinary ns-3 events start here, after every source's.
constexpr uint64_t FOREIGN_RANK = uint64_t{1} << 32;

/// ns3::EventId numbers below this one are reserved (ns3::EventId::UID).
constexpr uint32_t FIRST_UID = ns3::EventId::UID::VALID;

} // namespace

/// An ordinary ns-3 event on its way through the queue; deletes itself when it has run.
class EventLoop::ForeignEvent final : public EventSource
{
  public:
    ForeignEvent(ns3::EventImpl* event, uint32_t context, uint32_t uid)
        : m_event(event, false),
          m_context(context),
          m_uid(uid)
    {
    }

    void Fire(int64_t now) override
    {
        std::unique_ptr<ForeignEvent> self(this);
        m_loop.m_context = m_context;
        m_loop.m_foreignTime = now;
        m_loop.m_foreignUid = m_uid;
        m_event->Invoke();
    }

  private:
    ns3::Ptr<ns3::EventImpl> m_event;
    uint32_t m_context;
    uint32_t m_uid;
};

EventSource::EventSource()
    : m_loop(EventLoop::Get()),
      m_rank(m_loop.NewRank())
{
}

EventLoop* EventLoop::s_current = nullptr;

ns3::TypeId
EventLoop::GetTypeId()
{
    static ns3::TypeId tid = ns3::TypeId("tunnelcc::EventLoop")
                                 .SetParent<ns3::SimulatorImpl>()
                                 .AddConstructor<EventLoop>();
    return tid;
}

EventLoop::EventLoop()
    : m_context(ns3::Simulator::NO_CONTEXT)
{
    s_current = this;
}

EventLoop::~EventLoop()
{
    Clear();
    s_current = nullptr;
}

void
EventLoop::Install()
{
    GetTypeId();
    ns3::GlobalValue::Bind("SimulatorImplementationType", ns3::StringValue("tunnelcc::EventLoop"));
}

EventLoop&
EventLoop::Get()
{
    if (!s_current)
    {
        ns3::Simulator::GetImplementation();
        NS_ABORT_MSG_UNLESS(s_current, "tunnelcc::EventLoop::Install() was not called in time");
    }
    return *s_current;
}

void
EventLoop::Run()
{
    m_stop = false;
    while (!m_queue.IsEmpty() && !m_stop)
    {
        const EventQueue::Event event = m_queue.Pop();
        AdvanceTo(event.time);
        event.source->Fire(event.time);
    }
}

void
EventLoop::Clear()
{
    while (!m_queue.IsEmpty())
    {
        const EventQueue::Event event = m_queue.Pop();
        if (event.rank >= FOREIGN_RANK)
        {
            delete static_cast<ForeignEvent*>(event.source);
        }
    }
}

void
EventLoop::Destroy()
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
EventLoop::IsFinished() const
{
    return m_queue.IsEmpty() || m_stop;
}

void
EventLoop::Stop()
{
    m_stop = true;
}

ns3::EventId
EventLoop::Stop(const ns3::Time& delay)
{
    return ns3::Simulator::Schedule(delay, &ns3::Simulator::Stop);
}

ns3::EventId
EventLoop::ScheduleForeign(uint32_t context, int64_t time, ns3::EventImpl* event)
{
    uint64_t number = m_foreignEvents++;
    auto uid = static_cast<uint32_t>(number) + FIRST_UID;
    Insert(time, FOREIGN_RANK + number, new ForeignEvent(event, context, uid));
    return ns3::EventId(ns3::Ptr<ns3::EventImpl>(event), time, context, uid);
}

ns3::EventId
EventLoop::Schedule(const ns3::Time& delay, ns3::EventImpl* event)
{
    return ScheduleForeign(m_context, m_now + delay.GetTimeStep(), event);
}

void
EventLoop::ScheduleWithContext(uint32_t context, const ns3::Time& delay, ns3::EventImpl* event)
{
    ScheduleForeign(context, m_now + delay.GetTimeStep(), event);
}

ns3::EventId
EventLoop::ScheduleNow(ns3::EventImpl* event)
{
    return ScheduleForeign(m_context, m_now, event);
}

ns3::EventId
EventLoop::ScheduleDestroy(ns3::EventImpl* event)
{
    ns3::EventId id(ns3::Ptr<ns3::EventImpl>(event, false),
                    m_now,
                    ns3::Simulator::NO_CONTEXT,
                    ns3::EventId::UID::DESTROY);
    m_destroyEvents.push_back(id);
    return id;
}

void
EventLoop::Remove(const ns3::EventId& id)
{
    Cancel(id);
}

void
EventLoop::Cancel(const ns3::EventId& id)
{
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool
EventLoop::IsExpired(const ns3::EventId& id) const
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
    if (time != m_now)
    {
        return time < m_now;
    }
    return m_foreignTime == m_now && static_cast<int32_t>(id.GetUid() - m_foreignUid) <= 0;
}

ns3::Time
EventLoop::Now() const
{
    return ns3::TimeStep(m_now);
}

ns3::Time
EventLoop::GetDelayLeft(const ns3::EventId& id) const
{
    return IsExpired(id) ? ns3::TimeStep(0)
                         : ns3::TimeStep(static_cast<int64_t>(id.GetTs()) - m_now);
}

ns3::Time
EventLoop::GetMaximumSimulationTime() const
{
    return ns3::TimeStep(std::numeric_limits<int64_t>::max());
}

void
EventLoop::SetScheduler(ns3::ObjectFactory)
{
}

uint32_t
EventLoop::GetSystemId() const
{
    return 0;
}

uint32_t
EventLoop::GetContext() const
{
    return m_context;
}

uint64_t
EventLoop::GetEventCount() const
{
    return m_eventCount;
}

} // namespace tunnelcc
