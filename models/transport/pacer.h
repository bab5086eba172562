/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACER_H
#define TUNNELCC_PACER_H

#include "congestion/congestion-control.h"

#include <algorithm>
#include <cstdint>

namespace tunnelcc
{

/**
 * TCP-internal pacing as in Linux (tcp_update_skb_after_send(), tcp_tso_autosize()): bursts of
 * about one quantum of time at the pacing rate (longer at small RTTs), then a pause for as long as
 * the burst lasts at that rate. A burst that comes late makes up for at most half of its own
 * duration. The first ten segments of a connection are not paced. Rates count payload bytes.
 */
class Pacer
{
  public:
    /// Most payload of a burst (Linux GSO_MAX_SIZE less headers).
    static constexpr uint32_t MAX_BURST_BYTES = 65536 - 320;

    /// \param quantum duration of a burst, ns; 0: one segment each
    /// \param rttStep a burst has MAX_BURST_BYTES more, halved for each of these times in the least
    /// RTT, ns; 0: it has not
    /// \param mss payload of a full segment, bytes
    Pacer(int64_t quantum, int64_t rttStep, uint32_t mss)
        : m_quantum(quantum),
          m_rttStep(rttStep),
          m_mss(mss),
          m_mostSegments(std::max(MAX_BURST_BYTES / mss, 1U))
    {
    }

    /// Segments have another payload from now on, bytes.
    void SetMss(uint32_t mss)
    {
        m_mss = mss;
        m_mostSegments = std::max(MAX_BURST_BYTES / mss, 1U);
    }

    /// Whether pacing applies. \param segmentsSent by the connection so far
    static bool IsOn(const SenderState& state, uint64_t segmentsSent)
    {
        return state.pacingRate > 0 && segmentsSent >= UNPACED_SEGMENTS;
    }

    /// Earliest time of the next burst, ns.
    int64_t NextSend() const
    {
        return m_nextSend;
    }

    /// Most segments of a burst at `rate` payload bytes/s and a least RTT of `minRtt` ns.
    uint32_t BurstSegments(double rate, int64_t minRtt, uint32_t minSegments) const
    {
        if (m_quantum == 0)
        {
            return 1;
        }
        const double most = MAX_BURST_BYTES;
        double bytes = rate * static_cast<double>(m_quantum) * 1e-9;
        if (minRtt < MAX_RTT_STEPS * m_rttStep)
        {
            bytes += MAX_BURST_BYTES >> (minRtt / m_rttStep);
        }
        bytes = std::min(bytes, most);
        uint32_t segments = std::max(static_cast<uint32_t>(bytes / m_mss), minSegments);
        return std::min(m_mostSegments, segments);
    }

    /// A burst of `bytes` of payload was sent.
    void OnBurst(int64_t now, uint64_t bytes, double pacingRate)
    {
        auto duration = static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / pacingRate);
        int64_t late = std::max<int64_t>(0, now - m_nextSend);
        m_nextSend = now + duration - std::min(duration / 2, late);
    }

  private:
    static constexpr uint64_t UNPACED_SEGMENTS = 10; //!< Linux tcp_update_skb_after_send()

    static constexpr int64_t MAX_RTT_STEPS = 16; //!< of which less than a byte is left

    int64_t m_quantum;
    int64_t m_rttStep;
    uint32_t m_mss;
    uint32_t m_mostSegments; //!< of a burst
    int64_t m_nextSend{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PACER_H
