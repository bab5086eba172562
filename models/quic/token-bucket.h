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

    /// When a full packet may leave, ns. \param rate bytes/s  \param packet size of a full packet,
    /// bytes
    int64_t NextSend(int64_t now, double rate, uint32_t packet) const
    {
        if (Budget(now, rate, packet) >= packet)
        {
            return now;
        }
        const double wait = std::ceil((packet - m_budget) * 1e9 / rate);
        return m_lastSent + std::max(m_spec.least, static_cast<int64_t>(wait));
    }

    /// A packet of `bytes` leaves. \param rate,packet as above
    void OnSent(int64_t now, uint32_t bytes, double rate, uint32_t packet)
    {
        m_budget = std::max(Budget(now, rate, packet) - bytes, 0.0);
        m_lastSent = now;
    }

  private:
    double Budget(int64_t now, double rate, uint32_t packet) const
    {
        const double inTime = rate * static_cast<double>(m_spec.burst) * 1e-9;
        const double most = std::max(inTime, static_cast<double>(m_spec.packets) * packet);
        const double added = rate * static_cast<double>(now - m_lastSent) * 1e-9;
        return m_lastSent < 0 ? most : std::min(m_budget + added, most);
    }

    const QuicPacingSpec m_spec;
    int64_t m_lastSent{-1}; //!< ns; −1: never
    double m_budget{0};     //!< bytes in the bucket at m_lastSent
};

} // namespace tunnelcc

#endif // TUNNELCC_TOKEN_BUCKET_H
