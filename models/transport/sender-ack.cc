/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

#include <algorithm>
#include <utility>

/**
 * \file
 * What a sender does with an ACK.
 */
namespace tunnelcc
{

bool
Sender::OnAck(int64_t now, const Acknowledgement& ack)
{
    const uint64_t number = m_board.Expand(ack.number);
    if (number < m_board.Una() || number > m_board.Nxt())
    {
        return false; // overtaken by a later ACK
    }
    AckEvent event;
    event.now = now;
    event.priorInFlight = m_board.InFlight();
    uint64_t lostBefore = m_lost;
    bool wasOtherTimer = m_reordering.deadline != NEVER || m_probe.deadline != NEVER;
    uint64_t bytesBefore = m_buffer.Acked();
    bool isOfProbe = ack.isDuplicate && IsOfProbe(m_board.Expand(ack.blocks->begin[0]));
    if (ack.isDuplicate)
    {
        OnDuplicate(m_board.Expand(ack.blocks->begin[0]), isOfProbe);
    }

    AckSummary summary = ProcessAcknowledgement(now, ack);
    m_windowEdge = std::max(m_windowEdge, m_buffer.Acked() + ack.window);
    m_largestWindow = std::max(m_largestWindow, ack.window);
    if (m_persistDeadline != NEVER && NewSegmentLength() > 0)
    {
        m_persistDeadline = NEVER; // Linux tcp_ack_probe()
        m_rtt.EndBackOff();
    }
    event.rtt = UpdateRtt(now, summary, ack.tsEcr);
    event.ackedSacked = summary.delivered;
    event.cumAcked = summary.cumulative;
    event.rate = m_rate.OnAckEnd(now, summary.delivered > 0);
    event.isAckDelayed = ack.sackBlocks == 0 && m_buffer.Acked() - bytesBefore < m_spec.mss &&
                         IsAnswerToLoneSegment(summary, event.rate);
    if (m_rate.SampledSegment())
    {
        m_rack.UpdateWindow(event.rate.priorDelivered, m_state.delivered);
    }
    if (m_probeEnd)
    {
        EndTailLossProbe(now, number, isOfProbe);
    }
    UpdateState(now, summary, ack);
    CompleteRateSample(event.rate);
    event.hasEcnEcho = ack.isEce;
    event.timestamp = ack.tsVal;
    event.echo = ack.tsEcr;
    event.newlyLost = static_cast<uint32_t>(m_lost - lostBefore);
    RunCongestionControl(summary, event);

    RestartRto(now, summary, wasOtherTimer);
    TrySend(now);
    if (std::exchange(m_defersRetransmits, false))
    {
        EndDeferral(now);
    }
    ScheduleProbe(now);
    UpdateTimer(now);
    return WakesWriter();
}

Sender::AckSummary
Sender::ProcessAcknowledgement(int64_t now, const Acknowledgement& ack)
{
    AckSummary summary;
    // Linux tcp_dsack_seen(): a needless retransmission is a delivery.
    m_state.delivered += ack.isDuplicate;
    summary.delivered = ack.isDuplicate && m_board.PacketsOut() > 0;
    const uint64_t una = m_board.Una();
    const uint64_t fack = m_board.Fack();
    m_rate.OnAckBegin();
    auto onDelivered =
        [&](uint64_t number, const Segment& segment, int64_t& oldest, int64_t& latest, bool isOld) {
            ++summary.delivered;
            m_rate.OnDelivered(number, segment);
            m_rack.OnDelivered(now, number, segment, m_state.minRtt, fack, isOld);
            if (!segment.Has(Segment::EVER_RETRANSMITTED))
            {
                oldest = oldest < 0 ? segment.sentTime : oldest;
                latest = segment.sentTime;
                summary.deliveredOriginal |= number < m_recoveryEnd;
            }
        };
    // SACKs first, as Linux tcp_ack(): RACK goes by the RTT of what it is told of last.
    uint32_t sackedBefore = m_board.SackedOut();
    for (uint32_t i = ack.isDuplicate; i < ack.sackBlocks; ++i)
    {
        m_board.Sack(
            m_board.Expand(ack.blocks->begin[i]),
            m_board.Expand(ack.blocks->end[i]),
            [&](uint64_t number, const Segment& segment) {
                onDelivered(number, segment, summary.oldestSacked, summary.latestSacked, false);
            });
    }
    summary.sacked = m_board.SackedOut() - sackedBefore;
    m_board.AcknowledgeTo(
        m_board.Expand(ack.number),
        [&](uint64_t number, const Segment& segment) {
            bool isRetransmitted = segment.Has(Segment::EVER_RETRANSMITTED);
            onDelivered(number,
                        segment,
                        summary.oldestSent,
                        summary.latestSent,
                        isRetransmitted && IsBefore(ack, segment.sentTime));
        },
        [&](const Segment& segment) {
            summary.ackedRetransmitted |= segment.Has(Segment::EVER_RETRANSMITTED);
            m_buffer.OnAcked(segment.length);
        });
    summary.cumulative = static_cast<uint32_t>(m_board.Una() - una);
    return summary;
}

bool
Sender::IsBefore(const Acknowledgement& ack, int64_t time) const
{
    // Linux tcp_skb_spurious_retrans()
    return m_hasTimestamps && static_cast<int32_t>(ack.tsEcr - TimestampClock(time)) < 0;
}

int64_t
Sender::UpdateRtt(int64_t now, const AckSummary& summary, uint32_t echo)
{
    // Linux tcp_clean_rtx_queue(), tcp_ack_update_rtt(): SRTT takes the oldest segment of the ACK,
    // the congestion control the latest. Karn's rule; where it leaves nothing, the timestamp echo.
    int64_t smoothed = -1;
    int64_t latest = -1;
    if (summary.oldestSent >= 0 && !summary.ackedRetransmitted)
    {
        smoothed = now - summary.oldestSent;
        latest = now - summary.latestSent;
    }
    if (summary.oldestSacked >= 0)
    {
        smoothed = smoothed < 0 ? now - summary.oldestSacked : smoothed;
        latest = now - summary.latestSacked;
    }
    if (smoothed < 0 && summary.cumulative > 0 && m_hasTimestamps)
    {
        constexpr int64_t MS = 1'000'000;
        uint32_t elapsed = TimestampClock(now) - echo;
        smoothed = latest = std::max<int64_t>(elapsed, 1) * MS;
    }
    if (smoothed < 0)
    {
        return -1;
    }
    // tcp_stamp_us_delta() counts microseconds. In nanoseconds a queue's last bytes would pass for
    // a new minimum again and again, and put BBR's PROBE_RTT off.
    constexpr int64_t US = 1'000;
    latest -= latest % US;
    m_rtt.Sample(smoothed, m_board.Una(), m_board.Nxt());
    m_state.srtt = m_rtt.Srtt();
    m_state.minRtt = std::min(m_state.minRtt, latest);
    m_state.lastRtt = latest;
    return latest;
}

bool
Sender::IsAnswerToLoneSegment(const AckSummary& summary, const RateSample& rate) const
{
    // With the length, Linux's FLAG_ACK_MAYBE_DELAYED (tcp_clean_rtx_queue()): nothing else was
    // delivered since the segment was sent, so that no second one made the receiver answer.
    return summary.cumulative == 1 && !summary.ackedRetransmitted && m_board.SackedOut() == 0 &&
           rate.priorDelivered + 1 == m_state.delivered;
}

void
Sender::RestartRto(int64_t now, const AckSummary& summary, bool wasOtherTimer)
{
    // Linux tcp_set_xmit_timer(), tcp_rearm_rto(): one timer serves for reordering, probe and
    // time-out. Where the time-out takes over from the others, it counts from the transmission of
    // the queue's head.
    bool isReordering = m_reordering.deadline != NEVER;
    if (isReordering || RestartsRto(summary))
    {
        ArmRto(now, isReordering || (wasOtherTimer && !MayProbe()) ? HeadTime(now) : now);
    }
    if (summary.cumulative > 0)
    {
        m_persistDeadline = NEVER;
    }
}

bool
Sender::RestartsRto(const AckSummary& summary)
{
    // Linux tcp_clean_rtx_queue(): progress of SND.UNA does, or a SACK of data sent after the head
    // of the queue was last transmitted; else SACKs could put off the time-out for ever.
    if (summary.cumulative > 0 || m_board.PacketsOut() == 0)
    {
        return summary.cumulative > 0;
    }
    const Segment& head = m_board.At(m_board.Una());
    return summary.oldestSacked >= 0 && summary.oldestSacked < head.sentTime;
}

void
Sender::RunCongestionControl(const AckSummary& summary, const AckEvent& event)
{
    SyncState();
    bool isReducing = m_state.caState == CaState::RECOVERY || m_state.caState == CaState::CWR;
    if (!m_hasCongControl && isReducing && summary.delivered > 0)
    {
        Prr::Progress progress;
        progress.isLossless = summary.cumulative > 0 && event.newlyLost == 0;
        progress.isRepaired = summary.ackedRetransmitted && !m_hasLostRetransmission;
        m_state.cwnd = m_prr.Cwnd(m_state.ssthresh, m_state.inFlight, summary.delivered, progress);
    }
    // Linux tcp_may_raise_cwnd(): with much reordering, SACKs are progress, too.
    bool isProgress = summary.cumulative > 0 || (summary.sacked > 0 && m_rack.IsReorderingHigh());
    bool mayGrow = !isReducing && isProgress;
    m_cwndTime = mayGrow ? event.now : m_cwndTime;
    m_congestion->OnAck(m_state, event, mayGrow);
}

} // namespace tunnelcc
