/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RTT_ESTIMATOR_H
#define TUNNELCC_RTT_ESTIMATOR_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tunnelcc
{

/**
 * Smoothed RTT and retransmission time-out, RFC 6298 section 2, with Linux's floor: the variance
 * term, not the sum, is at least the minimum RTO, so that RTO >= SRTT + 200 ms.
 *
 * Left out: Linux's per-round maximum of the deviation and its damping of falling RTTs.
 */
class RttEstimator
{
  public:
    /// \param minRto floor of the variance term, ns
    explicit RttEstimator(int64_t minRto)
        : m_minRto(minRto)
    {
    }

    /// Take a sample, ns. Ends any back-off.
    void Sample(int64_t rtt)
    {
        if (m_srtt == 0)
        {
            m_srtt = rtt;
            m_rttvar = rtt / 2;
        }
        else
        {
            m_rttvar += (std::abs(m_srtt - rtt) - m_rttvar) / 4;
            m_srtt += (rtt - m_srtt) / 8;
        }
        m_backoff = 0;
    }

    /// Smoothed RTT, ns; 0 before the first sample.
    int64_t Srtt() const
    {
        return m_srtt;
    }

    /// Retransmission time-out with back-off, ns (at most 120 s, as Linux).
    int64_t Rto() const
    {
        int64_t rto = m_srtt ? m_srtt + std::max(m_minRto, 4 * m_rttvar) : INITIAL_RTO;
        return std::min(rto << m_backoff, MAX_RTO);
    }

    /// Double the time-out (RFC 6298, rule 5.5).
    void BackOff()
    {
        m_backoff = std::min(m_backoff + 1, MAX_BACKOFF);
    }

    /// Take the doublings back.
    void EndBackOff()
    {
        m_backoff = 0;
    }

    static constexpr int64_t INITIAL_RTO = 1'000'000'000; //!< RFC 6298, rule 2.1
    static constexpr int64_t MAX_RTO = 120'000'000'000;   //!< Linux TCP_RTO_MAX

  private:
    static constexpr int MAX_BACKOFF = 10; //!< reaches MAX_RTO from any RTO

    int64_t m_minRto;
    int64_t m_srtt{0};
    int64_t m_rttvar{0};
    int m_backoff{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_RTT_ESTIMATOR_H
