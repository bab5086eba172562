/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scoreboard.h"

namespace tunnelcc
{

Scoreboard::Scoreboard()
    : m_ring(INITIAL_CAPACITY),
      m_mask(INITIAL_CAPACITY - 1)
{
}

void
Scoreboard::Grow()
{
    std::vector<Segment> larger(2 * m_ring.size());
    uint64_t mask = larger.size() - 1;
    for (uint64_t number = m_una; number != m_nxt; ++number)
    {
        larger[number & mask] = m_ring[number & m_mask];
    }
    if (!m_flights.empty())
    {
        std::vector<Flight> flights(larger.size());
        for (uint64_t number = m_una; number != m_nxt; ++number)
        {
            flights[number & mask] = m_flights[number & m_mask];
        }
        m_flights.swap(flights);
    }
    m_ring.swap(larger);
    m_mask = mask;
}

/// Put neighbours that know each other at the end of the list.
void
Scoreboard::AppendToFlight(uint64_t first, uint64_t last)
{
    auto low = static_cast<uint32_t>(first);
    if (m_inFlight > 0)
    {
        At(first).previousOrRunBegin = m_newest;
        At(m_newest).nextOrRunEnd = low;
    }
    else
    {
        m_oldest = low;
    }
    m_newest = static_cast<uint32_t>(last);
    m_inFlight += static_cast<uint32_t>(last - first + 1);
}

/// Close the gap that transmissions, the oldest not among them, leave in the list.
void
Scoreboard::Unlink(uint64_t first, uint64_t last)
{
    const uint32_t previous = At(first).previousOrRunBegin;
    const uint32_t next = At(last).nextOrRunEnd;
    At(previous).nextOrRunEnd = next;
    if (static_cast<uint32_t>(last) == m_newest)
    {
        m_newest = previous;
    }
    else
    {
        At(next).previousOrRunBegin = previous;
    }
}

void
Scoreboard::Append(const Segment& segment, uint32_t count)
{
    while (PacketsOut() + count > m_ring.size())
    {
        Grow();
    }
    const uint64_t first = m_nxt;
    m_nxt += count;
    m_bytesOut += uint64_t{count} * segment.length;
    for (uint64_t number = first; number < m_nxt; ++number)
    {
        Segment& added = At(number);
        added = segment;
        added.previousOrRunBegin = static_cast<uint32_t>(number - 1);
        added.nextOrRunEnd = static_cast<uint32_t>(number + 1);
    }
    AppendToFlight(first, m_nxt - 1);
    Prefetch(m_nxt);
}

void
Scoreboard::Retransmit(uint64_t number)
{
    Segment& segment = At(number);
    if (segment.Has(Segment::LOST))
    {
        segment.flags |= Segment::RETRANSMITTED;
        ++m_retransmittedOut;
    }
    else
    {
        RemoveFromFlight(number, number);
    }
    segment.flags |= Segment::EVER_RETRANSMITTED;
    AppendToFlight(number, number);
}

void
Scoreboard::MarkLost(uint64_t number)
{
    Segment& segment = At(number);
    RemoveFromFlight(number, number);
    if (segment.Has(Segment::RETRANSMITTED))
    {
        segment.flags &= ~Segment::RETRANSMITTED;
        --m_retransmittedOut;
    }
    if (!segment.Has(Segment::LOST))
    {
        segment.flags |= Segment::LOST;
        ++m_lostOut;
    }
    (segment.Has(Segment::EVER_RETRANSMITTED) ? m_lostAgain : m_lostOnce).Push(number);
}

void
Scoreboard::UnmarkLost()
{
    std::vector<uint64_t> inFlight;
    for (uint64_t number = m_una; number != m_nxt; ++number)
    {
        Segment& segment = At(number);
        segment.flags &= ~(Segment::LOST | Segment::RETRANSMITTED);
        if (!segment.Has(Segment::SACKED))
        {
            inFlight.push_back(number);
        }
    }
    std::stable_sort(inFlight.begin(), inFlight.end(), [this](uint64_t a, uint64_t b) {
        return At(a).sentTime < At(b).sentTime;
    });
    m_lostOut = m_retransmittedOut = m_inFlight = 0;
    m_lostOnce.Clear();
    m_lostAgain.Clear();
    for (uint64_t number : inFlight)
    {
        AppendToFlight(number, number);
    }
}

std::optional<uint64_t>
Scoreboard::FirstLost(Fifo<uint64_t>& queue)
{
    while (!queue.IsEmpty())
    {
        uint64_t number = queue.Front();
        constexpr uint8_t RELEVANT = Segment::LOST | Segment::RETRANSMITTED | Segment::SACKED;
        if (number >= m_una && (At(number).flags & RELEVANT) == Segment::LOST)
        {
            return number;
        }
        queue.Pop();
    }
    return std::nullopt;
}

std::optional<uint64_t>
Scoreboard::NextLost()
{
    if (auto number = FirstLost(m_lostAgain))
    {
        return number;
    }
    return FirstLost(m_lostOnce);
}

uint64_t
Scoreboard::JoinRuns(uint64_t first, uint64_t last)
{
    uint64_t begin = first;
    uint64_t end = last + 1;
    if (first > m_una && At(first - 1).Has(Segment::SACKED))
    {
        begin = std::max(m_una, Expand(At(first - 1).previousOrRunBegin));
    }
    if (end < m_nxt && At(end).Has(Segment::SACKED))
    {
        end = Expand(At(end).nextOrRunEnd);
    }
    for (uint64_t number = first; number <= last; ++number)
    {
        Segment& segment = At(number);
        segment.flags &= ~(Segment::LOST | Segment::RETRANSMITTED);
        segment.flags |= Segment::SACKED;
        // Where a run goes on from here: an ACK that was overtaken may begin with this segment.
        segment.nextOrRunEnd = static_cast<uint32_t>(end);
    }
    At(begin).nextOrRunEnd = static_cast<uint32_t>(end);
    At(end - 1).previousOrRunBegin = static_cast<uint32_t>(begin);
    m_fack = std::max(m_fack, end);
    return end;
}

} // namespace tunnelcc
