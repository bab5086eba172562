/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "red.h"

#include <cmath>

namespace tunnelcc
{

RedQueueDisc::RedQueueDisc(const LinkSpec& link,
                           const RedSpec& spec,
                           PacketStore& store,
                           const RandomStream& stream)
    : QueueDisc(link, spec.ecn, store),
      m_spec(spec),
      m_minThreshold(static_cast<double>(spec.minThreshold)),
      m_maxThreshold(static_cast<double>(spec.maxThreshold)),
      m_stream(stream)
{
}

void
RedQueueDisc::UpdateAverage(int64_t now)
{
    if (m_idleSince >= 0)
    {
        // As if so many packets had found the queue empty.
        auto packets =
            static_cast<double>(now - m_idleSince) / static_cast<double>(m_spec.meanPacketTime);
        m_average *= std::pow(1 - m_spec.weight, packets);
        return;
    }
    m_average += m_spec.weight * (static_cast<double>(WaitingBytes()) - m_average);
}

double
RedQueueDisc::DropProbability() const
{
    if (m_average < m_minThreshold)
    {
        return 0;
    }
    if (m_average < m_maxThreshold)
    {
        double share = (m_average - m_minThreshold) / (m_maxThreshold - m_minThreshold);
        return m_spec.maxProbability * share;
    }
    if (m_spec.gentle && m_average < 2 * m_maxThreshold)
    {
        double share = (m_average - m_maxThreshold) / m_maxThreshold;
        return m_spec.maxProbability + (1 - m_spec.maxProbability) * share;
    }
    return 1;
}

bool
RedQueueDisc::RollEarlyDrop(double probability)
{
    // Drops are spaced evenly: gaps of up to 1/probability packets are all as likely.
    ++m_count;
    double spread = static_cast<double>(m_count) * probability;
    bool drops = spread >= 1 || m_stream.RandU01() < probability / (1 - spread);
    if (drops)
    {
        m_count = 0;
    }
    return drops;
}

bool
RedQueueDisc::Enqueue(int64_t now, QueuedPacket* packet)
{
    UpdateAverage(now);
    double probability = DropProbability();
    bool isForced = probability >= 1;
    bool drops = isForced;
    if (m_average < m_minThreshold)
    {
        m_count = -1;
    }
    else if (isForced)
    {
        m_count = 0;
    }
    else
    {
        drops = RollEarlyDrop(probability);
    }
    bool waits = !IsFullFor(*packet) && (!drops || (!isForced && Mark(*packet)));
    if (waits)
    {
        m_idleSince = -1;
    }
    return Admit(m_queue, packet, waits);
}

QueuedPacket*
RedQueueDisc::Dequeue(int64_t now)
{
    QueuedPacket* packet = Pop(m_queue);
    if (!packet)
    {
        m_idleSince = now;
    }
    return packet;
}

} // namespace tunnelcc
