/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sender.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Added to the time-outs of reordering and of the tail loss probe (Linux TCP_TIMEOUT_MIN_US, since
/// 6.6 and the stable kernels of October 2023).
constexpr int64_t TIMEOUT_MARGIN = 2'000'000;

} // namespace

Sender::Sender(EventLoop& loop,
               const TcpSpec& spec,
               std::unique_ptr<CongestionControl> congestion,
               SegmentOutput& output)
    : m_spec(spec),
      m_pacer(std::min(spec.pacingQuantum, congestion->GetLongestBurst()),
              congestion->GetLongestBurst() == NEVER ? spec.tsoRttStep : 0,
              spec.mss),
      m_window(spec, std::move(congestion), m_board, m_pacer),
      m_buffer(InitialSendBuffer(), spec.sendBuffer, spec.bufferOverhead),
      m_rtt(spec.minRto),
      m_rate(m_window.State()),
      m_recovery(spec, m_board, m_window),
      m_transmitter(spec, {m_board, m_buffer, m_rate, m_window, m_recovery, m_pacer, output}),
      m_retransmission(spec.jiffy),
      m_timer(loop, this),
      m_pacingTimer(loop, this),
      m_output(output)
{
    if (spec.mtuProbing > 0)
    {
        m_mtuSearch.emplace(spec);
        m_searchesMtu = true;
        m_recovery.SetMtuSearch(*m_mtuSearch);
    }
}

SenderCounters
Sender::Counters() const
{
    return {m_transmitter.Segments(),
            m_transmitter.Retransmits(),
            m_rtos,
            m_probes,
            m_recovery.CongestionEvents(),
            m_recovery.Undos()};
}

// The application ------------------------------------------------------------------------------

void
Sender::OnEstablished(int64_t now, std::optional<int64_t> rtt, uint32_t window)
{
    m_isEstablished = true;
    if (m_searchesMtu && m_mtuSearch->IsOn())
    {
        SetMss(m_mtuSearch->Mss());
    }
    if (m_path)
    {
        ReduceMss(m_path->KnownMtu()); // Linux tcp_connect_init()
    }
    m_transmitter.PeerWindow().OnWindow(0, window);
    SenderState& state = m_window.State();
    if (rtt)
    {
        m_rtt.Sample(*rtt, m_board.Una(), m_board.Nxt());
        state.srtt = m_rtt.Srtt();
        state.minRtt = *rtt;
        state.lastRtt = *rtt;
    }
    else
    {
        m_rtt.FallBack();
    }
    state.deliveredTime = now;
    m_transmitter.RestartIdle(now);
    m_window.Init(now);
    TrySend(now);
    UpdateTimer(now);
}

bool
Sender::Poll(int64_t now)
{
    m_idle = SendLimit::APPLICATION;
    const bool isWriteable = m_buffer.Poll();
    if (!isWriteable)
    {
        NoteLimit(now);
    }
    return isWriteable;
}

uint64_t
Sender::Write(int64_t now, uint64_t bytes, bool isResumed)
{
    m_idle = SendLimit::APPLICATION;
    if (m_spec.writes == WriteMode::POLLED && !Poll(now))
    {
        return 0;
    }
    if (m_spec.writes == WriteMode::BLOCKING)
    {
        m_buffer.NotePoll();
    }
    // Linux tcp_rate_check_app_limited()
    if (!isResumed && m_buffer.Unsent() < State().mss && !m_window.IsFull() &&
        !m_board.HasLostToSend())
    {
        m_rate.MarkAppLimited(m_board.InFlight());
    }
    if (m_memory && m_memory->Suppresses(m_buffer.Memory()))
    {
        m_buffer.Shrink(std::max(m_buffer.Memory() / 2, TcpMemory::GUARANTEED));
    }
    if (m_isEstablished && m_board.PacketsOut() == 0 &&
        m_window.RestartAfterIdle(now, now - m_transmitter.LastSendTime(), m_rtt.Rto()))
    {
        m_transmitter.RestartIdle(now);
    }
    uint64_t accepted = 0;
    uint64_t taken = 0;
    do
    {
        taken = m_buffer.Write(bytes - accepted, m_transmitter.PeerWindow().BufferSize());
        accepted += taken;
        Push(now, accepted == bytes || taken == 0);
    } while (accepted < bytes && taken > 0);
    if (m_isEstablished)
    {
        UpdateTimer(now);
    }
    return accepted;
}

void
Sender::Push(int64_t now, bool isEnd)
{
    if (!m_isEstablished)
    {
        return;
    }
    // Linux tcp_sendmsg(): a write that goes on sends one burst of a buffer that it has filled, and
    // all only once half of the peer's window was written since (forced_push()).
    const bool isAll =
        isEnd || m_buffer.Written() > m_pushed + m_transmitter.PeerWindow().Largest() / 2;
    if (isAll)
    {
        m_pushed = m_buffer.Written();
    }
    if (isAll || m_buffer.IsLastNext())
    {
        TrySend(now, !isAll);
    }
}

void
Sender::Close(int64_t now)
{
    m_transmitter.Close();
    if (m_isEstablished)
    {
        TrySend(now);
        UpdateTimer(now);
    }
}

uint64_t
Sender::InitialSendBuffer() const
{
    return m_spec.sendBufferPerSegment > 0 ? SendBufferFor(m_spec.initialWindow)
                                           : m_spec.sendBuffer;
}

uint64_t
Sender::SendBufferFor(uint32_t cwnd) const
{
    double segments = static_cast<double>(cwnd) * m_window.Algorithm().GetSendBufferFactor();
    return static_cast<uint64_t>(segments * m_spec.sendBufferPerSegment);
}

bool
Sender::MayExpandBuffer() const
{
    // Linux tcp_should_expand_sndbuf()
    return !m_window.IsFull() && (!m_memory || m_memory->LetsSendBuffersGrow());
}

bool
Sender::WakeWriter()
{
    // Linux tcp_new_space()
    if (m_buffer.WantsToExpand() && MayExpandBuffer())
    {
        m_buffer.Expand(SendBufferFor(std::max(State().cwnd, m_spec.initialWindow)));
    }
    return m_buffer.WakeWriter();
}

// Sending --------------------------------------------------------------------------------------

bool
Sender::Send(int64_t now, bool isOne)
{
    const bool isPaced = Pacer::IsOn(State(), m_transmitter.Segments());
    const bool isWriterBlocked = m_buffer.IsWriterBlocked();
    const bool isEarly = isPaced && now < m_pacer.NextSend();
    if (isEarly)
    {
        m_pacingTimer.Set(m_pacer.NextSend());
    }
    if (isEarly || m_window.IsFull() || !m_transmitter.HasMore())
    {
        if (m_window.IsFull())
        {
            m_window.Validate(now, true, m_rtt, isWriterBlocked);
        }
        return false;
    }
    if (m_searchesMtu) [[unlikely]]
    {
        if (const std::optional<bool> isSent = ProbeMtu(now))
        {
            return *isSent;
        }
    }
    Transmitter::Burst burst =
        m_transmitter.SendBurst(now, m_transmitter.SegmentsPerBurst(), isPaced || isOne);
    bool isLimited = burst.isLimited || m_window.IsFull();
    if (burst.segments > 0 || isLimited)
    {
        m_window.Validate(now, isLimited, m_rtt, isWriterBlocked);
    }
    if (burst.segments == 0)
    {
        return false;
    }
    RestartTimeoutOfHead(now);
    if (isPaced)
    {
        m_pacer.OnBurst(now, burst.bytes, State().pacingRate);
        if (burst.isWhole)
        {
            m_pacingTimer.Set(m_pacer.NextSend());
        }
    }
    return true;
}

void
Sender::TrySend(int64_t now, bool isOne)
{
    if (Send(now, isOne))
    {
        ScheduleProbe(now);
    }
}

void
Sender::OnPacingTimer(int64_t now)
{
    TrySend(now);
    UpdateTimer(now);
}

// Path MTU -------------------------------------------------------------------------------------

void
Sender::SetPath(MtuSource* source, uint32_t headers)
{
    m_path = source;
    m_headers = headers;
}

void
Sender::SetMss(uint32_t mss)
{
    m_window.State().mss = mss;
    m_pacer.SetMss(mss);
    m_transmitter.SetMss(mss);
    if (m_path)
    {
        m_path->SetMss(mss);
    }
}

bool
Sender::ReduceMss(uint32_t mtu)
{
    const uint32_t mss = mtu - std::min(mtu - 1, m_headers);
    if (m_searchesMtu)
    {
        m_mtuSearch->Bound(mss);
    }
    if (mss >= State().mss)
    {
        return false;
    }
    SetMss(mss);
    return true;
}

void
Sender::OnPathMtu(int64_t now, uint32_t mtu)
{
    // What comes before the connection is established, OnEstablished() asks for.
    if (!m_isEstablished || !ReduceMss(mtu))
    {
        return;
    }
    m_recovery.OnTooLarge(now, State().mss);
    TrySend(now);
    UpdateTimer(now);
}

std::optional<bool>
Sender::ProbeMtu(int64_t now)
{
    // Linux tcp_mtu_probe()
    constexpr uint32_t LEAST_WINDOW = 11; // segments
    constexpr uint32_t REORDERING = 3;    // segments, sysctl tcp_reordering
    const uint32_t cwnd = State().cwnd;
    if (!m_mtuSearch->IsOn() || m_mtuSearch->IsOver() || State().caState != CaState::OPEN ||
        cwnd < LEAST_WINDOW || m_board.SackedOut() > 0)
    {
        return std::nullopt;
    }
    const uint32_t size = m_mtuSearch->Next();
    const uint64_t needed = size + uint64_t{REORDERING + 1} * State().mss;
    const SendWindow& peer = m_transmitter.PeerWindow();
    if (m_buffer.UnsentTogether() < needed || peer.Edge() - m_buffer.Acked() < needed)
    {
        return std::nullopt;
    }
    const bool hasRoom = peer.Room(m_buffer.SentOffset()) >= needed;
    if (!hasRoom || m_board.InFlight() + 2 > cwnd)
    {
        return hasRoom && m_board.InFlight() == 0 ? std::nullopt : std::optional(false);
    }
    if (m_path)
    {
        m_path->LetPass();
    }
    m_mtuSearch->OnSent(m_board.Nxt());
    m_transmitter.SendProbe(now, static_cast<uint16_t>(size));
    m_window.Set(now, cwnd - 1);
    RestartTimeoutOfHead(now);
    return true;
}

// Acknowledgement ------------------------------------------------------------------------------

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
    const uint64_t lostBefore = m_window.Lost();
    const uint64_t bytesBefore = m_buffer.Acked();
    const bool isOfProbe =
        ack.isDuplicate && m_recovery.OnDuplicate(m_board.Expand(ack.blocks->begin[0]));

    const AckSummary summary = ProcessAcknowledgement(now, ack, number);
    m_transmitter.PeerWindow().OnWindow(m_buffer.Acked(), ack.window);
    if (m_persistDeadline != NEVER && m_transmitter.CanSendNew())
    {
        m_persistDeadline = NEVER; // Linux tcp_ack_probe()
        m_rtt.EndBackOff();
    }
    event.rtt = UpdateRtt(now, summary, ack.tsEcr);
    event.ackedSacked = summary.delivered;
    event.cumAcked = summary.cumulative;
    event.rate = m_rate.OnAckEnd(now, summary.delivered > 0);
    event.isAckDelayed = IsOfLoneSegment(summary, event.rate) && ack.sackBlocks == 0 &&
                         m_buffer.Acked() - bytesBefore < State().mss;
    const std::optional<uint64_t> sampled = m_rate.SampledSegment();
    if (sampled)
    {
        m_recovery.OnRateSample(event.rate.priorDelivered);
    }
    event.hasEcnEcho = ack.isEce;
    event.timestamp = ack.tsVal;
    event.echo = ack.tsEcr;
    m_window.Sync();
    m_window.OnDelivered(event);
    m_recovery.EndProbe(now, isOfProbe);
    const bool wasOtherTimer = m_retransmission.HasReordering() || m_retransmission.HasProbe();
    const bool mayTestWithNew = State().caState == CaState::LOSS && m_transmitter.CanSendNew();
    const bool hasChanged = m_recovery.Update(now, summary, ack, mayTestWithNew);
    m_retransmission.SetReordering(now, m_recovery.ReorderingDeadline());
    if (sampled)
    {
        m_window.Complete(event.rate, *sampled);
    }
    event.newlyLost = static_cast<uint32_t>(m_window.Lost() - lostBefore);
    hasChanged ? m_window.Sync() : m_window.SyncLimit();
    const bool mayGrow = m_recovery.ReduceWindow(summary, event.newlyLost);
    m_window.OnAck(event, mayGrow);

    // Linux tcp_set_xmit_timer(), tcp_rearm_rto(): where the time-out takes over from the others,
    // it counts from the transmission of the queue's head.
    const bool hasReordering = m_retransmission.HasReordering();
    if (hasReordering || summary.RestartsTimeout(m_board))
    {
        const bool takesOver = hasReordering || (wasOtherTimer && !m_recovery.MayProbe());
        SetTimeout(now, takesOver ? HeadTime(now) : now);
    }
    if (summary.cumulative > 0)
    {
        m_persistDeadline = NEVER;
    }
    Send(now);
    if (m_recovery.EndDeferral())
    {
        Send(now);
    }
    ScheduleProbe(now);
    UpdateTimer(now);
    return WakeWriter();
}

AckSummary
Sender::ProcessAcknowledgement(int64_t now, const Acknowledgement& ack, uint64_t number)
{
    AckSummary summary;
    // Linux tcp_dsack_seen(): a needless retransmission is a delivery.
    m_window.State().delivered += ack.isDuplicate;
    summary.delivered = ack.isDuplicate && m_board.PacketsOut() > 0;
    const uint64_t una = m_board.Una();
    const uint64_t fack = m_board.Fack();
    m_rate.OnAckBegin();
    auto onDelivered = [&](const SegmentRun& run, int64_t& oldest, int64_t& latest, bool isOld) {
        summary.delivered += run.Count();
        m_rate.OnDelivered(run);
        m_recovery.OnDelivered(now, run, fack, isOld);
        if (!run.segment.Has(Segment::EVER_RETRANSMITTED))
        {
            oldest = oldest < 0 ? run.segment.sentTime : oldest;
            latest = run.segment.sentTime;
            summary.deliveredOriginal |= m_recovery.IsBeforeReduction(run.first);
        }
    };
    // SACKs first, as Linux tcp_ack(): RACK goes by the RTT of what it is told of last.
    uint32_t sackedBefore = m_board.SackedOut();
    for (uint32_t i = ack.isDuplicate; i < ack.sackBlocks; ++i)
    {
        m_board.Sack(m_board.Expand(ack.blocks->begin[i]),
                     m_board.Expand(ack.blocks->end[i]),
                     [&](const SegmentRun& run) {
                         onDelivered(run, summary.oldestSacked, summary.latestSacked, false);
                     });
    }
    summary.sacked = m_board.SackedOut() - sackedBefore;
    const Scoreboard::Removed removed = m_board.AcknowledgeTo(number, [&](const SegmentRun& run) {
        bool isRetransmitted = run.segment.Has(Segment::EVER_RETRANSMITTED);
        onDelivered(run,
                    summary.oldestSent,
                    summary.latestSent,
                    isRetransmitted && IsBefore(ack, run.segment.sentTime));
    });
    summary.ackedRetransmitted = removed.wasRetransmitted;
    m_buffer.OnAcked(removed.bytes, removed.bufferEnds);
    summary.cumulative = static_cast<uint32_t>(m_board.Una() - una);
    if (m_searchesMtu && m_mtuSearch->Probe() && *m_mtuSearch->Probe() < m_board.Una()) [[unlikely]]
    {
        // Linux tcp_mtup_probe_success(): the window stays as large in bytes.
        SenderState& state = m_window.State();
        const uint32_t size = m_mtuSearch->Size();
        const uint64_t bytes = uint64_t{state.cwnd} * (state.mss + m_headers);
        state.ssthresh = std::max(state.ssthresh, state.cwnd / 2 + state.cwnd / 4);
        m_window.Set(now, std::max(static_cast<uint32_t>(bytes / (size + m_headers)), 1U));
        m_mtuSearch->OnArrived();
        SetMss(size);
    }
    return summary;
}

bool
Sender::IsBefore(const Acknowledgement& ack, int64_t time) const
{
    // Linux tcp_skb_spurious_retrans()
    return m_spec.HasTimestamps() && static_cast<int32_t>(ack.tsEcr - TimestampClock(time)) < 0;
}

int64_t
Sender::UpdateRtt(int64_t now, const AckSummary& summary, uint32_t echo)
{
    const auto sample =
        summary.GetRtt(now, m_spec.HasTimestamps() ? std::optional(echo) : std::nullopt);
    if (!sample)
    {
        return -1;
    }
    m_rtt.Sample(sample->smoothed, m_board.Una(), m_board.Nxt());
    SenderState& state = m_window.State();
    state.srtt = m_rtt.Srtt();
    state.minRtt = std::min(state.minRtt, sample->latest);
    state.lastRtt = sample->latest;
    return sample->latest;
}

bool
Sender::IsOfLoneSegment(const AckSummary& summary, const RateSample& rate) const
{
    return summary.cumulative == 1 && !summary.ackedRetransmitted && m_board.SackedOut() == 0 &&
           rate.priorDelivered + 1 == State().delivered;
}

// Time-outs ------------------------------------------------------------------------------------

int64_t
Sender::HeadTime(int64_t now) const
{
    return m_board.PacketsOut() > 0 ? m_board.At(m_board.Una()).sentTime : now;
}

void
Sender::SetTimeout(int64_t now, int64_t since)
{
    m_retransmission.SetTimeout(now, since, m_rtt.Rto());
}

void
Sender::RestartTimeoutOfHead(int64_t now)
{
    // Linux tcp_event_new_data_sent(), tcp_xmit_retransmit_queue()
    if (m_transmitter.TakeHeadSent() && !m_retransmission.HasReordering())
    {
        SetTimeout(now, now);
    }
}

void
Sender::ScheduleProbe(int64_t now)
{
    // Linux tcp_schedule_loss_probe(), RFC 8985 section 7.2
    const uint32_t out = m_board.PacketsOut();
    if (out == 0 || m_recovery.IsProbing() || !m_recovery.MayProbe())
    {
        m_retransmission.CancelProbe();
        return;
    }
    const int64_t margin = out == 1 ? m_spec.minRto : TIMEOUT_MARGIN;
    const int64_t srtt = State().srtt;
    m_retransmission.SetProbe(now, now + (srtt ? 2 * srtt + margin : RttEstimator::INITIAL_RTO));
}

SendLimit
Sender::FindLimit(int64_t now) const
{
    if (!m_isEstablished)
    {
        return m_limits.Get();
    }
    if (IsFinished())
    {
        return SendLimit::NONE;
    }
    const bool hasLost = m_board.HasLostToSend();
    const SendLimit idle = m_buffer.IsWriterBlocked() ? SendLimit::SEND_BUFFER : m_idle;
    if (m_buffer.Unsent() == 0 && !hasLost)
    {
        return idle;
    }
    if (m_window.IsFull())
    {
        return SendLimit::CONGESTION_WINDOW;
    }
    if (m_transmitter.IsPeerWindowClosed() && !hasLost)
    {
        return SendLimit::RECEIVE_WINDOW;
    }
    const bool isPaced = Pacer::IsOn(State(), m_transmitter.Segments());
    if (isPaced && now < m_pacer.NextSend())
    {
        return SendLimit::PACING;
    }
    if (!hasLost && m_transmitter.WaitsForPeerRoom())
    {
        return SendLimit::RECEIVE_WINDOW;
    }
    // What waits for nothing of these waits for an ACK: less than a segment, by Nagle's rule, for
    // the application to write more; the rest to leave in a longer burst.
    const bool isSmall = !hasLost && m_buffer.Unsent() < State().mss;
    return isSmall ? idle : SendLimit::CONGESTION_WINDOW;
}

// Inline, because it is so for each write and each ACK.
[[gnu::always_inline]] inline void
Sender::UpdateTimer(int64_t now)
{
    NoteLimit(now);
    if (m_board.PacketsOut() == 0)
    {
        UpdateIdleTimer(now);
        return;
    }
    const int64_t deadline = m_retransmission.Deadline();
    if (deadline != m_timer.Deadline())
    {
        m_timer.Set(deadline);
    }
}

void
Sender::UpdateIdleTimer(int64_t now)
{
    bool isWindowClosed = m_buffer.Unsent() > 0 && m_isEstablished && !m_transmitter.CanSendNew();
    if (!isWindowClosed)
    {
        m_persistDeadline = NEVER;
        if (!m_memory)
        {
            m_timer.Cancel(); // else it runs: Linux does not delete it, and it returns memory
        }
        return;
    }
    if (m_persistDeadline == NEVER)
    {
        m_persistDeadline = now + m_rtt.Rto();
    }
    m_timer.Set(m_persistDeadline);
}

void
Sender::OnTimer(int64_t now)
{
    if (m_board.PacketsOut() == 0)
    {
        if (m_persistDeadline != NEVER)
        {
            OnPersistTimeout(now);
            UpdateTimer(now);
        }
        m_output.ReturnReserve(); // Linux before 6.0, tcp_write_timer_handler()
        return;
    }
    using Cause = RetransmissionTimer::Cause;
    const Cause cause = m_retransmission.Due(now);
    const int64_t reorderingEnd =
        cause == Cause::REORDERING ? m_recovery.ReorderingEnd() + TIMEOUT_MARGIN : NEVER;
    const int64_t expiry = m_retransmission.Expiry(cause, reorderingEnd);
    if (expiry > now)
    {
        m_timer.Set(expiry);
        return;
    }
    switch (cause)
    {
    case Cause::REORDERING:
        OnReorderingTimeout(now);
        break;
    case Cause::PROBE:
        OnProbeTimeout(now);
        break;
    case Cause::TIMEOUT:
        OnRetransmissionTimeout(now);
    }
    UpdateTimer(now);
    m_output.ReturnReserve();
}

void
Sender::OnReorderingTimeout(int64_t now)
{
    const bool hasLoss = m_recovery.OnReorderingTimeout(now);
    m_retransmission.CancelReordering();
    SetTimeout(now, HeadTime(now));
    if (hasLoss)
    {
        TrySend(now);
    }
}

void
Sender::OnProbeTimeout(int64_t now)
{
    m_retransmission.CancelProbe();
    ++m_probes;
    const bool isNew = m_transmitter.SendNew(now);
    if (!isNew)
    {
        const uint64_t last = m_board.Nxt() - 1;
        if (m_board.At(last).Has(Segment::SACKED | Segment::LOST))
        {
            return;
        }
        m_transmitter.Retransmit(now, last, true);
    }
    m_recovery.OnProbe(!isNew);
    m_transmitter.TakeHeadSent(); // whichever segment it is, the time-out counts from the probe
    SetTimeout(now, now);
}

void
Sender::OnRetransmissionTimeout(int64_t now)
{
    // Linux tcp_retransmit_timer()
    ++m_rtos;
    m_rtt.BackOff();
    m_retransmission.CancelReordering();
    m_retransmission.CancelProbe();
    if (m_searchesMtu && m_mtuSearch->OnTimeout(now, !m_recovery.HasTimedOut()))
    {
        SetMss(m_mtuSearch->Mss());
    }
    m_recovery.OnTimeout(now);
    m_transmitter.Retransmit(now, m_board.Una());
    RestartTimeoutOfHead(now);
}

void
Sender::OnPersistTimeout(int64_t now)
{
    // Linux tcp_write_wakeup(): what room there is is used, however little.
    if (m_transmitter.SendNew(now, true))
    {
        RestartTimeoutOfHead(now);
        m_persistDeadline = NEVER;
        return;
    }
    m_rtt.BackOff();
    m_persistDeadline = now + m_rtt.Rto();
    m_output.SendWindowProbe(now);
}

} // namespace tunnelcc
