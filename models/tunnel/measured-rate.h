/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MEASURED_RATE_H
#define TUNNELCC_MEASURED_RATE_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tunnelcc
{

/**
 * The rate that one end gives a route, by what of it arrives: after glorytun's mud c426cef
 * (mud_update_window()).
 *
 * Each probe says how much had arrived when it came, and when that was. If two probes came further
 * apart than they were sent, by more than an eighth, the route is full: its rate becomes 7/8 of
 * what arrived between the two. Otherwise it grows by a tenth, up to the most that it may be.
 */
class MeasuredRate
{
  public:
    /// \param most what it begins with, and never exceeds, bytes/s
    explicit MeasuredRate(double most)
        : m_most(most),
          m_rate(most)
    {
    }

    /// A probe leaves. \returns its number
    uint32_t OnSent(int64_t now)
    {
        m_probes[m_next % KEPT] = {m_next, false, now, 0, 0};
        return m_next++;
    }

    /// It came to the other end. \param arrived bytes that had come over the route by then
    void OnArrived(int64_t now, uint32_t number, uint64_t arrived)
    {
        Probe& probe = m_probes[number % KEPT];
        if (probe.number == number)
        {
            probe.hasArrived = true;
            probe.arrivedAt = now;
            probe.arrived = arrived;
        }
    }

    /// The other end's answer to it came back.
    void OnAnswer(uint32_t number)
    {
        const Probe& probe = m_probes[number % KEPT];
        if (probe.number != number || !probe.hasArrived ||
            (m_last.hasArrived &&
             (probe.sentAt <= m_last.sentAt || probe.arrivedAt <= m_last.arrivedAt ||
              probe.arrived <= m_last.arrived)))
        {
            return;
        }
        if (m_last.hasArrived)
        {
            constexpr double SECOND_NS = 1e9;
            const int64_t sent = probe.sentAt - m_last.sentAt;
            const int64_t came = probe.arrivedAt - m_last.arrivedAt;
            const auto bytes = static_cast<double>(probe.arrived - m_last.arrived);
            m_rate = came > sent + sent / 8
                         ? 7.0 / 8 * bytes * SECOND_NS / static_cast<double>(came)
                         : 1.1 * m_rate;
            m_rate = std::min(m_rate, m_most);
        }
        m_last = probe;
    }

    /// bytes/s
    double Rate() const
    {
        return m_rate;
    }

  private:
    struct Probe
    {
        uint32_t number;
        bool hasArrived;
        int64_t sentAt;    //!< ns
        int64_t arrivedAt; //!< ns
        uint64_t arrived;  //!< bytes
    };

    static constexpr size_t KEPT = 128; //!< probes whose answers may still come

    const double m_most;
    double m_rate;
    uint32_t m_next{0};
    std::array<Probe, KEPT> m_probes{};
    Probe m_last{}; //!< the latest with an answer
};

} // namespace tunnelcc

#endif // TUNNELCC_MEASURED_RATE_H
