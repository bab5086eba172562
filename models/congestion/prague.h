/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PRAGUE_H
#define TUNNELCC_PRAGUE_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"

#include <cstdint>

/**
 * \file
 * Prague (draft-briscoe-iccrg-prague-congestion-control-04) as in L4STeam's Linux 6.18,
 * net/ipv4/tcp_prague.c version 0.7: the congestion control of L4S (RFC 9330). Its data bears
 * ECT(1), so that a DualPI2 bottleneck serves it from the low-latency queue, and marks it early.
 *
 * Once a round trip with marks, the window shrinks by half of alpha, a moving average of the share
 * of segments that are marked. It grows by a segment a round trip for what is not marked. The first
 * mark ends slow start and halves the window. Below a target RTT of 25 ms, growth and reductions
 * are as slow as at the target, so that flows of short RTTs leave their share to others. A loss
 * halves the window.
 *
 * Left out: segments below the MSS and the mode that counts in rates for windows of four segments
 * and fewer; ECT(1) on ACKs; the fallback to Reno without accurate ECN. Accurate ECN (RFC 9768)
 * counts marked segments; here an ACK tells whether its segments were marked, and a receiver sends
 * one whenever that changes (RFC 8257, section 3.2).
 */

namespace tunnelcc
{

/// Constants of Prague.
struct PragueParameters
{
    double gain{1.0 / 16};     //!< weight of a round trip in alpha
    double rttTarget{0.025};   //!< s
    uint32_t rttTransition{4}; //!< round trips after slow start until the target RTT counts
    double burst{1.0 / 4096};  //!< longest burst, s
};

/// Window from the share of marks.
class Prague final : public CongestionControl
{
  public:
    explicit Prague(const PragueParameters& parameters);

    /// Names, ranges and sources of PragueParameters.
    static const CongestionParameterTable<PragueParameters>& GetParameterTable();

    bool HasCongControl() const override
    {
        return true;
    }

    bool NeedsEcn() const override
    {
        return true;
    }

    bool IsL4s() const override
    {
        return true;
    }

    int64_t GetLongestBurst() const override
    {
        return m_burst;
    }

    uint32_t MinTsoSegments(const SenderState& /* state */) const override
    {
        return 1;
    }

    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    uint32_t GetUndoCwnd(SenderState& state, uint32_t priorCwnd) override;

    /// Moving average of the share of marked segments.
    double GetAlpha() const
    {
        return m_alpha;
    }

    /// The window with its fraction, segments.
    double GetWindow() const
    {
        return m_window;
    }

  private:
    bool IsRttIndependent(const SenderState& state) const;
    void BeginRound(const SenderState& state);
    void UpdateIncrease(const SenderState& state);
    void UpdateWindow(SenderState& state, const AckEvent& event);
    void Grow(SenderState& state, uint32_t acked);
    /// Move the window of the connection by at most a segment towards ours.
    void Follow(SenderState& state);
    void UpdateAlpha(const SenderState& state, int64_t now);
    void UpdatePacing(SenderState& state) const;

    const PragueParameters m_parameters;
    const int64_t m_target; //!< ns
    const int64_t m_burst;  //!< ns
    double m_window{0};     //!< segments
    double m_alpha{0};
    double m_increase{1};    //!< of the window a round trip, segments
    bool m_hasMarks{false};  //!< some segment was marked
    bool m_isInLoss{false};  //!< the window was reduced for a loss and does not grow yet
    double m_lossWindow{0};  //!< before that, segments
    uint32_t m_rounds{0};    //!< since slow start
    uint64_t m_roundEnd{0};  //!< by number of segment
    uint64_t m_marked{0};    //!< segments of this round
    uint64_t m_delivered{0}; //!< SenderState::delivered when it began
    int64_t m_alphaTime{0};  //!< of the latest update of alpha, ns
    int64_t m_cwrTime{0};    //!< of the latest reduction for marks, ns
};

} // namespace tunnelcc

#endif // TUNNELCC_PRAGUE_H
