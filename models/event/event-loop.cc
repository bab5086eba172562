/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-loop.h"

namespace tunnelcc
{

EventSource::EventSource(EventLoop& loop)
    : m_loop(loop),
      m_rank(m_loop.NewRank())
{
}

void
EventLoop::Reset()
{
    m_queue = {};
    m_now = 0;
    m_ranks = 0;
    m_eventCount = 0;
    m_stop = false;
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

} // namespace tunnelcc
