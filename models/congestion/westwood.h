/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WESTWOOD_H
#define TUNNELCC_WESTWOOD_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/slow-start.h"

#include <cstdint>

/**
 * \file
 * Westwood+ (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and
 * Vegas TCP congestion control", CCR 34(2), 2004) as in Linux net/ipv4/tcp_westwood.c (5.10 to
 * 6.18): Reno, but after a loss the window becomes the measured bandwidth times the least RTT,
 * instead of a half.
 *
 * The bandwidth is what was acknowledged per RTT (at least 48 ms), through two low-pass filters.
 * Times are jiffies of 4 ms, of which an RTT has as many as it begins, and bandwidths whole bytes
 * a jiffy, as in Linux: an RTT of 21 ms counts as 24.
 */

namespace tunnelcc
{

/// Constants of Westwood+.
struct WestwoodParameters
{
    double rttMin{0.05};      //!< s
    double initialRtt{20};    //!< s
    double filterGain{0.125}; //!< weight of a new value in each filter
};

/// Reno that reduces its window to the bandwidth measured.
class Westwood : public CongestionControl
{
  public:
    explicit Westwood(const WestwoodParameters& parameters);

    /// Names, ranges and sources of WestwoodParameters.
    static const CongestionParameterTable<WestwoodParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    bool WantsDeliveries() const override;
    void OnDelivered(SenderState& state, const AckEvent& event) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;
    void OnReductionEnd(SenderState& state, int64_t now) override;

    /// Bandwidth estimate, bytes/s.
    double GetBandwidth() const;

    /// Window that the bandwidth fills at the least RTT, segments.
    uint32_t GetWindow(const SenderState& state) const;

  private:
    void UpdateBandwidth(int64_t now);
    uint32_t CountAcked(uint32_t acked, uint32_t mss);
    void UpdateMinRtt();

    int64_t m_minInterval; //!< jiffies
    int64_t m_initialRtt;  //!< jiffies
    double m_filterGain;
    AdditiveIncrease m_increase;
    int64_t m_intervalStart{0};  //!< jiffies
    int64_t m_acked{0};          //!< bytes, in the interval
    double m_rawBandwidth{0};    //!< after the first filter, bytes a jiffy, whole
    double m_bandwidth{0};       //!< after the second
    uint32_t m_accounted{0};     //!< bytes that duplicate ACKs have accounted for
    int64_t m_rtt{0};            //!< latest, jiffies
    int64_t m_minRtt{0};         //!< jiffies
    bool m_restartsMinRtt{true}; //!< the next RTT replaces the least one
    bool m_isFirstAck{true};
    bool m_hasNewThreshold{false}; //!< since the last ACK
};

} // namespace tunnelcc

#endif // TUNNELCC_WESTWOOD_H
