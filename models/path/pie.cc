/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pie.h"

#include "event/time-units.h"
#include "pi-controller.h"

#include <algorithm>

namespace tunnelcc
{

PieQueueDisc::PieQueueDisc(const LinkSpec& link,
                           const PieSpec& spec,
                           PacketStore& store,
                           const RandomStream& stream)
    : QueueDisc(link, spec.ecn, store),
      m_spec(spec),
      m_stream(stream),
      m_burstLeft(spec.burst),
      m_nextUpdate(spec.interval)
{
}

bool
PieQueueDisc::IsCalm() const
{
    return m_probability == 0 && 2 * m_delay < m_spec.target && 2 * m_oldDelay < m_spec.target;
}

void
PieQueueDisc::UpdateUntil(int64_t now)
{
    while (m_nextUpdate <= now)
    {
        Update();
        m_nextUpdate += m_spec.interval;
        if (IsCalm() && m_delay == 0 && m_oldDelay == 0 && m_nextUpdate <= now)
        {
            // Nothing came or went since: the others change nothing.
            m_nextUpdate += (now - m_nextUpdate) / m_spec.interval * m_spec.interval;
        }
    }
}

double
PieQueueDisc::Step() const
{
    const double step = PiStep(m_spec, m_delay, m_oldDelay);

    // RFC 8033, section 4.2: the smaller the probability, the smaller its steps.
    struct Scale
    {
        double below;
        double divisor;
    };

    constexpr Scale SCALES[] =
        {{1e-6, 2'048}, {1e-5, 512}, {1e-4, 128}, {1e-3, 32}, {0.01, 8}, {0.1, 2}};
    for (const Scale& scale : SCALES)
    {
        if (m_probability < scale.below)
        {
            return step / scale.divisor;
        }
    }
    // Section 5.5, from a probability of 10 %; and Linux, "non-linear drop".
    constexpr double LARGEST_STEP = 0.02;
    return std::min(step, LARGEST_STEP);
}

void
PieQueueDisc::Update()
{
    constexpr int64_t LONG_DELAY = 250 * MS;
    constexpr double STEP_OF_LONG_DELAY = 0.02;
    constexpr double LARGEST = 256; // 64 bits, of which 56 are a probability of 1
    constexpr double DECAY = 1. / 64;

    m_probability += Step() + (m_delay > LONG_DELAY ? STEP_OF_LONG_DELAY : 0);
    m_probability = std::clamp(m_probability, 0.0, LARGEST);
    if (m_delay == 0 && m_oldDelay == 0 && WaitingPackets() == 0)
    {
        m_probability -= m_probability * DECAY;
    }
    if (IsCalm())
    {
        m_burstLeft = m_spec.burst;
        m_lastLeft = -1;
        m_accumulated = 0;
    }
    m_oldDelay = m_delay;
}

bool
PieQueueDisc::DropsEarly()
{
    // RFC 8033, section 4.1: nothing is dropped that need not be to hold the target.
    constexpr double HIGH_PROBABILITY = 0.2;
    const bool isShort = 2 * m_delay < m_spec.target && m_probability < HIGH_PROBABILITY;
    if (m_burstLeft > 0 || isShort || WaitingBytes() <= 2 * uint64_t{Largest()})
    {
        return false;
    }
    // Section 5.4: no drop soon after one, and none much later than it is due.
    constexpr double TOO_SOON = 0.85;
    constexpr double DUE = 8.5;
    m_accumulated = m_probability == 0 ? 0 : m_accumulated + m_probability;
    if (m_accumulated < TOO_SOON || m_accumulated >= DUE)
    {
        return m_accumulated >= DUE;
    }
    const bool drops = m_stream.RandU01() < m_probability;
    m_accumulated = drops ? 0 : m_accumulated;
    return drops;
}

bool
PieQueueDisc::Enqueue(int64_t now, QueuedPacket* packet)
{
    constexpr double MARK_UP_TO = 0.1; // section 5.1: above, ECN-capable packets are dropped too
    UpdateUntil(now);
    const bool isFull = IsFullFor(*packet);
    const bool isChosen = !isFull && DropsEarly();
    const bool drops = isChosen && (m_probability > MARK_UP_TO || !Mark(*packet));
    const bool waits = Admit(m_queue, packet, !isFull && !drops);
    m_accumulated = waits ? m_accumulated : 0;
    return waits;
}

QueuedPacket*
PieQueueDisc::Dequeue(int64_t now)
{
    UpdateUntil(now);
    QueuedPacket* packet = Pop(m_queue);
    if (!packet)
    {
        return nullptr;
    }
    m_delay = WaitingPackets() > 0 ? now - packet->arrival : 0;
    if (m_lastLeft >= 0)
    {
        m_burstLeft = std::max<int64_t>(0, m_burstLeft - (now - m_lastLeft));
    }
    m_lastLeft = now;
    return packet;
}

} // namespace tunnelcc
