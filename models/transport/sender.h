/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SENDER_H
#define TUNNELCC_SENDER_H

#include "acknowledgement.h"
#include "congestion/congestion-control.h"
#include "event/timer.h"
#include "host/tcp-memory.h"
#include "pacer.h"
#include "prr.h"
#include "rack.h"
#include "rate-sampler.h"
#include "rtt-estimator.h"
#include "scoreboard.h"
#include "send-buffer.h"
#include "spec/tcp-spec.h"
#include "timer-wheel.h"
#include "undo.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace tunnelcc
{

/// What a sender needs of its endpoint.
class SegmentOutput
{
  public:
    virtual ~SegmentOutput() = default;

    /// Transmit segment `number`.
    virtual void SendSegment(int64_t now, uint64_t number, const Segment& segment) = 0;

    /// Transmit a packet that asks for an ACK and carries nothing (RFC 9293, section 3.8.6.1).
    virtual void SendWindowProbe(int64_t now) = 0;
};

/// Counts since the connection began.
struct SenderCounters
{
    uint64_t segments{0};    //!< data segments sent, retransmissions included
    uint64_t retransmits{0}; //!< retransmitted segments, as Linux counts them
    uint64_t rtos{0};        //!< retransmission time-outs
    uint64_t tailLossProbes{0};
    uint64_t undos{0}; //!< reductions of the window taken back
};

/**
 * Sending half of a TCP connection, after Linux 5.10 to 6.x with SACK and timestamps.
 *
 * Loss detection by RACK-TLP (RFC 8985), recovery by PRR (RFC 9937) or by the congestion control
 * itself, retransmission time-outs (RFC 6298) with F-RTO (RFC 5682), undo of needless reductions,
 * pacing, Nagle with Minshall's rule, slow start after idle (RFC 2861), ECN (RFC 3168).
 */
class Sender
{
  public:
    /**
     * \param spec settings
     * \param congestion algorithm
     * \param output where segments go
     */
    Sender(const TcpSpec& spec,
           std::unique_ptr<CongestionControl> congestion,
           SegmentOutput& output);

    /// The handshake is done. \param rtt its round trip, ns  \param window of the peer, bytes
    void OnEstablished(int64_t now, int64_t rtt, uint32_t window);

    /// Let the host's memory bound the send buffer. \param memory outlives the sender
    void SetMemory(const TcpMemory* memory)
    {
        m_memory = memory;
    }

    /// The application writes `bytes`. \returns how many the send buffer took
    uint64_t Write(int64_t now, uint64_t bytes);

    /// Send FIN after everything written.
    void Close(int64_t now);

    /// An ACK arrived. \returns whether a writer that blocked is to be woken
    bool OnAck(int64_t now, const Acknowledgement& ack);

    /// Whether the segment being sent tells the peer that its mark was heeded; true once for each.
    bool TakesCwr()
    {
        return std::exchange(m_owesCwr, false);
    }

    /// CongestionControl::NeedsEcn(), once the connection is established.
    bool NeedsEcn() const
    {
        return m_congestion->NeedsEcn();
    }

    const TcpState& State() const
    {
        return m_state;
    }

    const SenderCounters& Counters() const
    {
        return m_counters;
    }

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

    /// Retransmission time-out, ns.
    int64_t Rto() const
    {
        return m_rtt.Rto();
    }

    /// FIN was acknowledged.
    bool IsFinished() const
    {
        return m_isFinSent && m_board.PacketsOut() == 0;
    }

  private:
    /// What an ACK brought, gathered while it is processed.
    struct AckSummary
    {
        uint32_t delivered{0};          //!< segments newly delivered
        uint32_t cumulative{0};         //!< by which SND.UNA advanced
        uint32_t sacked{0};             //!< segments newly sacked
        bool deliveredOriginal{false};  //!< one of before the recovery, never retransmitted
        bool ackedRetransmitted{false}; //!< cumulatively, a segment that was ever retransmitted
        int64_t oldestSent{-1};         //!< of those acked cumulatively, never retransmitted; ns
        int64_t latestSent{-1};
        int64_t oldestSacked{-1}; //!< of those newly sacked, never retransmitted; ns
        int64_t latestSacked{-1};
    };

    /// When something is due, and when that was determined; ns.
    struct Alarm
    {
        int64_t deadline{NEVER};
        int64_t set{0};
    };

    /// What TrySend() got out at once.
    struct Burst
    {
        uint32_t segments{0};
        uint64_t bytes{0};     //!< payload
        bool isRepair{false};  //!< of lost segments
        bool isLimited{false}; //!< cwnd leaves less room than DefersNew() wants
    };

    // Sending
    void TrySend(int64_t now);
    uint32_t SegmentsPerBurst() const;
    /// Send what the windows allow. \param isOne no more than one burst
    Burst SendBurst(int64_t now, uint32_t perBurst, bool isOne);
    /// Send lost segments as paced. \param first the next of them
    Burst RepairBurst(int64_t now, uint32_t perBurst, uint64_t first);
    /// Whether new data waits until a whole burst of it may go.
    bool DefersNew(int64_t now, uint32_t perBurst) const;
    /// Payload bytes that the peer's window allows.
    uint64_t PeerRoom() const;
    /// Payload bytes that cwnd allows.
    uint64_t CongestionRoom() const;

    std::optional<uint64_t> NextLost()
    {
        bool isAny = !m_defersRetransmits && m_board.LostOut() > m_board.RetransmittedOut();
        return isAny ? m_board.NextLost() : std::nullopt;
    }

    /// Length of the next new segment; 0: none may be sent. \param fillsWindow however little room
    /// the window leaves
    uint16_t NewSegmentLength(bool fillsWindow = false) const;
    /// Whether the next new segment completes a super-segment that has `filled` segments.
    bool CompletesBurst(uint32_t filled, uint32_t perBurst) const;
    bool SendNew(int64_t now, bool fillsWindow = false, bool isPushed = false);
    /// Send a segment again. \param isProbe as a tail loss probe
    void Retransmit(int64_t now, uint64_t number, bool isProbe = false);
    void AnnounceTransmission(int64_t now);
    void Transmit(int64_t now, uint64_t number, Segment& segment, bool isIdle);
    bool IsCwndLimited() const;
    void ValidateCwnd(int64_t now, bool isLimited);
    /// The window was not used up for long: take it half way to what was used of it.
    void ShrinkUnusedCwnd(int64_t now);
    uint64_t InitialSendBuffer() const;
    bool MayExpandBuffer() const;
    uint64_t SendBufferFor(uint32_t cwnd) const;
    bool WakesWriter();
    void CheckIdleRestart(int64_t now);

    // Acknowledgement
    AckSummary ProcessAcknowledgement(int64_t now, const Acknowledgement& ack);
    /// Whether the ACK echoes a timestamp of before `time` ns.
    bool IsBefore(const Acknowledgement& ack, int64_t time) const;
    int64_t UpdateRtt(int64_t now, const AckSummary& summary, uint32_t echo);
    bool IsAnswerToLoneSegment(const AckSummary& summary, const RateSample& rate) const;
    void RestartRto(int64_t now, const AckSummary& summary, bool wasOtherTimer);
    bool RestartsRto(const AckSummary& summary);
    /// Whether a D-SACK of the segment answers the tail loss probe.
    bool IsOfProbe(uint64_t duplicate) const;
    void OnDuplicate(uint64_t number, bool isOfProbe);
    void OnEcnEcho(int64_t now);
    void RunCongestionControl(const AckSummary& summary, const AckEvent& event);

    // Recovery
    /// Mark what is lost by now.
    void DetectLoss(int64_t now);
    void UpdateState(int64_t now, const AckSummary& summary, const Acknowledgement& ack);
    /// All that was out when the reduction began is acknowledged.
    void LeaveReduction(int64_t now, bool isNeedless);
    void UpdateRecovery(int64_t now, const AckSummary& summary, bool isOriginalAcked);
    /// Not in recovery: see whether it is to begin.
    void UpdateQuiet(int64_t now);
    /// Undo the latest reduction if D-SACKs reported all its retransmissions.
    void UndoDuplicates(int64_t now);
    /// Be in OPEN, or in DISORDER while anything is unusual.
    void KeepQuiet(int64_t now);
    void UpdateLoss(int64_t now, const AckSummary& summary, bool isNeedless);
    void EndDeferral(int64_t now);
    void EndTailLossProbe(int64_t now, uint64_t ack, bool isDuplicate);
    void EnterReduction(int64_t now, CaState state);
    void EndReduction(int64_t now);
    void UndoReduction(int64_t now);
    void BeginUndo();
    void SetCaState(CaState state, int64_t now);

    // Losses, for congestion controls that ask for them
    uint64_t LostWhenSent(const Flight& flight) const;
    void NoteLoss(int64_t now, uint64_t number);
    void CompleteRateSample(RateSample& sample);

    // Timers
    void OnTimer(int64_t now);
    /// When the timer fires whose deadline has passed, ns.
    int64_t Expiry(int64_t now);
    /// Let the time-out count from `since`.
    void ArmRto(int64_t now, int64_t since);
    /// When the first segment outstanding was sent last, ns; `now` if there is none.
    int64_t HeadTime(int64_t now) const;
    /// Whether tail loss probes may be sent in this state.
    bool MayProbe() const;
    void OnPacingTimer(int64_t now);
    void OnReorderingTimeout(int64_t now);
    void OnProbeTimeout(int64_t now);
    void OnRetransmissionTimeout(int64_t now);
    void OnPersistTimeout(int64_t now);
    void ScheduleProbe(int64_t now);
    void UpdateTimer(int64_t now);

    void SyncState();

    const TcpSpec m_spec;
    std::unique_ptr<CongestionControl> m_congestion;
    SegmentOutput& m_output;
    const bool m_hasCongControl;
    const bool m_wantsLosses; //!< CongestionControl::WantsLosses()
    const bool m_hasTimestamps;

    const TcpMemory* m_memory{nullptr}; //!< of the host; null: without limit
    TcpState m_state;
    Scoreboard m_board;
    SendBuffer m_buffer;
    RttEstimator m_rtt;
    RateSampler m_rate;
    Rack m_rack;
    Prr m_prr;
    Undo m_undo;
    Pacer m_pacer;
    SenderCounters m_counters;

    bool m_isEstablished{false};
    bool m_isClosing{false};
    bool m_isFinSent{false};
    uint64_t m_windowEdge{0};    //!< stream offset up to which the peer lets us send
    uint32_t m_largestWindow{0}; //!< that the peer ever advertised, bytes
    uint64_t m_lastSmall{0};     //!< one past the latest segment shorter than the MSS
    int64_t m_lastSendTime{0};
    bool m_isCwndLimited{false}; //!< since the last full round of data
    uint64_t m_cwndUsageEnd{0};  //!< segment that ends the current round for ValidateCwnd()
    uint32_t m_cwndUsed{0};      //!< most segments outstanding since the window was limiting
    int64_t m_cwndTime{0};       //!< when the window changed, might have, or was limiting; ns
    uint64_t m_recoveryEnd{0};   //!< segment that ends recovery, loss or CWR (Linux high_seq)
    bool m_owesCwr{false};       //!< the next segment answers an ECN echo
    bool m_isFrtoOn{false};      //!< testing whether the time-out was spurious
    bool m_hasLostRetransmission{false}; //!< found by the latest DetectLoss() (FLAG_LOST_RETRANS)
    bool m_defersRetransmits{false};     //!< for this ACK, as F-RTO wants
    uint64_t m_probeEnd{0};              //!< segment that answers the tail loss probe; 0: none
    bool m_probeRetransmitted{false};
    uint64_t m_timedOut{UINT64_MAX}; //!< SND.UNA at the latest time-out
    uint64_t m_lost{0};              //!< segments marked lost so far

    Alarm m_rto;
    Alarm m_reordering; //!< for the first of the segments that are undecided
    Alarm m_probe;
    int64_t m_persistDeadline{NEVER};
    Timer<Sender, &Sender::OnTimer> m_timer;
    Timer<Sender, &Sender::OnPacingTimer> m_pacingTimer;
};

} // namespace tunnelcc

#endif // TUNNELCC_SENDER_H
