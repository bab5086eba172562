/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RENO_H
#define TUNNELCC_RENO_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/slow-start.h"

/**
 * \file
 * NewReno (RFC 5681, RFC 6582) as Linux counts it: whole segments, half of cwnd rather than of
 * FlightSize on a loss. Fast recovery is the transport's (PRR, RFC 9937), not window inflation.
 */

namespace tunnelcc
{

/// Constants of Reno.
struct RenoParameters
{
    double beta{0.5};            //!< window left after a loss
    double pacing{0};            //!< pace at cwnd/RTT
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

    void Init(TcpState& state, int64_t now) override;
    uint32_t GetSsThresh(TcpState& state, int64_t now) override;
    void OnAck(TcpState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(TcpState& state, CaState next, int64_t now) override;

  private:
    RenoParameters m_parameters;
    WindowPacing m_pacing;
    AdditiveIncrease m_increase;
};

} // namespace tunnelcc

#endif // TUNNELCC_RENO_H
