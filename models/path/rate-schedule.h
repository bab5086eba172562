/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RATE_SCHEDULE_H
#define TUNNELCC_RATE_SCHEDULE_H

#include "experiment/experiment-spec.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace tunnelcc
{

/**
 * Rate of a link over time: constant, or in steps known beforehand.
 *
 * A packet in service when the rate changes is served partly at each. Times are in whole
 * nanoseconds and the remainder is carried, so that no rate drifts.
 */
class RateSchedule
{
  public:
    /// \param rate from the beginning, bit/s; 0: unlimited, for ever
    /// \param changes later rates, in order of time
    RateSchedule(double rate, const std::vector<RateChange>& changes)
        : m_initial(rate),
          m_changes(changes),
          m_rate(static_cast<uint64_t>(rate))
    {
    }

    bool IsLimited() const
    {
        return m_rate > 0;
    }

    /**
     * Serve a packet.
     * \param start when its service begins, ns; not before that of the last one ended
     * \param bytes its size
     * \returns when it has left, ns
     */
    int64_t Serve(int64_t start, uint32_t bytes)
    {
        constexpr uint64_t NS_PER_BYTE_AT_1BPS = 8'000'000'000;
        m_work += bytes * NS_PER_BYTE_AT_1BPS;
        auto time = static_cast<int64_t>(m_work / m_rate);
        while (start + time >= NextChange())
        {
            int64_t before = std::max<int64_t>(0, NextChange() - start);
            m_work -= static_cast<uint64_t>(before) * m_rate;
            start += before;
            m_rate = static_cast<uint64_t>(m_changes[m_next++].rate);
            time = static_cast<int64_t>(m_work / m_rate);
        }
        m_work -= static_cast<uint64_t>(time) * m_rate;
        return start + time;
    }

    /// Bytes that could have been served until `now`.
    double OfferedBytes(int64_t now) const
    {
        double bits = 0;
        double rate = m_initial;
        int64_t since = 0;
        for (const RateChange& change : m_changes)
        {
            if (change.time >= now)
            {
                break;
            }
            bits += rate * static_cast<double>(change.time - since) * 1e-9;
            rate = change.rate;
            since = change.time;
        }
        return (bits + rate * static_cast<double>(now - since) * 1e-9) / 8;
    }

  private:
    int64_t NextChange() const
    {
        return m_next < m_changes.size() ? m_changes[m_next].time
                                         : std::numeric_limits<int64_t>::max();
    }

    double m_initial;
    std::vector<RateChange> m_changes;
    size_t m_next{0};   //!< first change that has not been applied
    uint64_t m_rate;    //!< bit/s, where service has got to
    uint64_t m_work{0}; //!< bit·ns/s left over from the packets served
};

} // namespace tunnelcc

#endif // TUNNELCC_RATE_SCHEDULE_H
