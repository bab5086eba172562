/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "dual-pi2.h"

#include "pi-controller.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

int64_t
Waited(const PacketQueue& queue, int64_t now)
{
    return queue.IsEmpty() ? 0 : now - queue.Front()->arrival;
}

} // namespace

DualPi2QueueDisc::DualPi2QueueDisc(const LinkSpec& link,
                                   const DualPi2Spec& spec,
                                   PacketStore& store,
                                   const RandomStream& stream)
    : QueueDisc(link, true, store),
      m_spec(spec),
      m_stream(stream),
      m_nextUpdate(spec.interval)
{
}

bool
DualPi2QueueDisc::Roll(double probability)
{
    return probability > 0 && m_stream.RandU01() <= probability;
}

// The controller -------------------------------------------------------------------------------

void
DualPi2QueueDisc::UpdateUntil(int64_t now)
{
    // While nothing waits, an update that finds the least probability changes nothing.
    if (m_probability == 0 && m_oldDelay == 0 && WaitingPackets() == 0 && m_nextUpdate <= now)
    {
        m_nextUpdate += ((now - m_nextUpdate) / m_spec.interval + 1) * m_spec.interval;
    }
    for (; m_nextUpdate <= now; m_nextUpdate += m_spec.interval)
    {
        Update(m_nextUpdate);
    }
}

void
DualPi2QueueDisc::Update(int64_t now)
{
    const int64_t delay = std::max(Waited(m_lowLatency, now), Waited(m_classic, now));
    m_probability = std::clamp(m_probability + PiStep(m_spec, delay, m_oldDelay), 0.0, 1.0);
    m_oldDelay = delay;
}

// Packets --------------------------------------------------------------------------------------

bool
DualPi2QueueDisc::Enqueue(int64_t now, QueuedPacket* packet)
{
    UpdateUntil(now);
    // RFC 9331, section 5.1: a mark hides which kind of packet it was.
    const Packet& header = packet->packet;
    const bool isL4s = header.isEct && (header.isL4s || header.isCe);
    return Admit(isL4s ? m_lowLatency : m_classic, packet, !IsFullFor(*packet));
}

bool
DualPi2QueueDisc::RollClassic(QueuedPacket& packet)
{
    if (!Roll(m_probability) || !Roll(m_probability))
    {
        return false;
    }
    const bool isOverload = m_probability * m_spec.coupling > 1;
    return isOverload || !Mark(packet);
}

bool
DualPi2QueueDisc::RollL4s(QueuedPacket& packet)
{
    const double marked = m_probability * m_spec.coupling;
    if (marked > 1 && Roll(m_probability) && Roll(m_probability))
    {
        return true;
    }
    if (marked > 1 || Roll(marked))
    {
        Mark(packet);
    }
    return false;
}

QueuedPacket*
DualPi2QueueDisc::Dequeue(int64_t now)
{
    UpdateUntil(now);
    while (WaitingPackets() > 0)
    {
        const bool hasBoth = !m_lowLatency.IsEmpty() && !m_classic.IsEmpty();
        const bool isL4s = hasBoth ? m_credit <= 0 : m_classic.IsEmpty();
        QueuedPacket* packet = Pop(isL4s ? m_lowLatency : m_classic);
        // Linux must_drop(): not while less than two packets of the largest size wait behind.
        const bool isShort = WaitingBytes() < 2 * uint64_t{Largest()};
        if (!isShort && (isL4s ? RollL4s(*packet) : RollClassic(*packet)))
        {
            Drop(packet);
            continue;
        }
        if (isL4s && !packet->packet.isCe && now - packet->arrival > m_spec.step)
        {
            Mark(*packet);
        }
        if (hasBoth)
        {
            m_credit += (isL4s ? m_spec.classicShare : m_spec.classicShare - 1) * packet->bytes;
        }
        return packet;
    }
    // As if the low-latency queue had long been served: it is the first to go on.
    m_credit = (2 * m_spec.classicShare - 1) * Largest();
    return nullptr;
}

} // namespace tunnelcc
