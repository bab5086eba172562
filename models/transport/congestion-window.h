/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_WINDOW_H
#define TUNNELCC_CONGESTION_WINDOW_H

#include "congestion/congestion-control.h"
#include "pacer.h"
#include "rtt-estimator.h"
#include "scoreboard.h"
#include "spec/tcp-spec.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace tunnelcc
{

/**
 * The congestion window, with the algorithm that sets it and the state that the algorithm sees.
 * Sync() brings that state up to date before each call of the algorithm.
 *
 * A window that is not used becomes smaller (RFC 2861 in Linux's form): it is halved for each
 * retransmission time-out that passes in silence, and a window of which only a part was used goes
 * half way down to that part. An algorithm that asks for it is told of each loss, and what was in
 * flight when each segment was sent (draft-ietf-ccwg-bbr, sections 4.1.2.2 and 5.2.4:
 * P.tx_in_flight, P.lost).
 */
class CongestionWindow
{
  public:
    /**
     * \param spec settings
     * \param algorithm sets the window
     * \param board segments that were sent; keeps flights if the algorithm asks for losses
     * \param pacer tells when the next segment may leave
     */
    CongestionWindow(const TcpSpec& spec,
                     std::unique_ptr<CongestionControl> algorithm,
                     Scoreboard& board,
                     const Pacer& pacer);

    SenderState& State()
    {
        return m_state;
    }

    const SenderState& State() const
    {
        return m_state;
    }

    const CongestionControl& Algorithm() const
    {
        return *m_algorithm;
    }

    /// CongestionControl::HasCongControl().
    bool HasCongControl() const
    {
        return m_hasCongControl;
    }

    /// Bring the state up to date.
    void Sync();

    /// The same, where nothing has changed since Sync() but what the algorithm set.
    void SyncLimit()
    {
        // Algorithms with cong_control read tp->is_cwnd_limited itself.
        m_state.isCwndLimited = m_hasCongControl ? m_isLimited : IsLimited();
    }

    // Calls of the algorithm

    /// Give the algorithm the object that reduces the window at its request.
    void SetReduction(WindowReduction& reduction)
    {
        m_algorithm->SetReduction(reduction);
    }

    /// As CongestionControl::Couple().
    void Couple(CoupledGroup& group)
    {
        m_algorithm->Couple(group, m_state);
    }

    /// The handshake is done.
    void Init(int64_t now);

    /// A segment is about to be sent. \param idle time since the last one, ns
    void OnTransmit(int64_t now, int64_t idle);

    /// An ACK delivered something, and has changed nothing yet. \pre Sync()
    void OnDelivered(const AckEvent& event)
    {
        if (m_wantsDeliveries)
        {
            m_algorithm->OnDelivered(m_state, event);
        }
    }

    /// An ACK was processed. \param mayGrow as in CongestionControl::OnAck() \pre Sync()
    void OnAck(const AckEvent& event, bool mayGrow);

    /// Let the algorithm choose the threshold of a reduction.
    void LowerThreshold(int64_t now);

    /// Congestion events (RFC 9438, section 4.6) so far: calls of LowerThreshold(), also for
    /// reductions that were taken back.
    uint64_t CongestionEvents() const
    {
        return m_congestionEvents;
    }

    void SetCaState(CaState state, int64_t now);

    /// A reduction is over, but for those after a time-out. \pre not HasCongControl()
    void EndReduction(int64_t now);

    /// Take a reduction back. \param cwnd,ssthresh from before it, segments
    void Restore(uint32_t cwnd, uint32_t ssthresh);

    // Losses

    /// Remember what is in flight as each of `count` segments is sent, if the algorithm asks for
    /// losses. \param last the last of them; the board has them in flight already
    void NoteFlights(uint64_t last, uint32_t count)
    {
        if (!m_wantsLosses)
        {
            return;
        }
        for (uint32_t later = 0; later < count; ++later)
        {
            m_board.FlightAt(last - later) = {m_board.InFlight() - later,
                                              static_cast<uint32_t>(m_lost)};
        }
    }

    /// A segment was marked lost.
    void OnLost(int64_t now, uint64_t number);

    /// Segments ever marked lost.
    uint64_t Lost() const
    {
        return m_lost;
    }

    /// Add to a sample the losses and the flight, if the algorithm asks for losses.
    /// \param number of the segment sampled, whose flight is still known
    void Complete(RateSample& sample, uint64_t number);

    // The window's use

    /// Set the window. \param cwnd segments
    void Set(int64_t now, uint32_t cwnd)
    {
        m_state.cwnd = cwnd;
        m_changeTime = now;
    }

    /// The window might have changed: the time in which it may be unused starts again.
    void Touch(int64_t now)
    {
        m_changeTime = now;
    }

    /// Payload bytes that the window allows beyond what is in flight.
    uint64_t Room() const
    {
        return uint64_t{m_state.cwnd - std::min(m_state.cwnd, m_board.InFlight())} * m_state.mss;
    }

    /// Whether the window allows no further segment.
    bool IsFull() const
    {
        return m_board.InFlight() >= m_state.cwnd;
    }

    /**
     * A burst was sent, or could not be: remember how much of the window is in use (Linux
     * tcp_cwnd_validate()).
     * \param now ns
     * \param isLimited the window was used up
     * \param rtt knows the retransmission time-out
     * \param isWriterBlocked the send buffer is full, so the application did not hold data back
     */
    void Validate(int64_t now, bool isLimited, const RttEstimator& rtt, bool isWriterBlocked);

    /// The application writes after an idle time. \param idle,rto ns \returns whether the window
    /// was reduced for that \pre nothing is outstanding
    bool RestartAfterIdle(int64_t now, int64_t idle, int64_t rto);

  private:
    bool IsLimited() const
    {
        return m_state.IsCwndLimited(m_isLimited);
    }

    void Shrink(int64_t now, bool isWriterBlocked);
    void KeepThreshold();

    const uint32_t m_initialWindow; //!< segments
    std::unique_ptr<CongestionControl> m_algorithm;
    Scoreboard& m_board;
    const Pacer& m_pacer;
    const bool m_hasCongControl;
    const bool m_wantsLosses;     //!< CongestionControl::WantsLosses()
    const bool m_wantsDeliveries; //!< CongestionControl::WantsDeliveries()
    SenderState m_state;
    uint64_t m_lost{0}; //!< segments marked lost so far
    uint64_t m_congestionEvents{0};
    bool m_isLimited{false}; //!< the window was used up since the last full round of data
    uint64_t m_roundEnd{0};  //!< segment whose ACK ends that round
    uint32_t m_used{0};      //!< most segments outstanding since the window was used up
    int64_t m_changeTime{0}; //!< when the window changed, might have, or was used up; ns
};

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_WINDOW_H
