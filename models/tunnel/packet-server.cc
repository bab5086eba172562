/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-server.h"

#include <algorithm>

namespace tunnelcc
{

bool
PacketServer::Enqueue(int64_t now,
                      const Packet& packet,
                      uint32_t ipBytes,
                      const SackBlocks* blocks,
                      PacketHandler& handler)
{
    ++m_counters.packets;
    if (IsFree() && !m_isBusy)
    {
        Packet handled = packet;
        handler.OnHandled(now, handled, ipBytes, blocks);
        return true;
    }
    if (!m_isBusy)
    {
        Push(packet, ipBytes, blocks, handler);
        Begin(now);
        return true;
    }
    if (m_waiting >= m_limit)
    {
        ++m_counters.drops;
        return false;
    }
    Push(packet, ipBytes, blocks, handler);
    ++m_waiting;
    m_counters.maxWaiting = std::max(m_counters.maxWaiting, m_waiting);
    return true;
}

void
PacketServer::EnqueueAlong(int64_t now,
                           const Packet& ack,
                           const SackBlocks* blocks,
                           PacketHandler& handler)
{
    if (m_work.IsEmpty())
    {
        Packet handled = ack;
        handler.OnHandled(now, handled, 0, blocks); // as was the packet that it rides in
        return;
    }
    Push(ack, 0, blocks, handler);
}

void
PacketServer::Push(const Packet& packet,
                   uint32_t ipBytes,
                   const SackBlocks* blocks,
                   PacketHandler& handler)
{
    Work& work = m_work.Append();
    work.packet = packet;
    work.handler = &handler;
    work.ipBytes = ipBytes;
    if (packet.sackBlocks)
    {
        m_blocks.Push(*blocks);
    }
}

void
PacketServer::Begin(int64_t now)
{
    m_isBusy = true;
    m_thread.Submit(now, m_cost.perPacket + m_cost.perByte * m_work.Front().ipBytes, *this);
}

void
PacketServer::HandleNext(int64_t now)
{
    Work& work = m_work.Front(); // stays: what follows from a packet comes back in later events
    if (!work.packet.sackBlocks)
    {
        work.handler->OnHandled(now, work.packet, work.ipBytes, nullptr);
    }
    else
    {
        work.handler->OnHandled(now, work.packet, work.ipBytes, &m_blocks.Front());
        m_blocks.Pop();
    }
    m_work.Pop();
}

void
PacketServer::OnComputed(int64_t now)
{
    HandleNext(now);
    while (!m_work.IsEmpty() && m_work.Front().packet.ridesAlong)
    {
        HandleNext(now);
    }
    if (!m_isBlocked)
    {
        GoOn(now);
    }
}

void
PacketServer::GoOn(int64_t now)
{
    m_isBusy = !m_work.IsEmpty();
    if (m_isBusy)
    {
        --m_waiting;
        Begin(now);
    }
}

} // namespace tunnelcc
