/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cake.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tunnelcc
{

namespace
{

// sch_cake CAKE_QUEUES, CAKE_SET_WAYS.
constexpr uint32_t CAKE_QUEUES = 1024;
constexpr uint32_t CAKE_WAYS = 8;

// sch_cake cake_set_rate(): BLUE's steps, in units of 2^-32.
constexpr uint32_t BLUE_UP = 1U << 24;
constexpr uint32_t BLUE_DOWN = 1U << 20;

constexpr uint32_t ETHERNET_HEADER = 14; // bytes

/// 1 / sqrt(n) of small counts n, in units of 2^-32; larger ones take a Newton step (sch_cake
/// cobalt_invsqrt()).
const std::array<uint32_t, 16> ROOTS = [] {
    std::array<uint32_t, 16> roots{};
    for (size_t n = 0; n < roots.size(); ++n)
    {
        const double root = std::exp2(32) / std::sqrt(std::max(static_cast<double>(n), 1.0));
        roots[n] = static_cast<uint32_t>(std::min(std::round(root), std::exp2(32) - 1));
    }
    return roots;
}();

/// What an ACK says, alone or in a data packet.
struct AckFields
{
    uint32_t number; //!< next segment expected
    uint32_t tsEcr;
    bool isEce;
    bool hasDuplicate; //!< the first block is a D-SACK
    uint32_t blocks;   //!< how many
    const SackBlocks* sack;
};

bool
IsAfter(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) > 0;
}

AckFields
FieldsOf(const QueuedPacket& queued)
{
    const Packet& packet = queued.packet;
    const bool isPure = packet.kind == PacketKind::ACK;
    return {isPure ? packet.ackNumber : queued.extras.ackNumber,
            isPure ? packet.tsEcr : queued.extras.ackTsEcr,
            packet.isEce != 0,
            packet.isDuplicate != 0,
            packet.sackBlocks,
            &queued.extras.blocks};
}

/// Whether every block of `a` is within a block of `b`; then `b` says at least as much.
bool
IsCovered(const AckFields& a, const AckFields& b)
{
    for (uint32_t i = 0; i < a.blocks; ++i)
    {
        bool isFound = false;
        for (uint32_t k = 0; k < b.blocks && !isFound; ++k)
        {
            isFound = !IsAfter(b.sack->begin[k], a.sack->begin[i]) &&
                      !IsAfter(a.sack->end[i], b.sack->end[k]);
        }
        if (!isFound)
        {
            return false;
        }
    }
    return true;
}

uint32_t
SackedSegments(const AckFields& ack)
{
    uint32_t segments = 0;
    for (uint32_t i = 0; i < ack.blocks; ++i)
    {
        segments += ack.sack->end[i] - ack.sack->begin[i];
    }
    return segments;
}

/// Whether a later ACK of the same flow makes an earlier, pure one superfluous (sch_cake
/// cake_ack_filter(), cake_tcph_may_drop(), cake_tcph_sack_compare()).
bool
IsSuperfluous(const AckFields& earlier, const AckFields& later)
{
    if (earlier.hasDuplicate || IsAfter(earlier.tsEcr, later.tsEcr) ||
        IsAfter(earlier.number, later.number) || !IsCovered(earlier, later))
    {
        return false;
    }
    // A duplicate ACK counts: it tells of an arrival, unless the later one sacks more.
    return earlier.number != later.number || SackedSegments(later) > SackedSegments(earlier);
}

} // namespace

void
Cobalt::SetCount(uint32_t count)
{
    m_count = count;
    if (count < ROOTS.size())
    {
        m_inverseRoot = ROOTS[count];
        return;
    }
    // y <- y (3 - n y^2) / 2, with 32 bits behind the point; the parts lose two bits, as there.
    const uint64_t root = m_inverseRoot;
    const uint64_t parts = (3ULL << 32) - count * (root * root >> 32);
    m_inverseRoot = static_cast<uint32_t>((parts >> 2) * root >> 31);
}

void
Cobalt::Schedule(int64_t from, int64_t interval)
{
    m_dropNext = from + static_cast<int64_t>(static_cast<uint64_t>(interval) * m_inverseRoot >> 32);
}

void
Cobalt::OnFull(int64_t now, const Times& times)
{
    if (now - m_changed > times.target)
    {
        constexpr uint32_t MOST = std::numeric_limits<uint32_t>::max();
        m_probability = m_probability > MOST - BLUE_UP ? MOST : m_probability + BLUE_UP;
        m_changed = now;
    }
    m_isDropping = true;
    m_dropNext = now;
    m_count = std::max<uint32_t>(m_count, 1);
}

void
Cobalt::OnEmpty(int64_t now, const Times& times)
{
    if (m_probability && now - m_changed > times.target)
    {
        m_probability -= std::min(m_probability, BLUE_DOWN);
        m_changed = now;
    }
    m_isDropping = false;
    if (m_count && now >= m_dropNext)
    {
        SetCount(m_count - 1);
        Schedule(m_dropNext, times.interval);
    }
}

Cobalt::Fate
Cobalt::Judge(int64_t now,
              int64_t waited,
              uint32_t bulk,
              bool canMark,
              const Times& times,
              RandomStream& stream)
{
    Fate fate{false, false};
    const bool isLate =
        waited > times.target && waited > times.packet * bulk * 2 && waited > times.packet * 4;
    bool isDue = m_count && now >= m_dropNext;
    bool isPast = now > m_dropNext;
    if (isLate && !m_isDropping)
    {
        m_isDropping = true;
        Schedule(now, times.interval);
    }
    else if (!isLate)
    {
        m_isDropping = false;
    }
    if (isLate && !m_count)
    {
        m_count = 1;
    }
    if (isDue && m_isDropping)
    {
        fate = {canMark, !canMark};
        SetCount(m_count + (m_count < std::numeric_limits<uint32_t>::max()));
        Schedule(m_dropNext, times.interval);
        isPast = now > m_dropNext;
    }
    else
    {
        while (isDue)
        {
            SetCount(m_count - 1);
            Schedule(m_dropNext, times.interval);
            isPast = now > m_dropNext;
            isDue = m_count && now >= m_dropNext;
        }
    }
    constexpr double RANGE = 1ULL << 32;
    if (m_probability && stream.RandU01() * RANGE < m_probability)
    {
        fate.isDropped = true;
    }
    if (!m_count)
    {
        m_dropNext = now + times.interval;
    }
    else if (isPast && !fate.isDropped)
    {
        m_dropNext = now;
    }
    return fate;
}

CakeQueueDisc::CakeQueueDisc(const LinkSpec& link,
                             const CakeSpec& spec,
                             PacketStore& store,
                             RandomStream stream)
    : QueueDisc(link, true, store),
      m_spec(spec),
      m_framing(link.framing),
      m_stream(stream),
      m_hash(m_stream),
      m_countsSources(spec.isolation == CakeIsolation::DUAL_SRCHOST ||
                      spec.isolation == CakeIsolation::TRIPLE_ISOLATE),
      m_countsDestinations(spec.isolation == CakeIsolation::DUAL_DSTHOST ||
                           spec.isolation == CakeIsolation::TRIPLE_ISOLATE)
{
    // sch_cake cake_set_rate().
    const double bytesPerSecond = spec.bandwidth / 8;
    m_quantum = 1514;
    int64_t packet = 0;
    if (spec.bandwidth > 0)
    {
        m_quantum = static_cast<uint32_t>(std::clamp(bytesPerSecond / 4096, 300.0, 1514.0));
        packet = static_cast<int64_t>((spec.mtu + ETHERNET_HEADER) * 1e9 / bytesPerSecond);
    }
    m_times.packet = packet;
    m_times.target = std::max(packet * 3 / 2, spec.target);
    m_times.interval = std::max(spec.interval + m_times.target - spec.target, m_times.target * 2);
    for (uint32_t number = 0; number < CAKE_QUEUES; ++number)
    {
        m_unused.emplace_back().number = number;
        m_queues.push_back(std::prev(m_unused.end()));
    }
}

void
CakeQueueDisc::AddFlow(uint32_t /* flow */, const FlowHosts& hosts)
{
    m_hosts.push_back(hosts);
    if (m_sources.size() <= hosts.source)
    {
        m_sources.resize(hosts.source + 1);
    }
    if (m_destinations.size() <= hosts.destination)
    {
        m_destinations.resize(hosts.destination + 1);
    }
}

uint32_t
CakeQueueDisc::Counted(uint32_t ipBytes) const
{
    const int64_t whole = int64_t{ipBytes} + m_spec.overhead;
    auto bytes = static_cast<uint32_t>(std::max<int64_t>(whole, m_spec.leastSize));
    if (m_spec.cells == CellFraming::ATM)
    {
        return (bytes + 47) / 48 * 53;
    }
    return m_spec.cells == CellFraming::PTM ? bytes + (bytes + 63) / 64 : bytes;
}

uint64_t
CakeQueueDisc::TagOf(uint32_t flow) const
{
    const FlowHosts& hosts = m_hosts[flow];
    switch (m_spec.isolation)
    {
    case CakeIsolation::FLOWBLIND:
        return 0;
    case CakeIsolation::SRCHOST:
        return m_hash(hosts.source);
    case CakeIsolation::DSTHOST:
        return m_hash(hosts.destination);
    case CakeIsolation::HOSTS:
        return m_hash(uint64_t{hosts.source} << 32 | hosts.destination);
    default:
        return m_hash(flow);
    }
}

CakeQueueDisc::FlowQueue&
CakeQueueDisc::QueueOf(uint32_t flow)
{
    const uint64_t tag = TagOf(flow);
    const auto first = static_cast<uint32_t>(tag % CAKE_QUEUES);
    const uint32_t set = first - first % CAKE_WAYS;
    FlowQueue* chosen = nullptr;
    for (uint32_t i = 0; i < CAKE_WAYS; ++i)
    {
        FlowQueue& queue = *m_queues[set + (first + i) % CAKE_WAYS];
        if (queue.tag == tag && queue.role != Role::NONE)
        {
            return queue;
        }
        if (queue.tag == tag || (queue.role == Role::NONE && !chosen))
        {
            chosen = &queue;
        }
    }
    FlowQueue& queue = chosen ? *chosen : *m_queues[first]; // others have it, and share it
    CountHosts(queue, -1);
    queue.tag = tag;
    queue.hosts = m_hosts[flow];
    CountHosts(queue, 1);
    return queue;
}

CakeQueueDisc::Turns&
CakeQueueDisc::TurnsOf(const FlowQueue& queue)
{
    switch (queue.role)
    {
    case Role::NONE:
        return m_unused;
    case Role::SPARSE:
        return m_new;
    case Role::DECAYING:
        return m_decaying;
    default:
        return m_old;
    }
}

void
CakeQueueDisc::MoveToEnd(Turns& turns, FlowQueue& queue)
{
    turns.splice(turns.end(), TurnsOf(queue), m_queues[queue.number]);
}

void
CakeQueueDisc::CountHosts(const FlowQueue& queue, int32_t change)
{
    if (queue.role == Role::BULK)
    {
        m_sources[queue.hosts.source] += change;
        m_destinations[queue.hosts.destination] += change;
    }
}

void
CakeQueueDisc::BecomeBulk(FlowQueue& queue)
{
    queue.role = Role::BULK;
    ++m_bulk;
    CountHosts(queue, 1);
}

void
CakeQueueDisc::StopBeingBulk(const FlowQueue& queue)
{
    m_bulk -= queue.role == Role::BULK;
    CountHosts(queue, -1);
}

int64_t
CakeQueueDisc::Quantum(const FlowQueue& queue)
{
    uint32_t load = 1; // queues of the busier host
    if (m_countsSources)
    {
        load = std::max(load, m_sources[queue.hosts.source]);
    }
    if (m_countsDestinations)
    {
        load = std::max(load, m_destinations[queue.hosts.destination]);
    }
    constexpr uint32_t ONE = 65535; // sch_cake quantum_div[]
    constexpr double RANGE = 1 << 16;
    const auto dither = static_cast<int64_t>(m_stream.RandU01() * RANGE);
    return (int64_t{m_quantum} * (ONE / load) + dither) >> 16;
}

bool
CakeQueueDisc::Enqueue(int64_t now, QueuedPacket* packet)
{
    if (WaitingPackets() == 0 && m_nextAt < now)
    {
        m_nextAt = m_failsafe = now; // the shaper's time goes on while nothing waits
    }
    FlowQueue& queue = QueueOf(packet->flow);
    Push(queue.packets, packet);
    if (m_spec.ackFilter != AckFilter::NONE)
    {
        if (QueuedPacket* ack = FilterAck(queue, *packet))
        {
            if (m_spec.ingress)
            {
                Advance(*ack, false);
            }
            Drop(ack);
        }
    }
    if (queue.role == Role::NONE || queue.role == Role::DECAYING)
    {
        MoveToEnd(m_new, queue);
        queue.role = Role::SPARSE;
        queue.deficit = Quantum(queue);
    }
    else if (queue.role == Role::SPARSE_WAIT)
    {
        BecomeBulk(queue);
    }
    bool waits = true;
    while (IsOverLimit())
    {
        waits &= DropFromLongest(now) != packet;
    }
    return waits;
}

/// \returns the packet, which is gone
const QueuedPacket*
CakeQueueDisc::DropFromLongest(int64_t now)
{
    FlowQueue* longest = nullptr;
    for (Turns* turns : {&m_new, &m_old})
    {
        for (FlowQueue& queue : *turns)
        {
            if (!longest || queue.packets.Bytes() > longest->packets.Bytes())
            {
                longest = &queue;
            }
        }
    }
    QueuedPacket* packet = Pop(longest->packets);
    longest->cobalt.OnFull(now, m_times);
    if (m_spec.ingress)
    {
        Advance(*packet, false);
    }
    Drop(packet);
    return packet;
}

QueuedPacket*
CakeQueueDisc::FilterAck(FlowQueue& queue, const QueuedPacket& newest)
{
    const bool isAck = newest.packet.kind == PacketKind::ACK || newest.packet.hasAck;
    if (!isAck || queue.packets.Front() == &newest)
    {
        return nullptr;
    }
    const AckFields later = FieldsOf(newest);
    QueuedPacket* found = nullptr; // the first that is superfluous, and the one before it
    QueuedPacket* beforeFound = nullptr;
    uint32_t count = 0;
    bool isEce = false;
    QueuedPacket* before = nullptr;
    for (QueuedPacket* it = queue.packets.Front(); it != &newest; before = it, it = it->behind)
    {
        if (it->flow != newest.flow)
        {
            continue;
        }
        const bool isPure = it->packet.kind == PacketKind::ACK;
        if (found && isPure && it->packet.isEce != isEce)
        {
            found = nullptr; // it would be missed: the echo of a mark begins or ends behind it
            --count;
        }
        if (!isPure || !IsSuperfluous(FieldsOf(*it), later))
        {
            continue;
        }
        if (!found)
        {
            found = it;
            beforeFound = before;
            isEce = it->packet.isEce;
        }
        if (count++ > 0)
        {
            return beforeFound ? PopBehind(queue.packets, beforeFound) : Pop(queue.packets);
        }
    }
    if (found && m_spec.ackFilter == AckFilter::AGGRESSIVE && found->behind == &newest &&
        isEce == (newest.packet.isEce != 0))
    {
        return beforeFound ? PopBehind(queue.packets, beforeFound) : Pop(queue.packets);
    }
    return nullptr;
}

uint32_t
CakeQueueDisc::Advance(const QueuedPacket& packet, bool isSent)
{
    const uint32_t bytes = Counted(packet.bytes - m_framing);
    if (m_spec.bandwidth > 0)
    {
        const auto time = static_cast<int64_t>(bytes * 8e9 / m_spec.bandwidth);
        m_nextAt += time;
        m_failsafe += isSent ? time + time / 2 : 0;
        Hold(std::min(m_nextAt, m_failsafe));
    }
    return bytes;
}

void
CakeQueueDisc::RunEmpty(int64_t now, FlowQueue& queue)
{
    queue.cobalt.OnEmpty(now, m_times);
    StopBeingBulk(queue);
    const bool remembers = queue.cobalt.IsActive(now);
    MoveToEnd(remembers ? m_decaying : m_unused, queue);
    queue.role = remembers ? Role::DECAYING : Role::NONE;
}

QueuedPacket*
CakeQueueDisc::Dequeue(int64_t now)
{
    bool looksAtDecaying = true; // at one of them, each time
    while (WaitingPackets() > 0)
    {
        const bool isDecaying = looksAtDecaying && !m_decaying.empty();
        looksAtDecaying = false;
        Turns& turns = isDecaying ? m_decaying : m_new.empty() ? m_old : m_new;
        FlowQueue& queue = turns.front();
        if (queue.deficit <= 0)
        {
            MoveToEnd(m_old, queue);
            if (queue.role == Role::SPARSE && !queue.packets.IsEmpty())
            {
                BecomeBulk(queue);
            }
            else if (queue.role == Role::SPARSE)
            {
                queue.role = Role::SPARSE_WAIT;
            }
            queue.deficit += Quantum(queue);
            continue;
        }
        while (true)
        {
            QueuedPacket* packet = Pop(queue.packets);
            if (!packet)
            {
                RunEmpty(now, queue);
                break;
            }
            const bool isLast = queue.packets.IsEmpty();
            const Cobalt::Fate fate = queue.cobalt.Judge(now,
                                                         now - packet->arrival,
                                                         m_spec.ingress ? m_bulk : 0,
                                                         packet->packet.isEct,
                                                         m_times,
                                                         m_stream);
            if (fate.isMarked)
            {
                Mark(*packet);
            }
            if (!fate.isDropped || isLast)
            {
                queue.deficit -= Advance(*packet, true);
                return packet;
            }
            if (m_spec.ingress)
            {
                queue.deficit -= Advance(*packet, false);
            }
            Drop(packet);
            if (m_spec.ingress)
            {
                break; // the turn may have passed
            }
        }
    }
    return nullptr;
}

} // namespace tunnelcc
