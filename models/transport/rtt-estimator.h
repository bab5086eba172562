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
 * Smoothed RTT and retransmission time-out (RFC 6298, section 2), as in Linux
 * (tcp_rtt_estimator()). The variance term is at least the minimum RTO, so that RTO is at least
 * SRTT + 200 ms. It is the largest of a round trip, and decays once a round trip. Where a falling
 * RTT would raise it, the difference counts an eighth.
 */
class RttEstimator
{
  public:
    /// \param minRto floor of the variance term, ns
    explicit RttEstimator(int64_t minRto)
        : m_largest(minRto),
          m_minRto(minRto)
    {
    }

    /**
     * Add a sample, which ends any back-off.
     * \param rtt ns
     * \param una first unacknowledged segment
     * \param nxt next segment to be sent
     */
    void Sample(int64_t rtt, uint64_t una, uint64_t nxt)
    {
        m_backoff = 0;
        if (m_srtt == 0)
        {
            m_srtt = rtt;
            m_deviation = rtt / 2;
            m_variance = m_largest = std::max(4 * m_deviation, m_minRto);
            m_roundEnd = nxt;
            return;
        }
        int64_t error = std::abs(rtt - m_srtt) - m_deviation;
        bool isDamped = rtt < m_srtt && error > 0;
        m_deviation += isDamped ? error / 32 : error / 4; // constants, which cost no division
        m_srtt += (rtt - m_srtt) / 8;
        m_largest = std::max(m_largest, 4 * m_deviation);
        m_variance = std::max(m_variance, m_largest);
        if (una > m_roundEnd)
        {
            m_variance -= (m_variance - m_largest) / 4;
            m_roundEnd = nxt;
            m_largest = m_minRto;
        }
    }

    /// Smoothed RTT, ns; 0 before the first sample.
    int64_t Srtt() const
    {
        return m_srtt;
    }

    /// Retransmission time-out with back-off, ns (at most 120 s, as Linux).
    int64_t Rto() const
    {
        int64_t rto = m_srtt ? m_srtt + m_variance : m_firstRto;
        return std::min(rto << m_backoff, MAX_RTO);
    }

    /// The handshake gave no sample: the first time-out is longer (RFC 6298, rule 5.7).
    void FallBack()
    {
        m_firstRto = FALLBACK_RTO;
    }

    /// Double the time-out (RFC 6298, rule 5.5).
    void BackOff()
    {
        m_backoff = std::min(m_backoff + 1, MAX_BACKOFF);
    }

    /// End the back-off: the time-out is no longer doubled.
    void EndBackOff()
    {
        m_backoff = 0;
    }

    static constexpr int64_t INITIAL_RTO = 1'000'000'000; //!< RFC 6298, rule 2.1
    static constexpr int64_t MAX_RTO = 120'000'000'000;   //!< Linux TCP_RTO_MAX

  private:
    static constexpr int64_t FALLBACK_RTO = 3'000'000'000; //!< Linux TCP_TIMEOUT_FALLBACK
    static constexpr int MAX_BACKOFF = 10;                 //!< reaches MAX_RTO from any RTO

    int64_t m_srtt{0};
    int64_t m_deviation{0}; //!< mean deviation of samples from m_srtt (Linux mdev_us / 4)
    int64_t m_largest;      //!< four deviations, largest of the round trip (mdev_max_us)
    int64_t m_variance{0};  //!< what the time-out adds to m_srtt (rttvar_us)
    uint64_t m_roundEnd{0}; //!< segment whose acknowledgement ends the round trip (rtt_seq)
    int m_backoff{0};
    int64_t m_minRto;
    int64_t m_firstRto{INITIAL_RTO}; //!< before the first sample
};

} // namespace tunnelcc

#endif // TUNNELCC_RTT_ESTIMATOR_H
