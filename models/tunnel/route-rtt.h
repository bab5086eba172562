/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ROUTE_RTT_H
#define TUNNELCC_ROUTE_RTT_H

#include "event/time-units.h"

#include <cmath>
#include <cstdint>

namespace tunnelcc
{

/**
 * The RTT over a route, which each end measures with the packets of both, after MLVPN b934d49
 * (mlvpn.c, mlvpn_rtun_send() and mlvpn_protocol_read()): a packet has the time at which it was
 * sent, and once for each stamp that came, that stamp, later by how long it was held. Only stamps
 * of the last second go back. The average gains an eighth of a sample, the variation a quarter.
 *
 * MLVPN counts in whole ms.
 */
class RouteRtt
{
  public:
    /// What a packet carries.
    struct Stamps
    {
        int64_t sent{0};      //!< ns
        int64_t echoed{NONE}; //!< ns
    };

    /// \param now ns  \returns the stamps of a packet that is sent
    Stamps Stamp(int64_t now)
    {
        const bool isFresh = m_stamp != NONE && now - m_stampCame < 1000 * MS;
        const Stamps stamps{now, isFresh ? m_stamp + (now - m_stampCame) : NONE};
        m_stamp = isFresh ? NONE : m_stamp;
        return stamps;
    }

    /// A packet came. \returns whether the RTT is known better
    bool OnArrival(int64_t now, const Stamps& stamps)
    {
        m_stamp = stamps.sent;
        m_stampCame = now;
        const int64_t sample = stamps.echoed == NONE ? NEVER : now - stamps.echoed;
        if (sample >= 5000 * MS)
        {
            return false; // there was none, or its sender stood still
        }
        if (m_smoothed == 0)
        {
            m_smoothed = static_cast<double>(sample);
            m_variation = m_smoothed / 2;
            return true;
        }
        m_variation += (std::fabs(m_smoothed - static_cast<double>(sample)) - m_variation) / 4;
        m_smoothed += (static_cast<double>(sample) - m_smoothed) / 8;
        return true;
    }

    /// The average with four times the variation, ns; 0: nothing was measured.
    int64_t Longest() const
    {
        return static_cast<int64_t>(m_smoothed + 4 * m_variation);
    }

  private:
    static constexpr int64_t NONE = INT64_MIN;

    int64_t m_stamp{NONE};  //!< that goes back with the next packet, ns
    int64_t m_stampCame{0}; //!< ns
    double m_smoothed{0};   //!< ns
    double m_variation{0};  //!< ns
};

/// The longest RTT over several routes.
class LongestRtt
{
  public:
    virtual ~LongestRtt() = default;

    /// \param rtt ns
    virtual void Set(int64_t rtt) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_ROUTE_RTT_H
