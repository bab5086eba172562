/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RENO_H
#define TUNNELCC_RENO_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/hystart.h"
#include "congestion/slow-start.h"

/**
 * \file
 * NewReno (RFC 5681, RFC 6582) as Linux counts it: whole segments, half of cwnd rather than of
 * FlightSize on a loss. Fast recovery is the transport's (PRR, RFC 9937), not window inflation.
 *
 * With `fractions`, as QUIC counts it (RFC 9002, appendix B; quic-go v0.60.0, cubic_sender.go): the
 * window is in bytes. 0.7 of 6 segments is 4.2 then, and while 4 are in flight, another may leave.
 */

namespace tunnelcc
{

/// Constants of Reno.
struct RenoParameters
{
    double beta{0.5};            //!< window left after a loss
    bool hystart{false};         //!< end slow start when the RTT rises
    bool fractions{false};       //!< of segments count in the window, as where it is in bytes
    bool pacing{false};          //!< pace at cwnd/RTT
    double pacingSlowStart{2};   //!< times cwnd/RTT in slow start
    double pacingAvoidance{1.2}; //!< times cwnd/RTT in congestion avoidance
};

/// Additive increase of one segment per round trip, multiplicative decrease by half.
class Reno : public CongestionControl
{
  public:
    explicit Reno(const RenoParameters& parameters);

    /// Names, ranges and sources of RenoParameters.
    static const CongestionParameterTable<RenoParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;

  private:
    void Resume(const SenderState& state);
    void GrowInFractions(SenderState& state, uint32_t acked);

    RenoParameters m_parameters;
    WindowPacing m_pacing;
    AdditiveIncrease m_increase;
    HyStart m_hystart;
    double m_window{0};    //!< with fractions, segments; SenderState::cwnd is the next whole number
    uint32_t m_counted{0}; //!< segments towards the next step of it
};

} // namespace tunnelcc

#endif // TUNNELCC_RENO_H
