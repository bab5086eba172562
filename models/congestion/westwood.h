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
 * The bandwidth is what was acknowledged per RTT (at least 50 ms), through two low-pass filters.
 * Left out: the kernel's rounding of times to jiffies and of the filters to whole bytes.
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
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;

    /// Bandwidth estimate, segments/s.
    double GetBandwidth() const
    {
        return m_bandwidth;
    }

    /// Window that the bandwidth fills at the least RTT, segments.
    uint32_t GetWindow() const;

  private:
    void UpdateBandwidth(int64_t now);
    uint32_t CountAcked(uint32_t cumAcked);
    void UpdateMinRtt();

    int64_t m_minInterval; //!< ns
    int64_t m_initialRtt;  //!< ns
    double m_filterGain;
    AdditiveIncrease m_increase;
    int64_t m_intervalStart{0};  //!< ns
    double m_acked{0};           //!< segments, in the interval
    double m_rawBandwidth{0};    //!< after the first filter, segments/s
    double m_bandwidth{0};       //!< after the second, segments/s
    uint32_t m_accounted{0};     //!< segments that duplicate ACKs have accounted for
    int64_t m_rtt{0};            //!< latest, ns
    int64_t m_minRtt{0};         //!< ns
    bool m_restartsMinRtt{true}; //!< the next RTT replaces the least one
};

} // namespace tunnelcc

#endif // TUNNELCC_WESTWOOD_H
