/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-queue.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Events that the list takes from the wheels at once, if they come soon.
constexpr size_t EVENTS_AT_ONCE = 16;

} // namespace

EventQueue::EventQueue()
{
    for (Wheel& wheel : m_wheels)
    {
        wheel.firsts.fill(NONE);
    }
}

void
EventQueue::InsertLater(int64_t time, uint64_t rank, EventSource* source)
{
    uint32_t place = m_free;
    if (place == NONE)
    {
        place = static_cast<uint32_t>(m_nodes.size());
        m_nodes.emplace_back();
    }
    else
    {
        m_free = m_nodes[place].next;
    }
    Write(m_nodes[place].event, time, rank, source);
    ++m_inWheels;
    PutInSlot(place);
}

void
EventQueue::PutInSlot(uint32_t place)
{
    // The wheel is the highest one whose slot differs from that of m_position.
    Node& node = m_nodes[place];
    const uint64_t bucket = static_cast<uint64_t>(node.event.time) >> LOWEST_BITS;
    const auto width = static_cast<int>(std::bit_width((bucket ^ m_position) | 1));
    const int number = (width - 1) / WHEEL_BITS;
    Wheel& wheel = m_wheels[number];
    const uint64_t slot = bucket >> (WHEEL_BITS * number) & (wheel.firsts.size() - 1);
    node.next = std::exchange(wheel.firsts[slot], place);
    wheel.filled |= uint64_t{1} << slot;
    m_filledWheels |= 1U << number;
}

uint64_t
EventQueue::FirstSlotTime() const
{
    // Slots of a wheel come before those of the wheels above, which are of its next turns.
    const int number = std::countr_zero(m_filledWheels);
    const int shift = WHEEL_BITS * number;
    const int turn = shift + WHEEL_BITS;
    const auto slot = static_cast<uint64_t>(std::countr_zero(m_wheels[number].filled));
    return (m_position >> turn << turn | slot << shift) << LOWEST_BITS;
}

void
EventQueue::TakeSlot()
{
    m_nearEnd = FirstSlotTime();
    m_position = m_nearEnd >> LOWEST_BITS;
    const int number = std::countr_zero(m_filledWheels);
    Wheel& wheel = m_wheels[number];
    uint32_t place = std::exchange(wheel.firsts[std::countr_zero(wheel.filled)], NONE);
    wheel.filled &= wheel.filled - 1;
    if (wheel.filled == 0)
    {
        m_filledWheels &= m_filledWheels - 1;
    }
    if (number > 0)
    {
        while (place != NONE)
        {
            PutInSlot(std::exchange(place, m_nodes[place].next));
        }
        return;
    }
    m_nearEnd += uint64_t{1} << LOWEST_BITS;
    while (place != NONE)
    {
        Node& node = m_nodes[place];
        m_near.push_back(node.event);
        --m_inWheels;
        const uint32_t next = node.next;
        node.next = std::exchange(m_free, place);
        place = next;
    }
}

bool
EventQueue::IsBeforeWheels(int64_t time, uint64_t rank)
{
    while (m_inWheels > 0 && static_cast<uint64_t>(time) >= FirstSlotTime())
    {
        if (m_filledWheels & 1)
        {
            Refill();
            return Key(time, rank) < KeyOf(m_near.back());
        }
        TakeSlot(); // to lower wheels
    }
    return true;
}

void
EventQueue::Refill()
{
    const bool isFew = m_inWheels <= FEW;
    while (isFew ? m_inWheels > 0 : m_near.empty())
    {
        TakeSlot();
    }
    if (isFew)
    {
        m_nearEnd = ALL;
    }
    // To take a slot costs more than an event: where few events are in each, several slots are
    // taken, but not those of more than a turn of the lowest wheel, for what comes meanwhile is
    // sorted in.
    const uint64_t soon = m_nearEnd + (uint64_t{1} << (LOWEST_BITS + WHEEL_BITS));
    while (m_near.size() < EVENTS_AT_ONCE && m_inWheels > 0 && FirstSlotTime() < soon)
    {
        TakeSlot();
    }
    SortList();
}

void
EventQueue::Remove(const EventSource* source)
{
    std::erase_if(m_near, [source](const Event& event) { return event.source == source; });
    for (int number = 0; number < WHEELS; ++number)
    {
        Wheel& wheel = m_wheels[number];
        for (uint64_t left = wheel.filled; left != 0; left &= left - 1)
        {
            const int slot = std::countr_zero(left);
            uint32_t* link = &wheel.firsts[slot];
            while (*link != NONE)
            {
                Node& node = m_nodes[*link];
                if (node.event.source == source)
                {
                    const uint32_t place = std::exchange(*link, node.next);
                    node.next = std::exchange(m_free, place);
                    --m_inWheels;
                }
                else
                {
                    link = &node.next;
                }
            }
            if (wheel.firsts[slot] == NONE)
            {
                wheel.filled &= ~(uint64_t{1} << slot);
            }
        }
        if (wheel.filled == 0)
        {
            m_filledWheels &= ~(1U << number);
        }
    }
}

void
EventQueue::SortList()
{
    std::sort(m_near.begin(), m_near.end(), [](const Event& a, const Event& b) {
        return KeyOf(a) > KeyOf(b);
    });
}

void
EventQueue::Spill()
{
    // With those of its slot: a flood of events of one time is to be sorted once.
    m_position = static_cast<uint64_t>(m_near[m_near.size() / 2].time) >> LOWEST_BITS;
    m_nearEnd = m_position << LOWEST_BITS;
    auto left = m_near.begin();
    for (; left != m_near.end() && static_cast<uint64_t>(left->time) >= m_nearEnd; ++left)
    {
        InsertLater(left->time, left->rank, left->source);
    }
    m_near.erase(m_near.begin(), left);
}

} // namespace tunnelcc
