/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "loss-detection.h"

#include "event/time-units.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Doublings after which a time-out grows no more; keeps the arithmetic in range. quic-go ends at
/// 60 s (maxPTODuration).
constexpr uint32_t MOST_DOUBLINGS = 20;
constexpr int64_t MOST_TIMEOUT = 60 * SECOND;

/// Probes of a PTO (RFC 9002, section 6.2.4).
constexpr uint32_t PROBES = 2;

} // namespace

LossDetection::LossDetection(const QuicLossSpec& spec, int64_t maxAckDelay, PacketHistory& history)
    : m_spec(spec),
      m_maxAckDelay(maxAckDelay),
      m_history(history)
{
}

void
LossDetection::Begin()
{
    m_outcome.acked.clear();
    m_outcome.lost.clear();
    m_outcome.hasSample = false;
    m_outcome.isPersistent = false;
}

const LossDetection::Outcome&
LossDetection::OnAck(int64_t now, const QuicPacket& ack, const PacketHistory& peer)
{
    Begin();
    const uint64_t largest = peer.RangeOf(ack, ack.ranges - 1U).end - 1;
    // Outstanding packets and ranges are both in order: one walk over the two. Of dozens of ranges,
    // nearly all are of packets that are long settled.
    uint32_t range = ack.ranges - 1U;
    while (range > 0 && peer.RangeOf(ack, range - 1).end > m_history.Oldest())
    {
        --range;
    }
    for (uint64_t number = m_history.Oldest(); number <= largest;)
    {
        while (peer.RangeOf(ack, range).end <= number)
        {
            ++range;
        }
        QuicPacket& packet = m_history.At(number);
        const uint64_t next = packet.next;
        if (peer.RangeOf(ack, range).begin <= number)
        {
            m_history.Settle(packet, QuicPacketFate::ACKED);
            m_outcome.acked.push_back(number);
        }
        number = next;
    }
    if (m_outcome.acked.empty())
    {
        return m_outcome;
    }
    m_largestAcked = m_hasAcked ? std::max(m_largestAcked, largest) : largest;
    m_hasAcked = true;
    // RFC 9002, section 5.1: only if the largest number is newly acknowledged.
    if (m_outcome.acked.back() == largest)
    {
        m_firstSample = m_rtt.HasSample() ? m_firstSample : now;
        const int64_t delay = m_isHandshakeDone ? std::min(ack.ackDelay, m_maxAckDelay) : 0;
        m_rtt.Sample(now - m_history.At(largest).sample.sentTime, delay);
        m_outcome.hasSample = true;
    }
    DetectLost(now);
    m_doublings = 0;
    m_probesDue = 0;
    return m_outcome;
}

void
LossDetection::DetectLost(int64_t now)
{
    m_lossTime = NEVER;
    const auto rtt = static_cast<double>(std::max(m_rtt.Latest(), m_rtt.Smoothed()));
    const int64_t delay = std::max(static_cast<int64_t>(m_spec.time * rtt), m_spec.granularity);
    for (uint64_t number = m_history.Oldest(); number <= m_largestAcked;)
    {
        QuicPacket& packet = m_history.At(number);
        const uint64_t next = packet.next;
        const bool isLate = packet.sample.sentTime <= now - delay;
        if (isLate || m_largestAcked >= number + m_spec.packets)
        {
            m_history.Settle(packet, QuicPacketFate::LOST);
            m_outcome.lost.push_back(number);
            ++(isLate ? m_lostByTime : m_lostByNumber);
        }
        else if (m_lossTime == NEVER)
        {
            m_lossTime = packet.sample.sentTime + delay;
        }
        number = next;
    }
    m_outcome.isPersistent = m_spec.persistent > 0 && IsPersistent();
}

bool
LossDetection::IsPersistent() const
{
    // RFC 9002, section 7.6: two packets lost, and all between them, so far apart.
    const int64_t duration =
        m_spec.persistent *
        (m_rtt.Smoothed() + std::max(4 * m_rtt.Variation(), m_spec.granularity) + m_maxAckDelay);
    const std::vector<uint64_t>& lost = m_outcome.lost;
    size_t first = 0;
    for (size_t i = 0; i < lost.size(); ++i)
    {
        const bool isNext = i > 0 && lost[i] == lost[i - 1] + 1;
        const int64_t begin = m_history.At(lost[first]).sample.sentTime;
        if (!isNext || begin < m_firstSample || !m_rtt.HasSample())
        {
            first = i;
        }
        else if (m_history.At(lost[i]).sample.sentTime - begin > duration)
        {
            return true;
        }
    }
    return false;
}

int64_t
LossDetection::ProbeTimeout() const
{
    if (!m_rtt.HasSample())
    {
        return m_spec.firstTimeout;
    }
    return m_rtt.Smoothed() + std::max(4 * m_rtt.Variation(), m_spec.granularity) +
           (m_isHandshakeDone ? m_maxAckDelay : 0);
}

int64_t
LossDetection::Deadline() const
{
    if (m_lossTime != NEVER)
    {
        return m_lossTime;
    }
    return m_history.InFlight() == 0
               ? NEVER
               : m_lastSent + std::min(ProbeTimeout() << m_doublings, MOST_TIMEOUT);
}

const LossDetection::Outcome&
LossDetection::OnTimer(int64_t now)
{
    Begin();
    if (m_lossTime != NEVER)
    {
        DetectLost(now);
        return m_outcome;
    }
    m_doublings = std::min(m_doublings + 1, MOST_DOUBLINGS);
    m_probesDue += PROBES;
    ++m_probeTimeouts;
    return m_outcome;
}

} // namespace tunnelcc
