/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SLOW_START_H
#define TUNNELCC_SLOW_START_H

#include "congestion/congestion-control.h"

#include <algorithm>
#include <cstdint>

/**
 * \file
 * Growth of the window that loss-based algorithms share: slow start and additive increase in whole
 * segments (RFC 5681, section 3.1; Linux tcp_cong.c). A stretch ACK counts for each segment that it
 * covers, so there is no limit per ACK as in RFC 3465.
 *
 * The window may grow only while it limited the sender (Linux `tcp_is_cwnd_limited`): in slow start
 * while cwnd < 2 · SenderState::maxPacketsOut, later if it did so in the last window of data. The
 * transport decides that and sets SenderState::isCwndLimited.
 */

namespace tunnelcc
{

/// Grow by the segments delivered, up to ssthresh; returns those left for congestion avoidance.
inline uint32_t
GrowInSlowStart(SenderState& state, uint32_t acked)
{
    const uint32_t cwnd = std::min(state.cwnd + acked, state.ssthresh);
    const uint32_t left = acked - (cwnd - state.cwnd);
    state.cwnd = cwnd;
    return left;
}

/// Grows the window by one segment for every so many segments delivered.
class AdditiveIncrease
{
  public:
    /// Forget the segments counted so far, as a reduction of the window does.
    void Reset()
    {
        m_counted = 0;
    }

    /// Grow as Reno does: in slow start, then by a segment for each window delivered, and only
    /// while the window limits the sender (Linux tcp_reno_cong_avoid()).
    void GrowAsReno(SenderState& state, uint32_t acked)
    {
        if (!state.isCwndLimited)
        {
            return;
        }
        if (state.InSlowStart())
        {
            acked = GrowInSlowStart(state, acked);
        }
        if (acked > 0)
        {
            Grow(state, state.cwnd, acked);
        }
    }

    /// One segment more for each `perSegment` (≥ 1) delivered.
    void Grow(SenderState& state, uint32_t perSegment, uint32_t acked)
    {
        // What was counted towards a larger step is worth one segment at most, not a burst.
        if (m_counted >= perSegment)
        {
            m_counted = 0;
            ++state.cwnd;
        }
        m_counted += acked;
        if (m_counted >= perSegment)
        {
            const uint32_t steps = m_counted / perSegment;
            m_counted -= steps * perSegment;
            state.cwnd += steps;
        }
    }

  private:
    uint32_t m_counted{0};
};

/// Pacing that Linux gives algorithms which set no rate of their own (tcp_update_pacing_rate()).
struct WindowPacing
{
    bool enabled{false};        //!< off, the default without the fq queueing discipline
    double slowStartRatio{2};   //!< sysctl tcp_pacing_ss_ratio, 200 %
    double avoidanceRatio{1.2}; //!< sysctl tcp_pacing_ca_ratio, 120 %

    /// Rate for the present window, bytes/s; 0 before the first RTT sample.
    double GetRate(const SenderState& state) const
    {
        if (state.srtt <= 0)
        {
            return 0;
        }
        const double ratio = state.cwnd < state.ssthresh / 2 ? slowStartRatio : avoidanceRatio;
        // Signed: it takes fewer instructions to make a double of.
        const auto out = static_cast<int64_t>(state.sndNxt - state.sndUna);
        const auto window = std::max<int64_t>(state.cwnd, out);
        return ratio * static_cast<double>(window) * state.mss * 1e9 /
               static_cast<double>(state.srtt);
    }

    /// Set the rate of an algorithm that has none, if it is to be paced.
    void Update(SenderState& state) const
    {
        if (enabled)
        {
            state.pacingRate = GetRate(state);
        }
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_SLOW_START_H
