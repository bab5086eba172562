/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LOSS_RECOVERY_H
#define TUNNELCC_LOSS_RECOVERY_H

#include "ack-summary.h"
#include "acknowledgement.h"
#include "congestion-window.h"
#include "mtu-search.h"
#include "prr.h"
#include "rack.h"
#include "scoreboard.h"
#include "tail-loss-probe.h"
#include "undo.h"

#include <cstdint>
#include <optional>

namespace tunnelcc
{

/**
 * Decides when a sender enters recovery, leaves it, and undoes it, with the states of Linux's
 * tcp_fastretrans_alert().
 *
 * RACK (RFC 8985) and tail loss probes find losses; PRR (RFC 9937) or the congestion control itself
 * reduces the window. After a time-out, F-RTO (RFC 5682) tests whether it was spurious. A reduction
 * that was needless is undone. Marks reduce the window as losses do (RFC 3168).
 *
 * It sends nothing itself: its owner asks for NextLost() and reports what it sends.
 */
class LossRecovery final : private WindowReduction
{
  public:
    /**
     * \param spec settings
     * \param board segments that were sent
     * \param window the congestion window, which it reduces
     */
    LossRecovery(const TcpSpec& spec, Scoreboard& board, CongestionWindow& window);

    // Transmissions

    /// The next segment to retransmit now.
    std::optional<uint64_t> NextLost()
    {
        const bool isAny = !m_defersRetransmits && m_board.HasLostToSend();
        return isAny ? m_board.NextLost() : std::nullopt;
    }

    /// Segments are being sent, new or again.
    void OnTransmit(uint32_t count = 1)
    {
        m_prr.OnSent(count);
    }

    /// The segment of OnTransmit() is sent again, and not as a probe.
    void OnRetransmit(int64_t now)
    {
        m_undo.OnRetransmit(TimestampClock(now));
    }

    /// A tail loss probe was sent. \param isRetransmission no new data could be sent
    void OnProbe(bool isRetransmission)
    {
        m_probe.OnSent(m_board.Nxt(), isRetransmission);
    }

    /// Whether the ACK that answers the tail loss probe is yet to come.
    bool IsProbing() const
    {
        return m_probe.IsOut();
    }

    /// Whether tail loss probes may be sent in this state.
    bool MayProbe() const;

    /// New data is being sent. \returns whether it tells the peer that the window was reduced
    /// (CWR): true once for each reduction
    bool TakeCwr();

    // An ACK, in this order

    /// It reports segment `number` as a duplicate. \returns whether that was the tail loss probe
    bool OnDuplicate(uint64_t number);

    /**
     * It delivered segments.
     * \param now ns
     * \param run the segments, with their flags from before the ACK
     * \param fack Scoreboard::Fack() before the ACK
     * \param isOriginal for a retransmitted segment: the ACK echoes a timestamp from before the
     * retransmission, so it is of the original
     */
    void OnDelivered(int64_t now, const SegmentRun& run, uint64_t fack, bool isOriginal)
    {
        m_rack.OnDelivered(now, run, m_window.State().minRtt, fack, isOriginal);
    }

    /// Whether the segment was sent before the reduction began, or the last one.
    bool IsBeforeReduction(uint64_t number) const
    {
        return number < m_recoveryEnd;
    }

    /// The segment just delivered was sent when `delivered` segments had been.
    void OnRateSample(uint64_t delivered)
    {
        m_rack.UpdateWindow(delivered, m_window.State().delivered);
    }

    /// See whether the ACK answers the tail loss probe. \param isDuplicate as OnDuplicate() told
    void EndProbe(int64_t now, bool isDuplicate);

    /// Find losses; enter, leave or undo a reduction. \param mayTestWithNew in LOSS: new data may
    /// be sent, with which F-RTO tests
    /// \returns whether there was anything to do: else, nothing has changed
    bool Update(int64_t now,
                const AckSummary& summary,
                const Acknowledgement& ack,
                bool mayTestWithNew)
    {
        if (IsCalm() && !ack.isEce)
        {
            m_reorderingDeadline = NEVER;
            m_hasLostRetransmission = false;
            return false;
        }
        UpdateState(now, summary, ack, mayTestWithNew);
        return true;
    }

    /**
     * Set the window while it is being reduced (PRR).
     * \param summary of the ACK
     * \param newlyLost segments that it showed to be lost
     * \returns whether the window may grow instead (Linux tcp_may_raise_cwnd())
     */
    bool ReduceWindow(const AckSummary& summary, uint32_t newlyLost);

    /// New data was sent before retransmissions, if it could be. \returns whether retransmissions
    /// may follow now
    bool EndDeferral();

    // Time-outs

    /// When the first of the segments that may have been overtaken counts as lost, ns, as of the
    /// latest ACK or time-out; NEVER: there is none.
    int64_t ReorderingDeadline() const
    {
        return m_reorderingDeadline;
    }

    /// When the last of them counts as lost, ns.
    int64_t ReorderingEnd() const
    {
        return m_rack.LastDeadline(m_board);
    }

    /// The deadline has passed. \returns whether any segment is lost
    bool OnReorderingTimeout(int64_t now);

    /// The retransmission time-out has passed: mark all segments lost.
    void OnTimeout(int64_t now);

    /// Whether the first segment outstanding has timed out before (Linux icsk_retransmits > 0).
    bool HasTimedOut() const
    {
        return m_timedOut == m_board.Una();
    }

    /// A segment is sent again: what becomes of a probe in flight says nothing (Linux
    /// __tcp_retransmit_skb()).
    void ForgetMtuProbe()
    {
        if (m_mtuSearch)
        {
            m_mtuSearch->Forget();
        }
    }

    /// Segments of more than `mss` bytes of payload do not fit on the path: mark them lost, and
    /// leave the window as it is (Linux tcp_simple_retransmit()).
    void OnTooLarge(int64_t now, uint32_t mss);

    /// Tell a search whose probe is lost. \param search outlives this
    void SetMtuSearch(MtuSearch& search)
    {
        m_mtuSearch = &search;
    }

    /// As CongestionWindow::CongestionEvents().
    uint64_t CongestionEvents() const
    {
        return m_window.CongestionEvents();
    }

    /// Number of reductions of the window that were undone.
    uint64_t Undos() const
    {
        return m_undos;
    }

  private:
    /// Whether nothing is unusual: an ACK then finds no loss and ends no reduction. So it is with
    /// nearly every ACK (Linux tcp_ack_is_dubious()).
    bool IsCalm() const
    {
        return GetCaState() == CaState::OPEN && m_board.SackedOut() + m_board.LostOut() == 0 &&
               !IsHeadRetransmitted() && !m_undo.IsAllDuplicate() && !m_rack.HasSuspect(m_board);
    }

    /// Whether the first segment outstanding was sent again, ever (Linux tcp_any_retrans_done()).
    bool IsHeadRetransmitted() const
    {
        return m_board.PacketsOut() > 0 &&
               m_board.At(m_board.Una()).Has(Segment::EVER_RETRANSMITTED);
    }

    void UpdateState(int64_t now,
                     const AckSummary& summary,
                     const Acknowledgement& ack,
                     bool mayTestWithNew);
    /// Mark what is lost by now.
    void DetectLoss(int64_t now);
    /// All that was out when the reduction began is acknowledged.
    void LeaveReduction(int64_t now, bool isNeedless);
    void UpdateRecovery(int64_t now, const AckSummary& summary, bool isOriginalAcked);
    /// What is lost may be the probe of a larger segment. \returns whether it is
    bool IsProbeLost(int64_t now);
    /// Not in recovery: see whether it is to begin.
    void UpdateQuiet(int64_t now);
    void UpdateLoss(int64_t now, const AckSummary& summary, bool isNeedless, bool mayTestWithNew);
    /// Undo the latest reduction if D-SACKs reported all its retransmissions.
    void UndoDuplicates(int64_t now);
    /// Set the state outside a reduction: DISORDER while anything is unusual, else OPEN.
    void KeepQuiet(int64_t now);
    void EnterCwr(int64_t now) override;
    void EnterReduction(int64_t now, CaState state);
    void EndReduction(int64_t now);
    void UndoReduction(int64_t now);
    void BeginUndo();

    CaState GetCaState() const
    {
        return m_window.State().caState;
    }

    // What each ACK needs stands together; see TcpEndpoint.
    const bool m_hasTimestamps;
    bool m_owesCwr{false};               //!< the next new data bears CWR
    bool m_isFrtoOn{false};              //!< testing whether the time-out was spurious
    bool m_hasLostRetransmission{false}; //!< found by the latest DetectLoss() (FLAG_LOST_RETRANS)
    bool m_defersRetransmits{false};     //!< new data goes first after this ACK (F-RTO)
    Scoreboard& m_board;
    CongestionWindow& m_window;
    int64_t m_reorderingDeadline{NEVER};
    uint64_t m_recoveryEnd{0}; //!< segment that ends recovery, loss or CWR (high_seq)
    TailLossProbe m_probe;
    Rack m_rack;
    uint64_t m_timedOut{UINT64_MAX}; //!< SND.UNA at the latest time-out
    uint64_t m_undos{0};
    Prr m_prr;
    Undo m_undo;
    MtuSearch* m_mtuSearch{nullptr}; //!< null: there is none
};

} // namespace tunnelcc

#endif // TUNNELCC_LOSS_RECOVERY_H
