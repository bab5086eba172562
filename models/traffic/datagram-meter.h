/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_METER_H
#define TUNNELCC_DATAGRAM_METER_H

#include "congestion/windowed-max-filter.h"
#include "event/time-units.h"
#include "path/histogram.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace tunnelcc
{

/**
 * Measures the datagrams of a flow that arrive, out of those that were sent since measuring began.
 * Of requests, what arrives is the answer, and the delay is the time until then.
 *
 * Loss is counted as in RTP (RFC 3550, A.3), up to the latest number that arrived: what is still
 * under way at the end of a run is not lost. Jitter is RTP's (RFC 3550, 6.4.1), reordering that of
 * RFC 4737, section 3.
 *
 * A receiver with a playout buffer plays a datagram a fixed time after the one of least delay in
 * the last 10 s would have come. A datagram that comes later than that is late.
 */
class DatagramMeter
{
  public:
    /// \param playout length of the playout buffer, ns; 0: there is none
    explicit DatagramMeter(int64_t playout)
        : m_playout(playout)
    {
    }

    /// Start counting again, from the datagram of this number on.
    void CountFrom(uint32_t first)
    {
        const int64_t firstAt = m_firstAt;
        *this = DatagramMeter(m_playout);
        m_first = first;
        m_next = first;
        m_firstAt = firstAt;
    }

    /**
     * A datagram has arrived, or an answer.
     * \param now simulated time, ns
     * \param number of the datagram, or of its request
     * \param sentAt when that was sent first, ns
     */
    void Record(int64_t now, uint32_t number, int64_t sentAt)
    {
        m_firstAt = m_firstAt < 0 ? now : m_firstAt;
        if (number < m_first)
        {
            return;
        }
        const int64_t delay = now - sentAt;
        ++m_received;
        m_reordered += number < m_next;
        m_next = number < m_next ? m_next : number + 1;
        constexpr double GAIN = 1.0 / 16;
        m_jitter += m_received > 1
                        ? (static_cast<double>(std::abs(delay - m_lastDelay)) - m_jitter) * GAIN
                        : 0;
        m_jitterSum += m_jitter;
        m_lastDelay = delay;
        m_delays.Record(delay);
        m_sampledDelay += delay;
        ++m_sampled;
        if (m_playout > 0)
        {
            RecordPlayout(now, delay);
        }
    }

    uint64_t Received() const
    {
        return m_received;
    }

    /// Those that should have arrived, given the latest that has. \param sent number of the next
    uint64_t Expected(uint32_t sent) const
    {
        return m_received > 0 ? m_next - m_first : sent - m_first;
    }

    /// Arrived after one that was sent later.
    uint64_t Reordered() const
    {
        return m_reordered;
    }

    /// Arrived too late to be played.
    uint64_t Late() const
    {
        return m_late;
    }

    /// Mean time from sending until playing, of those that arrived, ns.
    double PlayDelay() const
    {
        return m_received ? m_playDelaySum / static_cast<double>(m_received) : 0;
    }

    /// Mean over the arrivals of RTP's jitter, ns.
    double Jitter() const
    {
        return m_received ? m_jitterSum / static_cast<double>(m_received) : 0;
    }

    const Histogram& Delays() const
    {
        return m_delays;
    }

    /// Mean delay of those that arrived since the last call, ns; NaN: none did.
    double TakeSample()
    {
        const double mean = static_cast<double>(m_sampledDelay) / static_cast<double>(m_sampled);
        m_sampledDelay = 0;
        m_sampled = 0;
        return mean;
    }

    /// When the first datagram arrived, ns; −1: not yet.
    int64_t FirstTime() const
    {
        return m_firstAt;
    }

  private:
    void RecordPlayout(int64_t now, int64_t delay)
    {
        constexpr uint32_t WINDOW = 10'000; // ms
        const auto time = static_cast<uint32_t>(now / MS);
        if (m_received == 1)
        {
            m_least.Reset(-delay, time);
        }
        else
        {
            m_least.Update(-delay, time, WINDOW);
        }
        const int64_t play = m_playout - m_least.Get();
        m_late += delay > play;
        m_playDelaySum += static_cast<double>(play);
    }

    int64_t m_playout;
    uint32_t m_first{0}; //!< number of the first that counts
    uint32_t m_next{0};  //!< one more than the largest number that arrived
    uint64_t m_received{0};
    uint64_t m_reordered{0};
    uint64_t m_late{0};
    int64_t m_firstAt{-1};
    int64_t m_lastDelay{0};
    double m_jitter{0};
    double m_jitterSum{0};
    double m_playDelaySum{0};
    int64_t m_sampledDelay{0}; //!< sum since the last sample, ns
    uint64_t m_sampled{0};
    Histogram m_delays;
    WindowedMaxFilter<int64_t> m_least; //!< of negative delays
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_METER_H
