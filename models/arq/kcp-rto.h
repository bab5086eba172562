/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_RTO_H
#define TUNNELCC_KCP_RTO_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tunnelcc
{

/// KCP's estimate of the round-trip time and the time-out that follows from it, in whole ms
/// (kcp-go, update_ack()).
class KcpRto
{
  public:
    /// \param nodelay as KcpSpec::nodelay  \param interval between flushes by the clock, ms
    KcpRto(bool nodelay, uint32_t interval)
        : m_least(nodelay ? LEAST_NODELAY : LEAST),
          m_interval(static_cast<int32_t>(interval))
    {
    }

    /// Add a sample, ms.
    void Sample(uint32_t rtt)
    {
        auto sample = static_cast<int32_t>(rtt);
        if (m_srtt == 0)
        {
            m_srtt = sample;
            m_variation = sample >> 1;
        }
        else
        {
            int32_t delta = sample - m_srtt;
            m_srtt += delta >> 3;
            // A sample far below the mean says little about how late one may be. Shifts round down.
            bool isFarBelow = sample < m_srtt - m_variation;
            m_variation += (std::abs(delta) - m_variation) >> (isFarBelow ? 5 : 2);
        }
        int32_t timeout = m_srtt + std::max(m_interval, m_variation << 2);
        m_timeout = std::clamp(timeout, m_least, MOST);
    }

    /// Time-out of a segment sent now, ms.
    uint32_t Timeout() const
    {
        return static_cast<uint32_t>(m_timeout);
    }

    /// Smoothed round-trip time, ms; 0: there was no sample.
    uint32_t Srtt() const
    {
        return static_cast<uint32_t>(m_srtt);
    }

  private:
    static constexpr int32_t LEAST = 100;        //!< IKCP_RTO_MIN, ms
    static constexpr int32_t LEAST_NODELAY = 30; //!< IKCP_RTO_NDL, ms
    static constexpr int32_t FIRST = 200;        //!< IKCP_RTO_DEF, ms
    static constexpr int32_t MOST = 60'000;      //!< IKCP_RTO_MAX, ms

    const int32_t m_least;
    const int32_t m_interval;
    int32_t m_srtt{0};
    int32_t m_variation{0};
    int32_t m_timeout{FIRST};
};

} // namespace tunnelcc

#endif // TUNNELCC_KCP_RTO_H
