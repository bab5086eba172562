/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reorder-buffer.h"

#include <algorithm>

namespace tunnelcc
{

ReorderBuffer::ReorderBuffer(EventLoop& loop, const std::optional<ReorderSpec>& spec)
    : m_spec(spec.value_or(ReorderSpec{})),
      m_time(m_spec.time ? m_spec.time : UNKNOWN),
      m_timer(loop, this),
      m_slots(m_spec.size)
{
    m_leaving.reserve(m_slots.size());
}

void
ReorderBuffer::OnHandled(int64_t now,
                         Packet& packet,
                         uint32_t /* ipBytes */,
                         const PacketExtras* extras)
{
    const int64_t number = packet.time;
    m_arrived.Count(number);
    if (m_spec.size == 0)
    {
        Leave(now, now, packet, extras);
        return;
    }
    if (m_spec.places && m_waiting + m_late.Size() >= m_spec.places)
    {
        Leave(now, now, packet, extras);
        return;
    }
    if (!m_hasNext)
    {
        m_next = number;
        m_hasNext = true;
    }
    const int64_t ahead = number - m_next;
    if (ahead < 0 || (m_spec.restarts && ahead >= 2 * Size()))
    {
        ++m_lates;
        if (m_spec.places)
        {
            m_late.Push(MakeSlot(now, packet, extras));
        }
        Leave(now, now, packet, extras);
        return;
    }
    if (ahead >= Size())
    {
        GiveUpTo(now, number - Size() + 1);
        LeaveInOrder(now);
    }
    if (number == m_next)
    {
        ++m_next;
        Leave(now, now, packet, extras);
        LeaveInOrder(now);
    }
    else
    {
        Slot& slot = SlotOf(number);
        slot = MakeSlot(now, packet, extras);
        slot.isUsed = true;
        ++m_waiting;
        if (!m_spec.restarts)
        {
            m_waitingSince.Push({number, now});
        }
    }
    SetTimer(now);
}

void
ReorderBuffer::StartMeasuring()
{
    m_arrived.StartMeasuring();
    m_left.StartMeasuring();
    m_waited = Histogram();
    m_lates = m_givenUp = 0;
}

void
ReorderBuffer::Set(int64_t rtt)
{
    if (m_spec.time == 0)
    {
        m_time = rtt * 22 / 10;
    }
}

ReorderBuffer::Slot
ReorderBuffer::MakeSlot(int64_t now, const Packet& packet, const PacketExtras* extras)
{
    return {packet, packet.HasExtras() ? *extras : PacketExtras{}, now, m_orders++, false};
}

void
ReorderBuffer::Leave(int64_t now, int64_t since, const Packet& packet, const PacketExtras* extras)
{
    m_left.Count(packet.time);
    m_waited.Record(now - since);
    packet.sink->Receive(now, packet, extras);
}

void
ReorderBuffer::LeaveSlot(int64_t now, Slot& slot)
{
    const Slot leaving = slot;
    slot.isUsed = false;
    --m_waiting;
    Leave(now, leaving.since, leaving.packet, &leaving.extras);
}

void
ReorderBuffer::LeaveInOrder(int64_t now)
{
    while (m_waiting > 0 && SlotOf(m_next).isUsed)
    {
        LeaveSlot(now, SlotOf(m_next++));
    }
}

void
ReorderBuffer::GiveUpTo(int64_t now, int64_t number)
{
    while (m_next < number)
    {
        if (m_waiting == 0)
        {
            m_givenUp += static_cast<uint64_t>(number - m_next);
            m_next = number;
            return;
        }
        Slot& slot = SlotOf(m_next++);
        if (slot.isUsed)
        {
            LeaveSlot(now, slot);
        }
        else
        {
            ++m_givenUp;
        }
    }
}

void
ReorderBuffer::SetTimer(int64_t now)
{
    if (m_spec.restarts)
    {
        m_waiting + m_late.Size() > 0 ? m_timer.Set(now + m_time) : m_timer.Cancel();
        return;
    }
    while (!m_waitingSince.IsEmpty() && m_waitingSince.Front().number < m_next)
    {
        m_waitingSince.Pop(); // it has left
    }
    m_waitingSince.IsEmpty() ? m_timer.Cancel()
                             : m_timer.Set(m_waitingSince.Front().since + m_time);
}

void
ReorderBuffer::OnTime(int64_t now)
{
    if (m_spec.restarts)
    {
        Empty(now);
        return;
    }
    // The one that has waited longest, and all before it.
    GiveUpTo(now, m_waitingSince.Front().number);
    LeaveInOrder(now);
    SetTimer(now);
}

void
ReorderBuffer::Empty(int64_t now)
{
    m_hasNext = false;
    m_leaving.clear();
    for (Slot& slot : m_slots)
    {
        if (slot.isUsed)
        {
            m_leaving.push_back(&slot);
        }
    }
    std::sort(m_leaving.begin(), m_leaving.end(), [](const Slot* one, const Slot* other) {
        return one->order < other->order;
    });
    for (Slot* slot : m_leaving)
    {
        RepeatLate(now, slot->order);
        LeaveSlot(now, *slot);
    }
    RepeatLate(now, m_orders);
}

void
ReorderBuffer::RepeatLate(int64_t now, uint64_t order)
{
    while (!m_late.IsEmpty() && m_late.Front().order < order)
    {
        const Slot again = m_late.Front();
        m_late.Pop();
        again.packet.sink->Receive(now, again.packet, &again.extras);
    }
}

} // namespace tunnelcc
