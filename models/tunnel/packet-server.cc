/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-server.h"

#include <algorithm>

namespace tunnelcc
{

void
PacketServer::Enqueue(int64_t now,
                      const Packet& packet,
                      uint32_t ipBytes,
                      const PacketExtras* extras,
                      PacketHandler& handler)
{
    ++m_counters.packets;
    if (IsFree() && !m_isBusy)
    {
        Packet handled = packet;
        handler.OnHandled(now, handled, ipBytes, extras);
        return;
    }
    if (!m_isBusy)
    {
        m_work.Push(packet, ipBytes, extras, handler);
        Begin(now);
        return;
    }
    if (m_waiting + m_unreleased >= m_limit)
    {
        ++m_counters.drops;
        return;
    }
    m_work.Push(packet, ipBytes, extras, handler);
    ++m_waiting;
    m_counters.maxWaiting = std::max(m_counters.maxWaiting, m_waiting);
}

void
PacketServer::Begin(int64_t now)
{
    m_isBusy = true;
    m_thread.Submit(now, m_cost.perPacket + m_cost.perByte * m_work.Front().ipBytes, *this);
}

void
PacketServer::OnComputed(int64_t now)
{
    m_work.HandOver(now);
    if (!m_isBlocked)
    {
        StartNext(now);
    }
}

void
PacketServer::StartNext(int64_t now)
{
    m_isBusy = !m_work.IsEmpty();
    if (m_isBusy)
    {
        --m_waiting;
        if (m_release > 0 && (++m_unreleased >= m_release || m_waiting == 0))
        {
            m_unreleased = 0;
        }
        Begin(now);
    }
}

} // namespace tunnelcc
