/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RACK_H
#define TUNNELCC_RACK_H

#include "congestion/congestion-control.h"
#include "scoreboard.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tunnelcc
{

/**
 * RACK loss detection (RFC 8985, sections 6.2 and 7.1): a segment is lost when one sent later was
 * delivered and an RTT plus a reordering window has passed since it was sent.
 *
 * As in Linux: while no reordering was seen, the window is 0 in recovery and once three segments
 * are sacked.
 */
class Rack
{
  public:
    /**
     * Segments were delivered (RFC 8985, steps 2 and 3).
     * \param isOriginal for a retransmitted segment: the ACK echoes a timestamp from before the
     * retransmission, so it is of the original
     */
    void OnDelivered(int64_t now,
                     const SegmentRun& run,
                     int64_t minRtt,
                     uint64_t fack,
                     bool isOriginal)
    {
        const Segment& segment = run.segment;
        int64_t rtt = now - segment.sentTime;
        bool isRetransmitted = segment.Has(Segment::EVER_RETRANSMITTED);
        if (!isRetransmitted && run.first < fack)
        {
            OnReordering(run.first, fack);
        }
        if (isRetransmitted && (isOriginal || rtt < minRtt))
        {
            return; // the original arrived, not the retransmission
        }
        m_rtt = rtt;
        if (WasSentAfter(segment.sentTime, run.last, m_sentTime, m_number))
        {
            m_sentTime = segment.sentTime;
            m_number = run.last;
        }
    }

    /// Segment `number` arrived after the one before `fack`, without having been retransmitted by
    /// then (Linux tcp_check_sack_reordering()).
    void OnReordering(uint64_t number, uint64_t fack)
    {
        m_hasReordering = true;
        m_degree = std::max(m_degree, std::min(fack - number, MAX_DEGREE));
    }

    /// Whether a segment was overtaken by more than the DUP_THRESH that make a loss likely.
    bool IsReorderingHigh() const
    {
        return m_degree > DUP_THRESH;
    }

    /// A D-SACK showed a needless retransmission. As in Linux since 5.15, it counts only where
    /// reordering was seen before.
    void OnDuplicate()
    {
        m_hasDuplicate |= m_hasReordering;
    }

    /**
     * An ACK delivered something: if there was a D-SACK, widen the window, once a round trip
     * (step 4; Linux tcp_rack_update_reo_wnd()).
     * \param priorDelivered delivered count when the segment just delivered was sent
     * \param delivered delivered count now
     */
    void UpdateWindow(uint64_t priorDelivered, uint64_t delivered)
    {
        if (!m_hasDuplicate)
        {
            return;
        }
        m_hasDuplicate = false;
        if (priorDelivered < m_widenAfter)
        {
            return;
        }
        m_widenAfter = delivered;
        m_windowSteps = std::min(m_windowSteps + 1, MAX_WINDOW_STEPS);
        m_persist = PERSIST_RECOVERIES;
    }

    /// A recovery ended and was not undone: after 16 of them without a D-SACK, the window is
    /// a quarter of the least RTT again.
    void OnRecoveryEnd()
    {
        if (m_persist > 0 && --m_persist == 0)
        {
            m_windowSteps = 1;
        }
    }

    /// A recovery was undone because D-SACKs reported all its retransmissions: it does not count.
    void OnNeedlessRecovery()
    {
        m_persist = std::min(m_persist + 1, PERSIST_RECOVERIES);
    }

    int64_t ReorderingWindow(const SenderState& state, uint32_t sackedOut) const
    {
        if (!m_hasReordering && (state.caState >= CaState::RECOVERY || sackedOut >= DUP_THRESH))
        {
            return 0;
        }
        return std::min(state.minRtt / 4 * m_windowSteps, state.srtt);
    }

    /// Whether the oldest transmission in flight is suspect: one after it was delivered.
    bool HasSuspect(const Scoreboard& board) const
    {
        return board.InFlight() > 0 && IsSuspect(board.Oldest(), board.At(board.Oldest()));
    }

    /**
     * Mark what is lost by now (step 5).
     * \param onLost called as (number) after each segment marked
     * \returns when the first of the undecided segments counts as lost, ns; NEVER: there is none
     */
    template <class OnLost>
    int64_t DetectLoss(int64_t now, Scoreboard& board, const SenderState& state, OnLost&& onLost)
    {
        if (!HasSuspect(board))
        {
            return NEVER;
        }
        m_patience = m_rtt + ReorderingWindow(state, board.SackedOut());
        do
        {
            uint64_t number = board.Oldest();
            int64_t deadline = board.At(number).sentTime + m_patience;
            if (deadline > now)
            {
                return deadline;
            }
            board.MarkLost(number);
            onLost(number);
        } while (HasSuspect(board));
        return NEVER;
    }

    /// When the last of the segments that DetectLoss() left undecided counts as lost, ns: Linux
    /// looks at all of them again then. \pre there are some, and no ACK has come since
    int64_t LastDeadline(Scoreboard& board) const
    {
        int64_t latest = 0;
        for (std::optional<uint64_t> number = board.Oldest(); number;
             number = board.NextSent(*number))
        {
            const Segment& segment = board.At(*number);
            if (!IsSuspect(*number, segment))
            {
                break;
            }
            latest = segment.sentTime + m_patience;
        }
        return latest;
    }

    /// A time-out came although so many segments are sacked: reordering is less than it seemed
    /// (Linux tcp_enter_loss()).
    void OnTimeoutInDisorder(uint32_t sackedOut)
    {
        if (sackedOut >= DUP_THRESH)
        {
            m_degree = DUP_THRESH;
        }
    }

    /// On a time-out: the first segment is lost, and all sent more than an RTT ago (step 6.3).
    /// \param onLost called as (number) after each segment marked
    template <class OnLost>
    void OnTimeout(int64_t now, Scoreboard& board, const SenderState& state, OnLost&& onLost)
    {
        if (Scoreboard::IsInFlight(board.At(board.Una())))
        {
            board.MarkLost(board.Una());
            onLost(board.Una());
        }
        int64_t patience = m_rtt + ReorderingWindow(state, board.SackedOut());
        while (board.InFlight() > 0 && board.At(board.Oldest()).sentTime + patience <= now)
        {
            uint64_t number = board.Oldest();
            board.MarkLost(number);
            onLost(number);
        }
    }

  private:
    static constexpr uint32_t DUP_THRESH = 3;     //!< RFC 8985, section 3.3
    static constexpr int MAX_WINDOW_STEPS = 255;  //!< as Linux's 8-bit counter
    static constexpr int PERSIST_RECOVERIES = 16; //!< RFC 8985, section 6.2, step 4
    static constexpr uint64_t MAX_DEGREE = 300;   //!< Linux sysctl tcp_max_reordering

    static bool WasSentAfter(int64_t time1, uint64_t number1, int64_t time2, uint64_t number2)
    {
        return time1 > time2 || (time1 == time2 && number1 > number2);
    }

    /// Whether a segment sent later than this one was delivered.
    bool IsSuspect(uint64_t number, const Segment& segment) const
    {
        return WasSentAfter(m_sentTime, m_number, segment.sentTime, number);
    }

    int64_t m_sentTime{-1}; //!< transmission time of the latest-sent segment delivered
    uint64_t m_number{0};   //!< its number
    int64_t m_rtt{0};       //!< RTT of the latest delivery
    bool m_hasReordering{false};
    bool m_hasDuplicate{false};    //!< a D-SACK came that has not widened the window yet
    int64_t m_patience{0};         //!< RTT and reordering window, ns: how long a segment may take
    uint64_t m_degree{DUP_THRESH}; //!< the most segments that overtook one
    int m_windowSteps{1};          //!< the window, in quarters of the least RTT
    int m_persist{0};
    uint64_t m_widenAfter{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RACK_H
