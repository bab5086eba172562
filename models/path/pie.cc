/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pie.h"

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
    // While nothing comes or goes and nothing waited, updates change nothing but the burst left.
    if (IsCalm() && m_delay == 0 && m_oldDelay == 0 && m_nextUpdate <= now)
    {
        int64_t updates = (now - m_nextUpdate) / m_spec.interval + 1;
        m_nextUpdate += updates * m_spec.interval;
        m_burstLeft = std::max<int64_t>(0, m_burstLeft - updates * m_spec.interval);
    }
    while (m_nextUpdate <= now)
    {
        Update();
        m_nextUpdate += m_spec.interval;
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
    constexpr double LARGEST_STEP = 0.02; // section 5.5, from a probability of 10 %
    return std::min(step, LARGEST_STEP);
}

void
PieQueueDisc::Update()
{
    constexpr double DECAY = 0.98; // section 4.2, while nothing waits
    if (m_burstLeft > 0)
    {
        m_probability = 0;
    }
    else
    {
        m_probability += Step();
        m_probability *= m_delay == 0 && m_oldDelay == 0 ? DECAY : 1;
        m_probability = std::clamp(m_probability, 0.0, 1.0);
    }
    m_oldDelay = m_delay;
    m_burstLeft = std::max<int64_t>(0, m_burstLeft - m_spec.interval);
}

bool
PieQueueDisc::RollEarlyDrop()
{
    // RFC 8033, section 4.1: nothing is dropped that need not be to hold the target.
    constexpr double HIGH_PROBABILITY = 0.2;
    bool isShort = 2 * m_oldDelay < m_spec.target && m_probability < HIGH_PROBABILITY;
    if (isShort || WaitingBytes() <= 2 * uint64_t{Largest()})
    {
        return false;
    }
    return m_stream.RandU01() < m_probability;
}

bool
PieQueueDisc::Enqueue(int64_t now, QueuedPacket* packet)
{
    constexpr double MARK_BELOW = 0.1; // section 5.1: above, ECN-capable packets are dropped too
    UpdateUntil(now);
    if (IsCalm())
    {
        m_burstLeft = m_spec.burst;
    }
    bool isFull = IsFullFor(*packet);
    bool isChosen = !isFull && m_burstLeft == 0 && RollEarlyDrop();
    bool drops = isChosen && (m_probability >= MARK_BELOW || !Mark(*packet));
    return Admit(m_queue, packet, !isFull && !drops);
}

QueuedPacket*
PieQueueDisc::Dequeue(int64_t now)
{
    UpdateUntil(now);
    QueuedPacket* packet = Pop(m_queue);
    m_delay = WaitingPackets() > 0 ? now - packet->arrival : 0;
    return packet;
}

} // namespace tunnelcc
