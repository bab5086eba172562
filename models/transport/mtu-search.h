/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MTU_SEARCH_H
#define TUNNELCC_MTU_SEARCH_H

#include "spec/tcp-spec.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tunnelcc
{

/**
 * Search for the largest segment that the path carries, without messages of routers (RFC 4821), as
 * Linux 6.18 does: tcp_mtu_probe(), tcp_mtup_probe_success(), tcp_mtup_probe_failed(),
 * tcp_mtu_probing(). A probe is a new segment half way between what is known to arrive and what
 * may.
 *
 * All sizes are bytes of payload. Linux keeps those of packets, which differ by a constant.
 */
class MtuSearch
{
  public:
    explicit MtuSearch(const TcpSpec& spec)
        : m_base(spec.baseMss),
          m_isOn(spec.mtuProbing > 1),
          m_low(std::min(spec.baseMss, spec.mss)),
          m_high(spec.mss)
    {
    }

    bool IsOn() const
    {
        return m_isOn;
    }

    /// Payload of segments that are known to arrive, or are taken to.
    uint32_t Mss() const
    {
        return m_low;
    }

    /// The path carries no more than segments of `mss`.
    void Bound(uint32_t mss)
    {
        m_high = std::min(m_high, mss);
        m_low = std::min(m_low, mss);
    }

    /// Whether there is anything left to try.
    bool IsOver() const
    {
        return m_probe || Next() > m_high || m_high - m_low < THRESHOLD;
    }

    /// Payload of the next probe.
    uint32_t Next() const
    {
        return (m_high + m_low) / 2;
    }

    /// A probe of Next() was sent. \param segment its number
    void OnSent(uint64_t segment)
    {
        m_probe = segment;
        m_size = Next();
    }

    /// Number of the segment that is the probe in flight; none: there is none.
    std::optional<uint64_t> Probe() const
    {
        return m_probe;
    }

    /// Its payload.
    uint32_t Size() const
    {
        return m_size;
    }

    void OnArrived()
    {
        m_low = m_size;
        m_probe.reset();
    }

    void OnLost()
    {
        m_high = m_size - 1;
        m_probe.reset();
    }

    /// Nothing can be said about the probe.
    void Forget()
    {
        m_probe.reset();
    }

    /**
     * A segment is sent again after a time-out, which may be a black hole's.
     * \param isFirst of this segment
     * \returns whether segments are to become smaller
     */
    bool OnTimeout(int64_t now, bool isFirst)
    {
        if (isFirst)
        {
            m_firstTimeout = now;
        }
        if (now - m_firstTimeout < PATIENCE)
        {
            return false;
        }
        if (m_isOn)
        {
            m_low = std::max(std::min(m_base, m_low / 2), LEAST);
        }
        m_isOn = true;
        return true;
    }

  private:
    static constexpr uint32_t THRESHOLD = 8; //!< sysctl tcp_probe_threshold
    static constexpr uint32_t LEAST = 48;    //!< sysctl tcp_mtu_probe_floor, tcp_min_snd_mss
    /// tcp_model_timeout() of sysctl tcp_retries1 = 3: 200 ms · (2 · 2³ − 1).
    static constexpr int64_t PATIENCE = 3'000'000'000;

    const uint32_t m_base;
    bool m_isOn;
    uint32_t m_low;
    uint32_t m_high;
    std::optional<uint64_t> m_probe;
    uint32_t m_size{0};
    int64_t m_firstTimeout{0}; //!< ns
};

} // namespace tunnelcc

#endif // TUNNELCC_MTU_SEARCH_H
