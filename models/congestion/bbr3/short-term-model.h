/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BBR3_SHORT_TERM_MODEL_H
#define TUNNELCC_BBR3_SHORT_TERM_MODEL_H

#include <algorithm>
#include <cstdint>
#include <limits>

/**
 * \file
 * BBRv3's short-term model: the rate and the volume that losses since the last probe for bandwidth
 * allow (draft-ietf-ccwg-bbr, section 5.5.10.3).
 */

namespace tunnelcc
{

/// A volume that nothing bounds, segments.
constexpr uint32_t BBR3_UNBOUNDED = std::numeric_limits<uint32_t>::max();

/// Bounds on rate and volume until the next probe.
struct Bbr3ShortTermModel
{
    static constexpr double UNBOUNDED_RATE = std::numeric_limits<double>::infinity();

    double bandwidth{UNBOUNDED_RATE};  //!< BBR.bw_shortterm, segments/s
    uint32_t inflight{BBR3_UNBOUNDED}; //!< BBR.inflight_shortterm, segments

    /// Lift the bounds (ResetShortTermModel()).
    void Reset()
    {
        *this = Bbr3ShortTermModel();
    }

    /// Set bounds where there are none (InitLowerBounds()).
    void Init(double maxBandwidth, uint32_t cwnd)
    {
        bandwidth = bandwidth == UNBOUNDED_RATE ? maxBandwidth : bandwidth;
        inflight = inflight == BBR3_UNBOUNDED ? cwnd : inflight;
    }

    /// A round with loss: reduce the bounds, but not below what was delivered in it
    /// (LossLowerBounds()).
    void Cut(double beta, double bandwidthLatest, uint32_t inflightLatest)
    {
        bandwidth = std::max(bandwidthLatest, beta * bandwidth);
        inflight = std::max(inflightLatest, static_cast<uint32_t>(beta * inflight));
    }

    /// The losses were none: go back to the earlier bounds where they were higher.
    void RaiseTo(const Bbr3ShortTermModel& earlier)
    {
        bandwidth = std::max(bandwidth, earlier.bandwidth);
        inflight = std::max(inflight, earlier.inflight);
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_BBR3_SHORT_TERM_MODEL_H
