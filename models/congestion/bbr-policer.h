/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR_POLICER_H
#define TUNNELCC_BBR_POLICER_H

#include "congestion/congestion-control.h"

#include <cstdint>

/**
 * \file
 * BBRv1's detection of token-bucket policers ("long-term bandwidth", Linux tcp_bbr.c `lt_bw`).
 *
 * Two consecutive intervals between losses with the same throughput and much loss mean a policer;
 * its rate then replaces the measured maximum for some rounds. The observation behind it: Flach
 * et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.
 */

namespace tunnelcc
{

/// Estimates the rate of a policer on the path, if there seems to be one.
class BbrPolicer
{
  public:
    /// Thresholds; the defaults are those of Linux tcp_bbr.c (5.10 to 6.18).
    struct Parameters
    {
        bool enabled{true};              //!< else, never assume a policer
        uint32_t minRounds{4};           //!< `bbr_lt_intvl_min_rtts`
        double lossThreshold{50. / 256}; //!< `bbr_lt_loss_thresh`, lost/delivered
        double rateRatio{1. / 8};        //!< `bbr_lt_bw_ratio`
        double rateDifference{500};      //!< `bbr_lt_bw_diff`, bytes/s (4 kbit/s)
        uint32_t useRounds{48};          //!< `bbr_lt_bw_max_rtts`

        bool operator==(const Parameters&) const = default;
    };

    /// \param parameters which outlive it
    explicit BbrPolicer(const Parameters& parameters);
    explicit BbrPolicer(Parameters&&) = delete;

    /// Forget the rate and wait for the next loss.
    void Reset(const SenderState& state);

    /// Whether a policer is assumed.
    bool IsDetected() const
    {
        return m_isDetected;
    }

    /// Rate of the policer, segments/s; meaningful while IsDetected().
    double GetRate() const
    {
        return m_rate;
    }

    /// What an ACK or a time-out shows to the detector.
    struct Observation
    {
        bool isLoss{false};       //!< something was newly marked lost
        bool isAppLimited{false}; //!< the rate sample is application-limited
        bool isRoundStart{false}; //!< a round trip ended
        bool isProbeBw{false};    //!< BBR is in PROBE_BW
    };

    /// Whether it needs every ACK: it assumes a policer, or measures an interval. Otherwise it
    /// begins with a loss.
    bool IsWatching() const
    {
        return m_isDetected || m_isSampling;
    }

    /**
     * \param state the connection
     * \param observation what the ACK brought
     * \param paceOf bytes/s at which BBR would pace one segment/s
     * \returns whether the policer's rate has been used for long enough and was dropped now
     */
    bool Update(const SenderState& state, const Observation& observation, double paceOf);

  private:
    void StartInterval(const SenderState& state);
    bool AgeRate(const SenderState& state, const Observation& observation);
    void Sample(const SenderState& state, double paceOf);
    void EndInterval(const SenderState& state, double rate, double paceOf);

    // What each ACK looks at comes first.
    bool m_isDetected{false};
    bool m_isSampling{false};
    uint32_t m_rounds{0};         //!< rounds in this interval, or of use
    double m_rate{0};             //!< segments/s; of the last interval, or of the policer
    uint64_t m_startDelivered{0}; //!< SenderState::delivered at the interval's start
    uint64_t m_startLost{0};      //!< SenderState::lost at the interval's start
    int64_t m_startTime{0};       //!< SenderState::deliveredTime at the interval's start, ns
    const Parameters& m_parameters;
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR_POLICER_H
