/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ACK_AGGREGATION_H
#define TUNNELCC_ACK_AGGREGATION_H

#include <algorithm>
#include <array>
#include <cstdint>

/**
 * \file
 * How far ACKs arrive in clumps: the data acknowledged beyond what the bandwidth estimate explains
 * (Linux tcp_bbr.c `extra_acked`; draft-cardwell-ccwg-bbr, "ACK aggregation").
 *
 * The maximum is kept in two halves of a window that is counted in rounds, so that it covers the
 * last k to 2k round trips.
 */

namespace tunnelcc
{

/// Windowed maximum of segments acknowledged in excess of the expected rate.
class AckAggregation
{
  public:
    /// Segments in an epoch after which it starts anew, however the rate compares (Linux: 1 << 20).
    static constexpr uint32_t MAX_EPOCH_SEGMENTS = 1U << 20;

    /// Forget the maxima and start an epoch.
    void Reset(int64_t now)
    {
        *this = AckAggregation();
        m_epochStart = now;
    }

    /// Start an epoch and keep the maxima.
    void StartEpoch(int64_t now)
    {
        m_epochStart = now;
        m_epochAcked = 0;
    }

    /// A round trip ended; after `window` of them the older half of the maxima is dropped.
    void EndRound(uint32_t window)
    {
        if (++m_rounds >= window)
        {
            m_rounds = 0;
            m_current ^= 1U;
            m_maximum[m_current] = 0;
        }
    }

    /**
     * \param now when the segments were delivered, ns
     * \param acked segments newly delivered
     * \param bandwidth estimate, segments/s
     * \param cwnd no excess beyond the window is believed, segments
     */
    void OnDelivered(int64_t now, uint32_t acked, double bandwidth, uint32_t cwnd)
    {
        auto expected =
            static_cast<uint64_t>(bandwidth * 1e-9 * static_cast<double>(now - m_epochStart));
        if (m_epochAcked <= expected || m_epochAcked + acked >= MAX_EPOCH_SEGMENTS)
        {
            StartEpoch(now);
            expected = 0;
        }
        m_epochAcked = std::min(m_epochAcked + acked, MAX_EPOCH_SEGMENTS - 1);
        const auto extra = static_cast<uint32_t>(m_epochAcked - expected);
        m_maximum[m_current] = std::max(m_maximum[m_current], std::min(extra, cwnd));
    }

    /// Most segments acknowledged in excess, over the window.
    uint32_t GetExtraAcked() const
    {
        return std::max(m_maximum[0], m_maximum[1]);
    }

  private:
    int64_t m_epochStart{0};
    uint32_t m_epochAcked{0};
    uint32_t m_rounds{0};
    uint32_t m_current{0};
    std::array<uint32_t, 2> m_maximum{};
};

} // namespace tunnelcc

#endif // TUNNELCC_ACK_AGGREGATION_H
