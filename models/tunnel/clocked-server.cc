/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "clocked-server.h"

#include <algorithm>

namespace tunnelcc
{

ClockedServer::ClockedServer(Cpu& cpu, const PacketCostSpec& cost, uint32_t limit, int64_t slack)
    : EventSource(cpu.Loop()),
      m_cpu(cpu),
      m_cost(cost),
      m_limit(limit ? limit : UINT32_MAX),
      m_slack(slack)
{
    cpu.AddLoad(*this);
}

// Packets come ---------------------------------------------------------------------------------

void
ClockedServer::Enqueue(int64_t now,
                       const Packet& packet,
                       uint32_t ipBytes,
                       const PacketExtras* extras,
                       PacketHandler& handler)
{
    ++m_counters.packets;
    if (!Admit(now))
    {
        m_dropsAhead.Push(now);
        CountDrops(m_loop.Time());
        return;
    }
    if (ipBytes != m_latestBytes)
    {
        m_latestBytes = ipBytes;
        m_latestDuration = DurationOf(ipBytes);
    }
    m_freeAt = std::max(now, m_freeAt) + m_latestDuration;
    m_submitted += m_latestDuration;
    Push(packet, ipBytes, extras, handler);
}

bool
ClockedServer::Admit(int64_t now)
{
    Begin(now);
    if (m_freeAt <= now)
    {
        return true; // no need to wait
    }
    if (m_begins.Size() >= m_limit)
    {
        return false;
    }
    m_begins.Push(m_freeAt);
    m_counters.maxWaiting = std::max(m_counters.maxWaiting, Waiting());
    return true;
}

void
ClockedServer::Push(const Packet& packet,
                    uint32_t ipBytes,
                    const PacketExtras* extras,
                    PacketHandler& handler)
{
    m_work.Push(packet, ipBytes, extras, handler).packet.time = m_freeAt;
    if (!m_isArmed)
    {
        m_isArmed = true;
        m_loop.Insert(m_freeAt + m_slack, m_rank, this);
    }
}

// Packets go -----------------------------------------------------------------------------------

void
ClockedServer::Fire(int64_t now)
{
    HandOver(now);
    while (!m_work.IsEmpty())
    {
        int64_t next = m_work.Front().packet.time + m_slack;
        if (!m_loop.IsNext(next, m_rank))
        {
            m_loop.Insert(next, m_rank, this);
            return;
        }
        m_loop.AdvanceTo(next);
        HandOver(next);
    }
    m_isArmed = false;
}

void
ClockedServer::HandOver(int64_t now)
{
    while (!m_work.IsEmpty() && m_work.Front().packet.time <= now)
    {
        m_work.HandOver(m_work.Front().packet.time);
    }
}

// Looks ----------------------------------------------------------------------------------------

void
ClockedServer::CatchUp(int64_t now)
{
    Begin(now);
    CountDrops(now);
    HandOver(now);
}

void
ClockedServer::Begin(int64_t now)
{
    while (!m_begins.IsEmpty() && m_begins.Front() <= now)
    {
        m_begins.Pop();
    }
}

void
ClockedServer::CountDrops(int64_t now)
{
    while (!m_dropsAhead.IsEmpty() && m_dropsAhead.Front() <= now)
    {
        m_dropsAhead.Pop();
        ++m_counters.drops;
    }
}

int64_t
ClockedServer::DurationOf(uint32_t ipBytes) const
{
    return m_cpu.Duration(m_cost.perPacket + m_cost.perByte * ipBytes);
}

int64_t
ClockedServer::Busy(int64_t now) const
{
    int64_t busy = m_submitted;
    for (size_t i = 0; i < m_work.Size(); ++i)
    {
        const PacketBacklog::Work& work = m_work[i];
        int64_t left = work.packet.time - now;
        busy -= std::clamp<int64_t>(left, 0, DurationOf(work.ipBytes));
    }
    return busy;
}

} // namespace tunnelcc
