/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CUBIC_H
#define TUNNELCC_CUBIC_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/hystart-plus-plus.h"
#include "congestion/hystart.h"
#include "congestion/slow-start.h"

#include <cstdint>

/**
 * \file
 * CUBIC (RFC 9438) with HyStart as in Linux net/ipv4/tcp_cubic.c (5.10 to 6.18): the cubic curve
 * and its Reno-friendly region counted in whole segments, fast convergence, and a curve that is
 * evaluated at most once a jiffy.
 *
 * As Linux and unlike the RFC: the Reno-friendly window keeps its slope above the window of the
 * last loss (`reno_friendly_alpha_one` turns the RFC's on), a time-out forgets the last maximum,
 * and the multiplicative decrease acts on cwnd. HyStart++ (RFC 9406), which Linux does not have,
 * takes HyStart's place where `hystart_plus_plus` is set. Time counts in jiffies. Left out:
 * rounding of C, beta and K to the kernel's fixed-point fractions.
 */

namespace tunnelcc
{

/// Constants of CUBIC.
struct CubicParameters
{
    double c{0.4};                     //!< segments/s³
    double beta{0.7};                  //!< window left after a loss
    bool fastConvergence{true};        //!< release bandwidth when the maximum shrinks
    bool renoFriendly{true};           //!< never grow slower than Reno would
    bool renoFriendlyAlphaOne{false};  //!< grow by 1 per RTT above the window of the last loss
    bool hystart{true};                //!< end slow start early
    bool hystartPlusPlus{false};       //!< by HyStart++ in place of HyStart
    uint32_t cssGrowthDivisor{4};      //!< HyStart++: slower growth once the RTT has risen
    uint32_t cssRounds{5};             //!< HyStart++: rounds of slower growth
    bool hystartAckTrain{true};        //!< by long trains of ACKs
    bool hystartDelay{true};           //!< by a rise of the RTT
    uint32_t hystartLowWindow{16};     //!< segments
    double hystartAckSpacing{0.002};   //!< s
    double hystartMinDelayRise{0.004}; //!< s
    double hystartMaxDelayRise{0.016}; //!< s
    uint32_t hystartMinSamples{8};     //!< RTT samples per round
    bool pacing{false};                //!< pace at cwnd/RTT
    double pacingSlowStart{2};         //!< times cwnd/RTT in slow start
    double pacingAvoidance{1.2};       //!< times cwnd/RTT in congestion avoidance
};

/// Window growth by a cubic function of the time since the last loss.
class Cubic : public CongestionControl
{
  public:
    explicit Cubic(const CubicParameters& parameters);

    /// Names, ranges and sources of CubicParameters.
    static const CongestionParameterTable<CubicParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    bool WantsDeliveries() const override;
    void OnDelivered(SenderState& state, const AckEvent& event) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnTransmitStart(SenderState& state, int64_t now, int64_t idle) override;

    /// Window at which the curve is flat, segments; 0 before the first loss.
    uint32_t GetLastMax() const
    {
        return m_lastMax;
    }

    /// Time from the start of the epoch to the flat part of its curve (K), s.
    double GetK() const
    {
        return m_k;
    }

  private:
    void Reset();
    void TakeRtt(SenderState& state, const AckEvent& event);
    bool IsSlowStartToEnd(const SenderState& state, const AckEvent& event);
    /// \param now jiffies, here and below
    void UpdateStep(const SenderState& state, uint32_t acked, int64_t now);
    void StartEpoch(const SenderState& state, uint32_t acked, int64_t now);
    void FollowCurve(uint32_t cwnd, int64_t now);
    void FollowReno(uint32_t cwnd);

    CubicParameters m_parameters;
    WindowPacing m_pacing;
    HyStart m_hystart;
    HyStartPlusPlus m_hystartPlusPlus;
    AdditiveIncrease m_increase;
    double m_acksPerRenoStep; //!< 1/α, in windows (RFC 9438, section 4.3)

    int64_t m_epochStart{NEVER};   //!< jiffies; NEVER: the next growth starts an epoch
    int64_t m_lastUpdate{0};       //!< when the step was last computed, jiffies
    int64_t m_minRtt{NEVER};       //!< ns
    double m_k{0};                 //!< s
    uint32_t m_lastMax{0};         //!< W_max, segments
    uint32_t m_priorCwnd{0};       //!< window at the last loss, segments
    uint32_t m_origin{0};          //!< window of the curve at K, segments
    uint32_t m_lastCwnd{0};        //!< window that the step was computed for, segments
    uint32_t m_step{0};            //!< segments to be acknowledged for one more in the window
    uint32_t m_renoWindow{0};      //!< W_est, segments
    uint32_t m_renoAcked{0};       //!< segments acknowledged since W_est last grew
    bool m_isSlowStartOver{false}; //!< HyStart has fired
};

} // namespace tunnelcc

#endif // TUNNELCC_CUBIC_H
