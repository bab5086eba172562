/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RATE_SCHEDULE_H
#define TUNNELCC_RATE_SCHEDULE_H

#include "event/time-units.h"
#include "spec/path-spec.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace tunnelcc
{

/**
 * The rate of a link over time: constant, or in given steps, which may repeat.
 *
 * If the rate changes while a packet is in service, each part of the packet is served at the rate
 * of its time. At a rate of 0 it waits. Times are whole nanoseconds. The remainder is carried over,
 * so the mean rate is exact.
 */
class RateSchedule
{
  public:
    explicit RateSchedule(const LinkSpec& spec)
        : m_changes(spec.rateSteps),
          m_period(spec.ratePeriod),
          m_initial(spec.rate),
          m_rate(static_cast<uint64_t>(spec.rate)),
          m_isLimited(m_initial > 0 || !m_changes.empty()),
          m_isSteady(m_changes.empty() && m_rate > 0)
    {
        double rate = m_initial;
        double bits = 0;
        int64_t since = 0;
        for (const RateStep& change : m_changes)
        {
            bits += Bits(rate, change.time - since);
            m_bitsBefore.push_back(bits);
            rate = change.rate;
            since = change.time;
        }
    }

    bool IsLimited() const
    {
        return m_isLimited;
    }

    /**
     * Serve a packet.
     * \param start when its service begins, ns; not before the service of the last packet ended
     * \param bytes its size
     * \returns the time at which it has left, ns
     */
    int64_t Serve(int64_t start, uint32_t bytes)
    {
        return m_isSteady ? start + ServeSteadily(bytes) : ServeVaried(start, bytes);
    }

    /// Bytes that the link could have served until `now`, ns.
    double OfferedBytes(int64_t now) const
    {
        double bits = 0;
        if (m_period > 0)
        {
            const int64_t periods = now / m_period;
            bits = static_cast<double>(periods) * m_bitsBefore.back();
            now %= m_period;
        }
        auto isBefore = [](const RateStep& change, int64_t time) { return change.time < time; };
        auto next = std::lower_bound(m_changes.begin(), m_changes.end(), now, isBefore);
        if (next == m_changes.begin())
        {
            return (bits + Bits(m_initial, now)) / 8;
        }
        auto last = next - 1;
        bits += m_bitsBefore[last - m_changes.begin()];
        return (bits + Bits(last->rate, now - last->time)) / 8;
    }

    /// Bytes of a packet that are not yet served at `now`. Its service is from `start` to `end`,
    /// ns.
    double BytesLeft(uint32_t bytes, int64_t now, int64_t start, int64_t end) const
    {
        if (m_changes.empty())
        {
            return bytes * static_cast<double>(end - now) / static_cast<double>(end - start);
        }
        double all = OfferedBytes(end) - OfferedBytes(start);
        return all > 0 ? bytes * (OfferedBytes(end) - OfferedBytes(now)) / all : 0;
    }

  private:
    static constexpr uint64_t NS_PER_BYTE_AT_1BPS = 8'000'000'000;

    /// Time of service at a constant rate, ns. A packet of the same size as the one before needs no
    /// division.
    int64_t ServeSteadily(uint32_t bytes)
    {
        if (bytes != m_steadyBytes)
        {
            const uint64_t work = bytes * NS_PER_BYTE_AT_1BPS;
            m_steadyBytes = bytes;
            m_steadyTime = static_cast<int64_t>(work / m_rate);
            m_steadyRest = work % m_rate;
        }
        m_work += m_steadyRest;
        const bool isCarried = m_work >= m_rate;
        m_work -= isCarried ? m_rate : 0;
        return m_steadyTime + isCarried;
    }

    int64_t ServeVaried(int64_t start, uint32_t bytes)
    {
        m_work += bytes * NS_PER_BYTE_AT_1BPS;
        int64_t time = TimeLeft();
        while (start + time >= NextChange())
        {
            int64_t before = std::max<int64_t>(0, NextChange() - start);
            m_work -= static_cast<uint64_t>(before) * m_rate;
            start += before;
            Change();
            time = TimeLeft();
        }
        m_work -= static_cast<uint64_t>(time) * m_rate;
        return start + time;
    }

    /// Bits in `time` ns at `rate` bit/s.
    static double Bits(double rate, int64_t time)
    {
        return rate * static_cast<double>(time) * 1e-9;
    }

    /// Time that the rest of the work takes at the present rate, ns; at a rate of 0, longer than
    /// any simulation.
    int64_t TimeLeft() const
    {
        return m_rate > 0 ? static_cast<int64_t>(m_work / m_rate) : NEVER;
    }

    /// When the rate changes next, ns; if it does not, later than any end of service.
    int64_t NextChange() const
    {
        return m_next < m_changes.size() ? m_begin + m_changes[m_next].time
                                         : std::numeric_limits<int64_t>::max();
    }

    void Change()
    {
        m_rate = static_cast<uint64_t>(m_changes[m_next++].rate);
        if (m_next == m_changes.size() && m_period > 0)
        {
            m_next = 0;
            m_begin += m_period;
        }
    }

    std::vector<RateStep> m_changes;
    std::vector<double> m_bitsBefore; //!< bits that could have been served until each change
    int64_t m_period;
    double m_initial;
    size_t m_next{0};   //!< first change that has not been applied
    int64_t m_begin{0}; //!< begin of the present period, ns
    uint64_t m_rate;    //!< the present rate, bit/s
    uint64_t m_work{0}; //!< remainder of the packets served so far, bit·ns/s

    const bool m_isLimited;
    const bool m_isSteady;     //!< the rate never changes
    uint32_t m_steadyBytes{0}; //!< size of the latest packet at a constant rate
    int64_t m_steadyTime{0};   //!< time of its service, ns
    uint64_t m_steadyRest{0};  //!< its remainder, bit·ns/s
};

} // namespace tunnelcc

#endif // TUNNELCC_RATE_SCHEDULE_H
