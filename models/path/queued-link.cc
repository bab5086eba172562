/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queued-link.h"

namespace tunnelcc
{

void
QueuedLink::Enqueue(int64_t now,
                    const Packet& packet,
                    uint32_t ipBytes,
                    const PacketExtras* extras,
                    uint32_t flow,
                    Propagation& exit)
{
    uint32_t bytes = ipBytes + m_framing;
    CountIn();
    if (!Admit(now, bytes))
    {
        if (m_watcher) [[unlikely]]
        {
            TellWatcher(packet.time);
        }
        return;
    }
    ServeUntil(now);
    if (const BufferStep* step = m_bufferSteps.Reach(now)) [[unlikely]]
    {
        m_disc->SetLimits(step->bytes, step->packets);
    }
    QueuedPacket* queued = m_store.Take();
    queued->packet = packet;
    if (packet.HasExtras())
    {
        queued->extras = *extras;
    }
    queued->arrival = now;
    queued->exit = &exit;
    queued->bytes = bytes;
    queued->flow = flow;
    queued->isMeasured = m_isMeasuring;
    if (!m_disc->Enqueue(now, queued))
    {
        return;
    }
    if (m_isIdle)
    {
        ServeNext(now);
    }
    else
    {
        Arm();
    }
}

double
QueuedLink::ServedBytes(int64_t now)
{
    ServeUntil(now);
    double left = 0;
    if (m_freeAt > now)
    {
        left = m_rate.BytesLeft(m_servedLast, now, m_serviceStart, m_freeAt);
    }
    return static_cast<double>(m_servedBytes) - left;
}

void
QueuedLink::ServeUntil(int64_t now)
{
    while (!m_isIdle && m_nextAt <= now)
    {
        m_isIdle = !ServeNext(m_nextAt);
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
    m_nextAt = std::max(m_freeAt, m_disc->NotBefore());
    if (m_isMeasuring)
    {
        m_queueDelay.Record(start - packet->arrival);
    }
    const bool leaves = Release(m_freeAt, packet->bytes, packet->isMeasured);
    if (m_watcher) [[unlikely]]
    {
        TellWatcher(packet->packet.time);
    }
    if (leaves)
    {
        packet->exit->Push(m_freeAt, packet->packet, &packet->extras);
    }
    m_store.Return(packet);
    return true;
}

void
QueuedLink::TellWatcher(int64_t packet)
{
    m_watcher->OnFate(packet, TakeFate());
}

void
QueuedLink::Arm()
{
    if (!m_isArmed)
    {
        m_isArmed = true;
        m_loop.Insert(m_nextAt + m_leastDelay, m_rank, this);
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
