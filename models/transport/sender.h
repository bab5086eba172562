/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SENDER_H
#define TUNNELCC_SENDER_H

#include "ack-summary.h"
#include "acknowledgement.h"
#include "congestion-window.h"
#include "congestion/congestion-control.h"
#include "event/timer.h"
#include "host/tcp-memory.h"
#include "loss-recovery.h"
#include "mtu-search.h"
#include "pacer.h"
#include "path/path-mtu.h"
#include "rate-sampler.h"
#include "retransmission-timer.h"
#include "rtt-estimator.h"
#include "scoreboard.h"
#include "send-buffer.h"
#include "send-limits.h"
#include "spec/tcp-spec.h"
#include "transmitter.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace tunnelcc
{

/// Counts since the connection began.
struct SenderCounters
{
    uint64_t segments{0};    //!< data segments sent, retransmissions included
    uint64_t retransmits{0}; //!< retransmitted segments, as Linux counts them
    uint64_t rtos{0};        //!< retransmission time-outs
    uint64_t tailLossProbes{0};
    uint64_t congestionEvents{0}; //!< reductions of the window begun
    uint64_t undos{0};            //!< those of them that were taken back
};

/**
 * Sending half of a TCP connection, after Linux 5.10 to 6.x with SACK and timestamps.
 *
 * Receives the application's writes and the peer's ACKs, and passes them to its parts: congestion
 * window, loss recovery, transmitter of bursts, timers, pacer.
 */
class Sender
{
  public:
    /**
     * \param spec settings; they outlive the sender
     * \param congestion algorithm
     * \param output where segments go
     */
    Sender(EventLoop& loop,
           const TcpSpec& spec,
           std::unique_ptr<CongestionControl> congestion,
           SegmentOutput& output);

    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// The handshake begins.
    void OnConnecting(int64_t now)
    {
        m_limits.Set(now, SendLimit::HANDSHAKE);
    }

    /// Nagle's rule holds, whatever the settings say.
    void UseNagle()
    {
        m_transmitter.PeerWindow().UseNagle();
    }

    /// The handshake lost SYNs (RFC 5681, section 3.1). Comes before OnEstablished().
    void BeginWithOneSegment()
    {
        m_window.State().cwnd = 1;
    }

    /// The handshake is done. \param rtt its round-trip time, ns; none: unknown
    /// \param window the peer's window, bytes
    void OnEstablished(int64_t now, std::optional<int64_t> rtt, uint32_t window);

    /// The path may be too narrow for full segments. \param source what the host knows of it; null:
    /// nothing \param headers IP bytes around a segment's payload
    void SetPath(MtuSource* source, uint32_t headers);

    /// A router tells the MTU of a link, IP bytes (Linux tcp_v4_mtu_reduced()).
    void OnPathMtu(int64_t now, uint32_t mtu);

    /// Payload of a full segment, bytes.
    uint32_t Mss() const
    {
        return State().mss;
    }

    /// Whether it may become another.
    bool MayChangeMss() const
    {
        return m_path || m_searchesMtu;
    }

    /// Let the host's memory bound the send buffer. \param memory outlives the sender
    void SetMemory(const TcpMemory* memory)
    {
        m_memory = memory;
    }

    /// The application writes `bytes`. \param isResumed the call has waited for room before
    /// \returns how many bytes the send buffer took
    uint64_t Write(int64_t now, uint64_t bytes, bool isResumed = false);

    /// As ByteStream::Poll().
    bool Poll(int64_t now);

    /// As SendBuffer::SetUnbounded().
    void SetUnbounded()
    {
        m_buffer.SetUnbounded();
    }

    /// As SendBuffer::EndPart().
    void EndPart()
    {
        m_buffer.EndPart();
    }

    /// Whether a write now would take a new buffer of the kernel's.
    bool WantsNewBuffer() const
    {
        const bool mayWrite = m_spec.writes != WriteMode::POLLED || m_buffer.IsWriteable();
        return mayWrite && m_buffer.WantsNewBuffer(m_transmitter.PeerWindow().BufferSize());
    }

    /// As ByteStream::NoteIdle().
    void NoteIdle(int64_t now, SendLimit why)
    {
        m_idle = why;
        NoteLimit(now);
    }

    /// A program waits for room, although it has not tried to write: that of the connection whose
    /// subflow this is (Linux SOCK_NOSPACE of the socket that they share).
    void WaitForRoom()
    {
        m_buffer.Block();
    }

    /// Data arrived. \returns whether a writer that blocked goes on \pre WriteMode::BLOCKING
    bool OnData()
    {
        return m_buffer.WakeSleepingWriter();
    }

    /// Send FIN after everything written.
    void Close(int64_t now);

    /// An ACK arrived. \returns whether a writer that blocked is to be woken
    bool OnAck(int64_t now, const Acknowledgement& ack);

    /// As LossRecovery::TakeCwr().
    bool TakeCwr()
    {
        return m_recovery.TakeCwr();
    }

    /// As CongestionControl::IsL4s().
    bool IsL4s() const
    {
        return m_window.Algorithm().IsL4s();
    }

    /// CongestionControl::NeedsEcn(), once the connection is established.
    bool NeedsEcn() const
    {
        return m_window.Algorithm().NeedsEcn();
    }

    const SenderState& State() const
    {
        return m_window.State();
    }

    /// As CongestionControl::Couple().
    void Couple(CoupledGroup& group)
    {
        m_window.Couple(group);
    }

    /// When the retransmission timer runs out, with any of its tasks, ns; NEVER: it does not run.
    int64_t TimerDeadline() const
    {
        return m_board.PacketsOut() > 0 ? m_timer.Deadline() : NEVER;
    }

    const CongestionControl& Congestion() const
    {
        return m_window.Algorithm();
    }

    SenderCounters Counters() const;

    const Scoreboard& Board() const
    {
        return m_board;
    }

    /// Payload bytes in flight, from the mean length of the segments outstanding.
    uint64_t BytesInFlight() const
    {
        uint32_t out = m_board.PacketsOut();
        return out ? m_board.BytesOut() * m_board.InFlight() / out : 0;
    }

    const SendBuffer& Buffer() const
    {
        return m_buffer;
    }

    const RttEstimator& Rtt() const
    {
        return m_rtt;
    }

    const SendLimits& Limits() const
    {
        return m_limits;
    }

    /// As TcpEndpoint::Withdraw().
    void Withdraw()
    {
        m_timer.Withdraw();
        m_pacingTimer.Withdraw();
    }

    /// FIN was acknowledged.
    bool IsFinished() const
    {
        return m_transmitter.IsFinSent() && m_board.PacketsOut() == 0;
    }

  private:
    void SetMss(uint32_t mss);
    /// Send smaller segments, if this MTU needs that. \returns whether it does
    bool ReduceMss(uint32_t mtu);
    /// Send a probe of a larger segment if one is due. \returns whether it was sent, or waits for
    /// room in the window, so that nothing else is sent; empty: none is due
    std::optional<bool> ProbeMtu(int64_t now);
    /// Send what was written. \param isEnd it ends a write, or the part that the buffer took
    void Push(int64_t now, bool isEnd);
    /// Send what windows and pacing allow. \param isOne one burst \returns whether there was any
    bool Send(int64_t now, bool isOne = false);
    /// The same, and probe for the tail of what was sent.
    void TrySend(int64_t now, bool isOne = false);
    uint64_t InitialSendBuffer() const;
    bool MayExpandBuffer() const;
    uint64_t SendBufferFor(uint32_t cwnd) const;
    /// As SendBuffer::WakeWriter(), after the buffer has grown if it may.
    bool WakeWriter();

    /// \param number 64-bit number of the segment that the ACK expects next
    AckSummary ProcessAcknowledgement(int64_t now, const Acknowledgement& ack, uint64_t number);
    /// Whether the ACK echoes a timestamp from before `time`, ns.
    bool IsBefore(const Acknowledgement& ack, int64_t time) const;
    /// Update the RTT with an ACK's sample. \returns that of the congestion control, ns; −1: none
    int64_t UpdateRtt(int64_t now, const AckSummary& summary, uint32_t echo);
    /// Whether the ACK is for a single segment, so that the receiver may have delayed it (Linux
    /// FLAG_ACK_MAYBE_DELAYED): nothing else was delivered since that segment was sent.
    bool IsOfLoneSegment(const AckSummary& summary, const RateSample& rate) const;

    /// When the first segment outstanding was last sent, ns; `now` if there is none.
    int64_t HeadTime(int64_t now) const;
    /// Set the retransmission time-out, which counts from `since`, ns.
    void SetTimeout(int64_t now, int64_t since);
    /// Start the time-out again if the first segment outstanding was just sent.
    void RestartTimeoutOfHead(int64_t now);
    void ScheduleProbe(int64_t now);
    void UpdateTimer(int64_t now);
    /// The same while nothing is in flight.
    void UpdateIdleTimer(int64_t now);
    /// Why the sender is waiting now, with new data or lost data.
    SendLimit FindLimit(int64_t now) const;

    void NoteLimit(int64_t now)
    {
        m_limits.Set(now, FindLimit(now), State().srtt);
    }

    void OnTimer(int64_t now);
    void OnPacingTimer(int64_t now);
    void OnReorderingTimeout(int64_t now);
    void OnProbeTimeout(int64_t now);
    void OnRetransmissionTimeout(int64_t now);
    void OnPersistTimeout(int64_t now);

    // What each ACK needs stands together, on few cache lines; see TcpEndpoint. The board is the
    // last of it, as its end is for losses.
    const TcpSpec& m_spec;
    const TcpMemory* m_memory{nullptr}; //!< of the host; null: without limit
    Pacer m_pacer;
    CongestionWindow m_window;
    SendBuffer m_buffer;
    RttEstimator m_rtt;
    RateSampler m_rate;
    LossRecovery m_recovery;
    Transmitter m_transmitter;
    RetransmissionTimer m_retransmission;
    bool m_isEstablished{false};
    bool m_searchesMtu{false};                //!< there is an m_mtuSearch
    SendLimit m_idle{SendLimit::APPLICATION}; //!< the limit while nothing is written
    int64_t m_persistDeadline{NEVER};         //!< when the next window probe is due, ns
    uint64_t m_pushed{0}; //!< stream offset up to which all was pushed (Linux pushed_seq)
    Timer<Sender, &Sender::OnTimer> m_timer;
    Timer<Sender, &Sender::OnPacingTimer> m_pacingTimer;
    SendLimits m_limits;
    Scoreboard m_board;
    SegmentOutput& m_output;
    uint64_t m_rtos{0};
    uint64_t m_probes{0};
    std::optional<MtuSearch> m_mtuSearch;
    MtuSource* m_path{nullptr}; //!< what the host knows of the path's MTU; null: nothing
    uint32_t m_headers{0};      //!< IP bytes around a segment's payload
};

} // namespace tunnelcc

#endif // TUNNELCC_SENDER_H
