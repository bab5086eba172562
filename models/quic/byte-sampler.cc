/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "byte-sampler.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Of a number of bytes in some ns.
double
BytesPerSecond(uint64_t bytes, int64_t time)
{
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(time);
}

} // namespace

void
ByteSampler::OnSent(int64_t now, uint64_t number, uint32_t bytes, uint64_t inFlight, bool asks)
{
    m_lastSent = number;
    if (!asks)
    {
        return;
    }
    m_sent += bytes;
    if (m_packets.IsEmpty())
    {
        m_first = number;
    }
    while (m_first + m_packets.Size() < number)
    {
        m_packets.Push({}); // asks for none, or its number was left out
    }
    Packet& packet = m_packets.Append();
    packet.state = {true, m_isAppLimited, inFlight + bytes, m_acked};
    packet.bytes = bytes;
    packet.time = now;
    packet.sent = m_sent;
    packet.sentAtLastAcked = m_sentAtLastAcked;
    packet.lastAckedSentTime = m_lastAckedSentTime;
    packet.lastAckedTime = m_lastAckedTime;
}

const ByteSampler::Packet*
ByteSampler::Find(uint64_t number) const
{
    const uint64_t index = number - m_first;
    const bool isThere = number >= m_first && index < m_packets.Size();
    return isThere && m_packets[index].state.isKnown ? &m_packets[index] : nullptr;
}

ByteSampler::Sample
ByteSampler::OnAcked(int64_t now, uint64_t number)
{
    const Packet* packet = Find(number);
    if (!packet)
    {
        return {};
    }
    m_acked += packet->bytes;
    m_sentAtLastAcked = packet->sent;
    m_lastAckedSentTime = packet->time;
    m_lastAckedTime = now;
    if (m_limitedUntil == NONE || number > m_limitedUntil)
    {
        m_isAppLimited = false;
    }
    if (packet->lastAckedSentTime == NOT_ACKED || now <= packet->lastAckedTime)
    {
        return {};
    }
    Sample sample{packet->state, 0, now - packet->time};
    sample.bandwidth = BytesPerSecond(m_acked - packet->state.acked, now - packet->lastAckedTime);
    if (packet->time > packet->lastAckedSentTime)
    {
        const double sent = BytesPerSecond(packet->sent - packet->sentAtLastAcked,
                                           packet->time - packet->lastAckedSentTime);
        sample.bandwidth = std::min(sample.bandwidth, sent);
    }
    return sample;
}

ByteSampler::SentState
ByteSampler::OnLost(uint64_t number, uint32_t bytes)
{
    m_lost += bytes;
    const Packet* packet = Find(number);
    return packet ? packet->state : SentState{};
}

void
ByteSampler::MarkAppLimited()
{
    m_isAppLimited = true;
    m_limitedUntil = m_lastSent;
}

void
ByteSampler::OnEventEnd(double bandwidth, uint32_t round)
{
    const uint64_t acked = m_acked - m_ackedBefore;
    if (acked == 0)
    {
        return;
    }
    m_ackedBefore = m_acked;
    const auto expected = static_cast<uint64_t>(
        bandwidth * static_cast<double>(m_lastAckedTime - m_epochStart) * 1e-9);
    if (m_epochStart == NOT_ACKED || m_epochBytes <= expected)
    {
        m_epochStart = m_lastAckedTime;
        m_epochBytes = acked;
        return;
    }
    m_epochBytes += acked;
    m_ackHeight.Update(m_epochBytes - expected, round, ROUNDS);
}

void
ByteSampler::Forget(uint64_t number)
{
    while (!m_packets.IsEmpty() && m_first < number)
    {
        m_packets.Pop();
        ++m_first;
    }
}

} // namespace tunnelcc
