/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ROUND_TRIP_H
#define TUNNELCC_ROUND_TRIP_H

#include "congestion/congestion-control.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tunnelcc
{

/// Estimates of the round-trip time (RFC 9002, section 5). Times in ns.
class RoundTrip
{
  public:
    /// Add a sample. \param rtt the latest RTT  \param ackDelay the ACK delay that the peer told
    void Sample(int64_t rtt, int64_t ackDelay)
    {
        m_latest = rtt;
        m_least = std::min(m_least, rtt);
        if (m_smoothed == 0)
        {
            m_smoothed = rtt;
            m_variation = rtt / 2;
            return;
        }
        // The peer's delay counts only as far as the least RTT allows it.
        const int64_t adjusted = rtt >= m_least + ackDelay ? rtt - ackDelay : rtt;
        m_variation = (3 * m_variation + std::abs(m_smoothed - adjusted)) / 4;
        m_smoothed = (7 * m_smoothed + adjusted) / 8;
    }

    bool HasSample() const
    {
        return m_smoothed > 0;
    }

    int64_t Latest() const
    {
        return m_latest;
    }

    /// smoothed_rtt; 0 before a sample.
    int64_t Smoothed() const
    {
        return m_smoothed;
    }

    /// rttvar.
    int64_t Variation() const
    {
        return m_variation;
    }

    /// min_rtt; NEVER before a sample.
    int64_t Least() const
    {
        return m_least;
    }

  private:
    int64_t m_latest{0};
    int64_t m_smoothed{0};
    int64_t m_variation{0};
    int64_t m_least{NEVER};
};

} // namespace tunnelcc

#endif // TUNNELCC_ROUND_TRIP_H
