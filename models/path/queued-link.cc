/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queued-link.h"

namespace tunnelcc
{

QueuedPacket*
QueuedLink::Store(const Packet& packet, const SackBlocks* blocks)
{
    QueuedPacket* stored = m_store.Take();
    stored->packet = packet;
    if (packet.sackBlocks)
    {
        stored->blocks = *blocks;
    }
    stored->along = nullptr;
    return stored;
}

bool
QueuedLink::Enqueue(int64_t now,
                    const Packet& packet,
                    uint32_t ipBytes,
                    const SackBlocks* blocks,
                    uint32_t flow,
                    Propagation& exit)
{
    uint32_t bytes = ipBytes + m_framing;
    if (!Admit(now, bytes))
    {
        return false;
    }
    ServeUntil(now);
    QueuedPacket* queued = Store(packet, blocks);
    queued->arrival = now;
    queued->exit = &exit;
    queued->bytes = bytes;
    queued->flow = flow;
    m_newest = queued;
    m_newestExit = nullptr;
    if (!m_disc->Enqueue(now, queued))
    {
        return false;
    }
    if (!m_isIdle)
    {
        Arm();
        return true;
    }
    ServeNext(now);
    return m_newestExit != nullptr;
}

void
QueuedLink::EnqueueAlong(const Packet& packet, const SackBlocks* blocks)
{
    if (m_newest)
    {
        m_newest->along = Store(packet, blocks);
    }
    else
    {
        m_newestExit->PushAlong(packet, blocks);
    }
}

double
QueuedLink::ServedBytes(int64_t now)
{
    ServeUntil(now);
    double left = 0;
    if (m_freeAt > now)
    {
        left = m_servedLast * static_cast<double>(m_freeAt - now) /
               static_cast<double>(m_freeAt - m_serviceStart);
    }
    return static_cast<double>(m_servedBytes) - left;
}

void
QueuedLink::ServeUntil(int64_t now)
{
    while (!m_isIdle && m_freeAt <= now)
    {
        m_isIdle = !ServeNext(m_freeAt);
    }
}

bool
QueuedLink::ServeNext(int64_t start)
{
    QueuedPacket* packet = m_disc->Dequeue(start);
    if (!packet)
    {
        return false;
    }
    m_isIdle = false;
    m_serviceStart = start;
    m_servedLast = packet->bytes;
    m_servedBytes += packet->bytes;
    m_freeAt = m_rate.Serve(start, packet->bytes);
    if (m_isMeasuring)
    {
        m_queueDelay.Record(start - packet->arrival);
    }
    if (Release(m_freeAt, packet->bytes))
    {
        packet->exit->Push(m_freeAt, packet->packet, &packet->blocks);
        if (packet->along)
        {
            packet->exit->PushAlong(packet->along->packet, &packet->along->blocks);
        }
        m_newestExit = packet->exit;
    }
    m_newest = nullptr;
    m_store.Return(packet);
    return true;
}

void
QueuedLink::Arm()
{
    if (!m_isArmed)
    {
        m_isArmed = true;
        m_loop.Insert(m_freeAt + m_leastDelay, m_rank, this);
    }
}

void
QueuedLink::Fire(int64_t now)
{
    m_isArmed = false;
    ServeUntil(now);
    if (m_disc->WaitingPackets() > 0)
    {
        Arm();
    }
}

} // namespace tunnelcc
