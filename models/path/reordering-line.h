/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_REORDERING_LINE_H
#define TUNNELCC_REORDERING_LINE_H

#include "event/timer.h"
#include "packet.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/**
 * A line in which each packet has its own delay. Packets leave in order of their times; those of
 * the same time leave in the order in which they came.
 *
 * It is a heap and costs O(log n) per packet. The ring of a DelayLine costs O(1).
 */
class ReorderingLine
{
  public:
    explicit ReorderingLine(EventLoop& loop)
        : m_timer(loop, this)
    {
    }

    /// Deliver `packet` at `time` ns, not before now.
    void Push(int64_t time, const Packet& packet, const PacketExtras* extras)
    {
        m_heap.push_back({time, m_pushed++, packet, packet.HasExtras() ? *extras : PacketExtras{}});
        m_heap.back().packet.time = time;
        std::push_heap(m_heap.begin(), m_heap.end(), Later);
        m_timer.Set(m_heap.front().time);
    }

  private:
    struct Entry
    {
        int64_t time;
        uint64_t number; //!< in the order in which packets came
        Packet packet;
        PacketExtras extras;
    };

    static bool Later(const Entry& a, const Entry& b)
    {
        return a.time > b.time || (a.time == b.time && a.number > b.number);
    }

    void OnTime(int64_t now)
    {
        while (!m_heap.empty() && m_heap.front().time <= now)
        {
            std::pop_heap(m_heap.begin(), m_heap.end(), Later);
            Entry entry = m_heap.back();
            m_heap.pop_back();
            entry.packet.sink->Receive(now,
                                       entry.packet,
                                       entry.packet.HasExtras() ? &entry.extras : nullptr);
        }
        if (!m_heap.empty())
        {
            m_timer.Set(m_heap.front().time);
        }
    }

    std::vector<Entry> m_heap;
    uint64_t m_pushed{0};
    Timer<ReorderingLine, &ReorderingLine::OnTime> m_timer;
};

} // namespace tunnelcc

#endif // TUNNELCC_REORDERING_LINE_H
