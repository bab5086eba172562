/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TOKEN_BUCKET_H
#define TUNNELCC_TOKEN_BUCKET_H

#include "spec/quic-spec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tunnelcc
{

/// Pacing of packets by a token bucket (RFC 9002, section 7.7; quic-go v0.60.0,
/// internal/congestion/pacer.go). The bucket is full at first.
class TokenBucket
{
  public:
    explicit TokenBucket(const QuicPacingSpec& spec)
        : m_spec(spec)
    {
    }

    /// From now on, packets leave at this rate. \param rate bytes/s; 0: they are not paced
    /// \param packet size of a full packet, bytes
    void SetRate(double rate, uint32_t packet)
    {
        m_rate = rate;
        m_packet = packet;
        const double inTime = rate * static_cast<double>(m_spec.burst) * 1e-9;
        m_most = std::max(inTime, static_cast<double>(m_spec.packets) * packet);
    }

    /// When a full packet may leave, ns.
    int64_t NextSend(int64_t now) const
    {
        if (m_rate == 0 || Budget(now) >= m_packet)
        {
            return now;
        }
        const double wait = std::ceil((m_packet - m_budget) * 1e9 / m_rate);
        return m_lastSent + std::max(m_spec.least, static_cast<int64_t>(wait));
    }

    /// A packet of `bytes` leaves.
    void OnSent(int64_t now, uint32_t bytes)
    {
        if (m_rate > 0)
        {
            m_budget = std::max(Budget(now) - bytes, 0.0);
            m_lastSent = now;
        }
    }

  private:
    double Budget(int64_t now) const
    {
        const double added = m_rate * static_cast<double>(now - m_lastSent) * 1e-9;
        return m_lastSent < 0 ? m_most : std::min(m_budget + added, m_most);
    }

    const QuicPacingSpec m_spec;
    double m_rate{0};       //!< bytes/s; 0: packets are not paced
    double m_packet{0};     //!< size of a full packet, bytes
    double m_most{0};       //!< bytes in the bucket if it is full
    int64_t m_lastSent{-1}; //!< ns; −1: never
    double m_budget{0};     //!< bytes in the bucket at m_lastSent
};

} // namespace tunnelcc

#endif // TUNNELCC_TOKEN_BUCKET_H
