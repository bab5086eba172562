/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ZETA_LIKE_H
#define TUNNELCC_ZETA_LIKE_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-parameters.h"
#include "congestion/slow-start.h"

#include <cstdint>

/**
 * \file
 * An illustration, not the product ZetaTCP (AppEx Networks; LotServer), which is closed: no formula
 * is published. Two things are said of it in public: how far it backs off depends on a
 * likelihood of congestion, which it takes from changes of RTT and of loss; and it backs off by
 * half at most, as NewReno does. This algorithm has these two properties. Every constant is a
 * choice of this project; the first window and the shaper's rate are those that configurations of
 * LotServer show.
 *
 * Once in an episode of loss, the algorithm looks for two signs of congestion: a queueing delay
 * above a threshold, and losses that are more frequent than before. With both signs it keeps half
 * of the window, with one seven eighths, with none all of it. The window grows as Reno's does.
 * Windows are in segments, the rate in bytes of payload a second.
 */

namespace tunnelcc
{

/// Constants of ZetaLike.
struct ZetaLikeParameters
{
    uint32_t initialWindow{44};  //!< segments
    double rate{125e6};          //!< most that is paced, bytes/s
    double minQueueDelay{0.005}; //!< s; least queueing delay that is a sign
    double queueDelayPart{8};    //!< so many queueing delays in the least RTT are a sign
    uint32_t shortWindow{16};    //!< segments over which losses are averaged now
    uint32_t longWindow{1024};   //!< segments over which they were before
    double lossRise{2};          //!< a rise by more than this is a sign
    double betaOne{0.875};       //!< window left with one sign
    double betaBoth{0.5};        //!< window left with both
};

/// Back-off in steps, by signs of congestion in delay and loss.
class ZetaLike : public CongestionControl
{
  public:
    explicit ZetaLike(const ZetaLikeParameters& parameters);

    /// Names, ranges and sources of ZetaLikeParameters.
    static const CongestionParameterTable<ZetaLikeParameters>& GetParameterTable();

    void Init(SenderState& state, int64_t now) override;
    uint32_t GetSsThresh(SenderState& state, int64_t now) override;
    void OnAck(SenderState& state, const AckEvent& event, bool mayGrow) override;
    void OnCaState(SenderState& state, CaState next, int64_t now) override;

  private:
    void CountLosses(const SenderState& state);
    bool IsQueueLong(const SenderState& state) const;
    void Pace(SenderState& state) const;

    ZetaLikeParameters m_parameters;
    const int64_t m_minQueueDelay; //!< ns
    AdditiveIncrease m_increase;
    double m_shortLoss{0};
    double m_longLoss{0};
    uint64_t m_lost{0};          //!< SenderState::lost that the averages have seen
    uint64_t m_delivered{0};     //!< SenderState::delivered that they have seen
    uint32_t m_keptThreshold{0}; //!< threshold to go back to after recovery, segments; 0: none
};

} // namespace tunnelcc

#endif // TUNNELCC_ZETA_LIKE_H
