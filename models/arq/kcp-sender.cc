/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "kcp-sender.h"

#include "event/time-units.h"

#include <algorithm>
#include <bit>

namespace tunnelcc
{

namespace
{

/// What a peer is taken to have room for before it tells, segments.
constexpr uint32_t FIRST_PEER_WINDOW = 32;

/// Least threshold of the congestion window, which is the first one, too, segments.
constexpr uint32_t LEAST_THRESHOLD = 2;

/// Count of a segment that is counted for no more until it times out.
constexpr uint32_t UNCOUNTED = UINT32_MAX;

/// Whether number or time \p a comes before \p b.
bool
IsBefore(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) < 0;
}

/// Times that a wheel tells apart: some turns of the clock, and most time-outs.
size_t
WheelSize(const KcpSpec& spec)
{
    constexpr uint32_t LEAST = 1024;
    return std::bit_ceil(std::max(LEAST, static_cast<uint32_t>(spec.interval / MS) + 1));
}

} // namespace

KcpSender::KcpSender(const KcpSpec& spec, uint32_t window, uint32_t mss)
    : m_behaviour(KcpBehaviour::Of(spec.generation)),
      m_mss(mss),
      m_sendWindow(window),
      m_resend(spec.resend),
      m_enough(spec.resend > 0 ? spec.resend : UNCOUNTED - 1),
      m_nodelay(spec.nodelay),
      m_hasCongestionWindow(spec.congestion),
      m_ring(std::bit_ceil(window)),
      m_peerWindow(FIRST_PEER_WINDOW),
      m_wheel(WheelSize(spec)),
      m_rto(spec.nodelay, static_cast<uint32_t>(spec.interval / MS)),
      m_threshold(LEAST_THRESHOLD)
{
}

// Writing ---------------------------------------------------------------------------------------

bool
KcpSender::HasRoom() const
{
    uint32_t waiting = Waiting();
    return waiting < m_sendWindow && (!m_behaviour.peerGatesWrites || waiting < m_peerWindow);
}

void
KcpSender::Write(uint64_t bytes)
{
    if (!m_queue.IsEmpty())
    {
        uint16_t& last = m_queue[m_queue.Size() - 1];
        auto more = static_cast<uint16_t>(std::min<uint64_t>(bytes, m_mss - last));
        last += more;
        bytes -= more;
    }
    while (bytes > 0)
    {
        auto length = static_cast<uint16_t>(std::min<uint64_t>(bytes, m_mss));
        m_queue.Push(length);
        bytes -= length;
    }
}

// ACKs ------------------------------------------------------------------------------------------

bool
KcpSender::OnUna(uint32_t una)
{
    if (!IsBefore(m_una, una))
    {
        return false;
    }
    for (; m_una != una; ++m_una)
    {
        uint32_t slot = SlotOf(m_una);
        if (!m_ring[slot].isAcked)
        {
            Acknowledge(slot);
        }
    }
    return true;
}

void
KcpSender::OnAck(uint32_t number)
{
    if (IsBefore(number, m_una) || !IsBefore(number, m_next))
    {
        return;
    }
    uint32_t slot = SlotOf(number);
    if (m_ring[slot].isAcked)
    {
        return;
    }
    Acknowledge(slot);
    if (!m_behaviour.keepsAcked)
    {
        while (m_una != m_next && m_ring[SlotOf(m_una)].isAcked)
        {
            ++m_una;
        }
    }
}

void
KcpSender::Acknowledge(uint32_t slot)
{
    Slot& segment = m_ring[slot];
    segment.isAcked = true;
    --m_unacked;
    m_bytesInFlight -= segment.length;
    Unlink(slot);
    TimesOf(segment.timeout).Remove(m_ring, slot);
}

bool
KcpSender::CountFor(uint32_t number, uint32_t time)
{
    if (IsBefore(number, m_una) || !IsBefore(number, m_next))
    {
        return false;
    }
    bool isEnough = false;
    for (uint32_t slot = m_first.First(); slot != List::NONE;)
    {
        if (!IsBefore(m_ring[slot].number, number))
        {
            break;
        }
        uint32_t counted = slot;
        slot = List::After(m_ring, slot);
        isEnough |= Count(counted);
    }
    for (uint32_t slot = m_again.First(); slot != List::NONE;)
    {
        const Slot& segment = m_ring[slot];
        if (m_behaviour.countsEachAck && IsBefore(time, segment.sent))
        {
            break; // left after what was acknowledged, as did all that follow
        }
        uint32_t counted = slot;
        slot = List::After(m_ring, slot);
        if (IsBefore(segment.number, number))
        {
            isEnough |= Count(counted);
        }
    }
    return isEnough;
}

bool
KcpSender::Count(uint32_t slot)
{
    Slot& segment = m_ring[slot];
    if (++segment.count >= m_enough)
    {
        Unlink(slot);
        PlaceIn(Place::DUE, slot);
    }
    return segment.count >= m_resend;
}

// Lists -----------------------------------------------------------------------------------------

KcpSender::List&
KcpSender::ListOf(Place place)
{
    return place == Place::FIRST ? m_first : place == Place::AGAIN ? m_again : m_due;
}

void
KcpSender::PlaceIn(Place place, uint32_t slot)
{
    m_ring[slot].place = place;
    ListOf(place).PushBack(m_ring, slot);
}

void
KcpSender::Unlink(uint32_t slot)
{
    Slot& segment = m_ring[slot];
    if (segment.place != Place::NONE)
    {
        ListOf(segment.place).Remove(m_ring, slot);
        segment.place = Place::NONE;
    }
}

// Flushes ---------------------------------------------------------------------------------------

uint32_t
KcpSender::Window() const
{
    uint32_t window = std::min(m_sendWindow, m_peerWindow);
    return m_hasCongestionWindow ? std::min(window, m_cwnd) : window;
}

SendLimit
KcpSender::LeastWindow() const
{
    const uint32_t least = Window();
    return m_peerWindow <= least   ? SendLimit::RECEIVE_WINDOW
           : m_sendWindow <= least ? SendLimit::SEND_WINDOW
                                   : SendLimit::CONGESTION_WINDOW;
}

uint32_t
KcpSender::MoveIntoWindow()
{
    uint32_t end = m_una + Window();
    uint32_t moved = 0;
    while (IsBefore(m_next, end) && !m_queue.IsEmpty())
    {
        Slot& segment = m_ring[SlotOf(m_next)];
        segment.number = m_next;
        segment.length = m_queue.Front();
        segment.isAcked = false;
        m_queue.Pop();
        ++m_next;
        ++moved;
    }
    return moved;
}

const std::vector<KcpSender::Transmission>&
KcpSender::Flush(uint32_t now)
{
    m_transmissions.clear();
    uint32_t window = Window();
    bool hasNew = MoveIntoWindow() > 0;
    const KcpCounters before = m_counters;
    CollectDue(now, hasNew);
    std::sort(m_candidates.begin(), m_candidates.end(), [this](uint32_t a, uint32_t b) {
        return IsBefore(m_ring[a].number, m_ring[b].number);
    });
    auto end = std::unique(m_candidates.begin(), m_candidates.end());
    for (auto it = m_candidates.begin(); it != end; ++it)
    {
        Reason reason = ReasonFor(m_ring[*it], now, hasNew);
        if (reason != Reason::NOTHING)
        {
            Resend(*it, now, reason);
        }
    }
    SendNew(now);
    if (m_hasCongestionWindow)
    {
        ReduceWindow(window,
                     m_counters.fast + m_counters.early - before.fast - before.early,
                     m_counters.timeouts - before.timeouts);
    }
    return m_transmissions;
}

void
KcpSender::CollectDue(uint32_t now, bool hasNew)
{
    m_candidates.clear();
    for (uint32_t slot = m_due.First(); slot != List::NONE; slot = List::After(m_ring, slot))
    {
        m_candidates.push_back(slot);
    }
    if (!hasNew)
    {
        CollectCounted(m_first);
        CollectCounted(m_again);
    }
    // All that time out in a turn of the wheel and later are seen, however long ago it was moved.
    uint32_t steps = std::min(now - m_wheelTime, static_cast<uint32_t>(m_wheel.size()));
    for (; steps > 0; --steps)
    {
        const Times& times = TimesOf(now - steps + 1);
        for (uint32_t slot = times.First(); slot != Times::NONE; slot = Times::After(m_ring, slot))
        {
            if (!IsBefore(now, m_ring[slot].timeout))
            {
                m_candidates.push_back(slot);
            }
        }
    }
    m_wheelTime = now;
}

void
KcpSender::CollectCounted(const List& list)
{
    for (uint32_t slot = list.First(); slot != List::NONE; slot = List::After(m_ring, slot))
    {
        const Slot& segment = m_ring[slot];
        if (segment.count > 0)
        {
            m_candidates.push_back(slot);
        }
        else if (segment.place == Place::FIRST)
        {
            break; // an ACK counts for all below it
        }
    }
}

KcpSender::Reason
KcpSender::ReasonFor(const Slot& segment, uint32_t now, bool hasNew) const
{
    bool isTimedOut = !IsBefore(now, segment.timeout);
    if (isTimedOut && m_behaviour.timeoutFirst)
    {
        return Reason::TIMEOUT;
    }
    if (segment.count != UNCOUNTED)
    {
        if (m_resend > 0 && segment.count >= m_resend)
        {
            return Reason::FAST;
        }
        if (segment.count > 0 && !hasNew)
        {
            return Reason::EARLY;
        }
    }
    return isTimedOut ? Reason::TIMEOUT : Reason::NOTHING;
}

void
KcpSender::Resend(uint32_t slot, uint32_t now, Reason reason)
{
    Slot& segment = m_ring[slot];
    Unlink(slot);
    TimesOf(segment.timeout).Remove(m_ring, slot);
    if (reason == Reason::TIMEOUT)
    {
        ++m_counters.timeouts;
        segment.rto += m_nodelay ? m_rto.Timeout() / 2 : m_rto.Timeout();
        segment.count = m_behaviour.timeoutFirst ? segment.count : 0;
    }
    else
    {
        ++(reason == Reason::FAST ? m_counters.fast : m_counters.early);
        segment.rto = m_rto.Timeout();
        segment.count = m_behaviour.resendsOnce ? UNCOUNTED : 0;
    }
    if (segment.count != UNCOUNTED)
    {
        PlaceIn(segment.count >= m_enough ? Place::DUE : Place::AGAIN, slot);
    }
    segment.sent = now;
    SetTimeout(slot, now + segment.rto);
    ++m_counters.segments;
    m_transmissions.push_back({segment.number, segment.length});
}

void
KcpSender::SetTimeout(uint32_t slot, uint32_t time)
{
    m_ring[slot].timeout = time;
    TimesOf(time).PushBack(m_ring, slot);
}

void
KcpSender::SendNew(uint32_t now)
{
    for (; m_unsent != m_next; ++m_unsent)
    {
        uint32_t slot = SlotOf(m_unsent);
        Slot& segment = m_ring[slot];
        segment.rto = m_rto.Timeout();
        segment.count = 0;
        segment.sent = now;
        PlaceIn(Place::FIRST, slot);
        SetTimeout(slot, now + segment.rto);
        ++m_unacked;
        m_bytesInFlight += segment.length;
        ++m_counters.segments;
        m_transmissions.push_back({segment.number, segment.length});
    }
}

uint32_t
KcpSender::TimeToTimeout(uint32_t now, uint32_t limit) const
{
    for (uint32_t wait = 1; wait < limit; ++wait)
    {
        uint32_t time = now + wait;
        const Times& times = m_wheel[time & (m_wheel.size() - 1)];
        for (uint32_t slot = times.First(); slot != Times::NONE; slot = Times::After(m_ring, slot))
        {
            if (m_ring[slot].timeout == time)
            {
                return wait;
            }
        }
    }
    return limit;
}

// Congestion window -----------------------------------------------------------------------------

void
KcpSender::GrowWindow()
{
    if (m_cwnd >= m_peerWindow)
    {
        return;
    }
    if (m_cwnd < m_threshold)
    {
        ++m_cwnd;
        m_increase += m_mss;
    }
    else
    {
        m_increase = std::max(m_increase, m_mss);
        m_increase += m_mss * m_mss / m_increase + m_mss / 16;
        if ((m_cwnd + 1) * m_mss <= m_increase)
        {
            m_cwnd = m_behaviour.roundsWindowUp ? (m_increase + m_mss - 1) / m_mss : m_cwnd + 1;
        }
    }
    if (m_cwnd > m_peerWindow)
    {
        m_cwnd = m_peerWindow;
        m_increase = m_peerWindow * m_mss;
    }
}

void
KcpSender::ReduceWindow(uint32_t window, uint64_t resent, uint64_t timedOut)
{
    if (resent > 0)
    {
        m_threshold = std::max((m_next - m_una) / 2, LEAST_THRESHOLD);
        m_cwnd = m_threshold + m_resend;
        m_increase = m_cwnd * m_mss;
    }
    if (timedOut > 0)
    {
        m_threshold = std::max(window / 2, LEAST_THRESHOLD);
        m_cwnd = 1;
        m_increase = m_mss;
    }
    if (m_cwnd < 1)
    {
        m_cwnd = 1;
        m_increase = m_mss;
    }
}

} // namespace tunnelcc
