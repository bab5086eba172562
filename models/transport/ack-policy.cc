/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ack-policy.h"

#include "timer-wheel.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Longest delay of an ACK (Linux TCP_DELACK_MAX).
constexpr int64_t LONGEST_DELAY = 200'000'000;

/// Duplicate ACKs that are sent at once before others are compressed (Linux
/// TCP_FASTRETRANS_THRESH).
constexpr uint32_t DUPLICATE_ACKS = 3;

/// Most ACKs that become one, and how long they wait: a twentieth of the RTT, but no longer than
/// this, and some slack (Linux sysctls tcp_comp_sack_nr, _delay_ns, _slack_ns).
constexpr uint32_t COMPRESSED_ACKS = 44;
constexpr int64_t COMPRESSION_RTTS = 20;
constexpr int64_t COMPRESSION_TIME = 1'000'000;
constexpr int64_t COMPRESSION_SLACK = 100'000;

/// Most bytes that GRO makes one packet of, headers included (Linux GRO_LEGACY_MAX_SIZE).
constexpr uint32_t MERGED_BYTES = 65'536;

} // namespace

/// Segments that the host makes one of (GRO).
struct AckPolicy::Merge
{
    const int64_t time;  //!< from the first of them to the last, ns
    const uint32_t most; //!< of them
    uint32_t count;      //!< so far; valid while the timer is pending
    Arrival latest;
    Timer<AckPolicy, &AckPolicy::OnMergeTimer> timer;
};

AckPolicy::AckPolicy(EventLoop& loop,
                     const TcpSpec& spec,
                     const RttEstimator& rtt,
                     AckOutput& output)
    : m_delayTimer(loop, this),
      m_mss(spec.mss),
      m_ackEvery(spec.ackEvery),
      m_pingPongAnswers(spec.pingPongAnswers),
      m_acksPushed(spec.pushedAcks),
      m_leastDelay(spec.delayedAck),
      m_rtt(rtt),
      m_jiffy(spec.jiffy),
      m_output(output),
      m_compressionTimer(loop, this)
{
    if (spec.gro > 0)
    {
        const uint32_t most = std::max((MERGED_BYTES - spec.headerBytes) / spec.mss, 1U);
        m_merge.reset(new Merge{spec.gro,
                                most,
                                0,
                                {},
                                Timer<AckPolicy, &AckPolicy::OnMergeTimer>(loop, this)});
    }
}

AckPolicy::~AckPolicy() = default;

void
AckPolicy::OnInOrder(int64_t now)
{
    // Linux tcp_event_data_recv(). After a gap longer than the RTO, the sender may have begun anew
    // with a window so small that it waits for each ACK. So it has with the first data.
    const int64_t gap = now - m_lastInOrder;
    if (m_segmentTime == 0 || (gap >= m_segmentTime && gap > m_rtt.Rto()))
    {
        m_quickAcks = std::max(m_quickAcks, QUICK_ACKS);
        m_segmentTime = std::max(m_segmentTime, m_leastDelay);
    }
    else if (gap <= m_leastDelay >> 1) // shifts, for it is so with almost every segment
    {
        m_segmentTime = (m_segmentTime >> 1) + (m_leastDelay >> 1);
    }
    else if (gap < m_segmentTime)
    {
        m_segmentTime = std::min(m_segmentTime / 2 + gap, m_rtt.Rto());
    }
    m_lastInOrder = now;
}

void
AckPolicy::Withdraw()
{
    m_delayTimer.Withdraw();
    m_compressionTimer.Withdraw();
    if (m_merge)
    {
        m_merge->timer.Withdraw();
    }
}

void
AckPolicy::AckQuickly(uint32_t acks)
{
    // Linux tcp_enter_quickack_mode()
    m_quickAcks = std::max(m_quickAcks, acks);
    m_answers = 0;
    m_segmentTime = m_leastDelay;
}

bool
AckPolicy::TryMerge(int64_t now, const Arrival& arrival)
{
    Merge& merge = *m_merge;
    if (arrival.urgency != AckUrgency::DELAYED || arrival.isAckDue)
    {
        return false;
    }
    if (!merge.timer.IsPending())
    {
        merge.timer.Set(now + merge.time);
        merge.count = 0;
    }
    merge.latest = arrival;
    if (++merge.count < merge.most && !arrival.isPushed)
    {
        return true;
    }
    merge.timer.Cancel();
    return false;
}

void
AckPolicy::OnMergeTimer(int64_t now)
{
    m_merge->latest.isPushed = true;
    if (HasUnacked() && Decide(now, m_merge->latest))
    {
        m_output.SendAck(now);
    }
}

int64_t
AckPolicy::Delay() const
{
    // Linux tcp_send_delayed_ack()
    const int64_t longest = std::max(LONGEST_DELAY, m_leastDelay);
    return std::clamp(m_segmentTime,
                      m_leastDelay,
                      std::min(longest, std::max(m_rtt.Srtt(), m_leastDelay)));
}

bool
AckPolicy::TryDelay(int64_t now)
{
    // Linux tcp_send_delayed_ack()
    const int64_t delay = Delay();
    if (m_delayTimer.IsPending() && m_delayEnd <= now + delay / 4)
    {
        return false; // it is nearly time
    }
    if (!m_delayTimer.IsPending() || now + delay < m_delayEnd)
    {
        m_delayBegin = now;
        m_delayEnd = now + delay;
        m_delayTimer.Set(m_delayEnd);
    }
    return true;
}

bool
AckPolicy::TryCompress(int64_t now, uint64_t next, int64_t rtt)
{
    // Linux __tcp_ack_snd_check(), but that two segments in order which leave a hole count as one:
    // there they do where they narrow the window.
    if (m_compressed >= COMPRESSED_ACKS)
    {
        return false;
    }
    if (next != m_duplicatesOf)
    {
        m_duplicatesOf = next;
        m_duplicateAcks = 0;
    }
    if (m_duplicateAcks < DUPLICATE_ACKS)
    {
        ++m_duplicateAcks;
        return false;
    }
    if (m_compressed++ == 0)
    {
        // Of what arrives and of what was sent, the lesser RTT: where nothing but the handshake was
        // sent, no queue that came later is in it.
        const int64_t least = std::min(rtt, m_rtt.Srtt());
        const int64_t delay = std::min(COMPRESSION_TIME, least / COMPRESSION_RTTS);
        m_compressionTimer.Set(now + delay + COMPRESSION_SLACK);
    }
    return true;
}

void
AckPolicy::OnAckSent()
{
    if (m_quickAcks > 0 && m_unacked > 0 && --m_quickAcks == 0)
    {
        m_segmentTime = m_leastDelay; // Linux tcp_dec_quickack_mode()
    }
    m_unacked = 0;
    m_pushes = 0;
    m_delayTimer.Cancel();
    if (m_compressed > 0)
    {
        m_compressed = 0;
        m_compressionTimer.Cancel();
    }
}

void
AckPolicy::OnDataSent(int64_t now)
{
    // Linux tcp_event_data_sent(): the first data in answer to what came a moment ago
    const bool isFirst = m_lastSent < m_lastInOrder;
    if (isFirst && now - m_lastInOrder < m_segmentTime)
    {
        m_answers += !IsInPingPong();
    }
    m_lastSent = now;
}

void
AckPolicy::OnDelayTimer(int64_t now)
{
    const int64_t expiry = TimerWheel(m_jiffy).Expiry(m_delayBegin, m_delayEnd);
    if (now < expiry)
    {
        m_delayTimer.Set(expiry);
        return;
    }
    // Linux tcp_delack_timer_handler(): nothing came in time, nor was there an answer.
    m_segmentTime = IsInPingPong() ? m_leastDelay : std::min(2 * m_segmentTime, m_rtt.Rto());
    m_answers = IsInPingPong() ? 0 : m_answers;
    m_output.SendAck(now);
}

void
AckPolicy::OnCompressionTimer(int64_t now)
{
    m_output.SendAck(now);
}

} // namespace tunnelcc
