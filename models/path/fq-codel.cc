/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fq-codel.h"

namespace tunnelcc
{

FqCodelQueueDisc::FqCodelQueueDisc(const LinkSpec& link,
                                   const FqCodelSpec& spec,
                                   PacketStore& store,
                                   RandomStream stream)
    : CodelControl(link, spec, store),
      m_quantum(spec.quantum),
      m_hash(stream),
      m_queues(spec.queues)
{
}

void
FqCodelQueueDisc::Turns::Push(FlowQueue* queue)
{
    queue->behind = nullptr;
    (head ? tail->behind : head) = queue;
    tail = queue;
}

void
FqCodelQueueDisc::Turns::Pop()
{
    head = head->behind;
}

uint32_t
FqCodelQueueDisc::QueueOf(uint32_t flow) const
{
    return static_cast<uint32_t>(m_hash(flow) % m_queues.size());
}

bool
FqCodelQueueDisc::Enqueue(int64_t, QueuedPacket* packet)
{
    FlowQueue& queue = m_queues[QueueOf(packet->flow)];
    if (!queue.isActive)
    {
        queue.isActive = true;
        queue.deficit = m_quantum;
        m_new.Push(&queue);
    }
    Push(queue.packets, packet);
    bool waits = true;
    while (IsOverLimit())
    {
        waits &= DropFromLongest(packet);
    }
    return waits;
}

bool
FqCodelQueueDisc::DropFromLongest(const QueuedPacket* newest)
{
    constexpr uint32_t BATCH = 64; // packets
    FlowQueue* longest = nullptr;
    for (const Turns* turns : {&m_new, &m_old})
    {
        for (FlowQueue* queue = turns->head; queue; queue = queue->behind)
        {
            if (!longest || queue->packets.Bytes() > longest->packets.Bytes())
            {
                longest = queue;
            }
        }
    }
    uint64_t goal = longest->packets.Bytes() / 2;
    bool waits = true;
    for (uint32_t i = 0; i < BATCH; ++i)
    {
        QueuedPacket* packet = Pop(longest->packets);
        waits &= packet != newest;
        Drop(packet);
        if (longest->packets.Bytes() <= goal)
        {
            break;
        }
    }
    return waits;
}

QueuedPacket*
FqCodelQueueDisc::Dequeue(int64_t now)
{
    while (m_new.head || m_old.head)
    {
        bool isNew = m_new.head != nullptr;
        Turns& turns = isNew ? m_new : m_old;
        FlowQueue* queue = turns.head;
        if (queue->deficit <= 0)
        {
            queue->deficit += m_quantum;
            turns.Pop();
            m_old.Push(queue);
            continue;
        }
        QueuedPacket* packet = Next(now, queue->packets, queue->state);
        if (packet)
        {
            queue->deficit -= packet->bytes;
            return packet;
        }
        turns.Pop();
        // RFC 8290, section 4.2: a new queue that ran empty goes behind the old ones once, so that
        // others get their turn before it counts as new again.
        if (isNew)
        {
            m_old.Push(queue);
        }
        else
        {
            queue->isActive = false;
        }
    }
    return nullptr;
}

} // namespace tunnelcc
