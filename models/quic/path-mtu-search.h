/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PATH_MTU_SEARCH_H
#define TUNNELCC_PATH_MTU_SEARCH_H

#include "spec/quic-spec.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tunnelcc
{

/**
 * Binary search for the largest packet that the path carries (RFC 8899; quic-go v0.60.0,
 * mtu_discoverer.go). A lost probe may have been too large, or lost by chance: the search stays
 * below a size only after it has lost three probes of that size or less.
 */
class PathMtuSearch
{
  public:
    /// \param spec sizes of packets  \param end the end that sends them
    PathMtuSearch(const QuicPacketsSpec& spec, End end)
        : m_spec(spec),
          m_size(spec.first[end])
    {
        m_lost.fill(0);
        m_lost[0] = spec.most;
        Conclude();
    }

    /// Size of the largest packet that is known to arrive, bytes of UDP payload.
    uint32_t Size() const
    {
        return m_size;
    }

    /// The handshake is over.
    void Start(int64_t now)
    {
        m_lastProbe = now;
    }

    /// Whether a probe is to be sent now. \param rtt smoothed RTT, ns
    bool IsDue(int64_t now, int64_t rtt) const
    {
        return !m_isDone && m_lastProbe >= 0 && m_probe == 0 &&
               now >= m_lastProbe + static_cast<int64_t>(m_spec.wait * static_cast<double>(rtt));
    }

    /// Begin a probe. \returns its size
    uint32_t Begin(int64_t now)
    {
        m_lastProbe = now;
        m_probe = (m_size + (m_wasLost ? m_lost[0] : Most())) / 2;
        return m_probe;
    }

    /// The probe has arrived.
    void OnAcked()
    {
        m_size = m_probe;
        m_probe = 0;
        m_wasLost = false;
        // Losses of smaller packets were by chance. The last one left is the bound.
        while (m_lost[0] != 0 && m_lost[0] < m_size)
        {
            std::rotate(m_lost.begin(), m_lost.begin() + 1, m_lost.end());
            m_lost.back() = 0;
        }
        Conclude();
    }

    void OnLost()
    {
        m_wasLost = true;
        for (size_t i = 0; i < m_lost.size(); ++i)
        {
            if (m_lost[i] == 0 || m_probe < m_lost[i])
            {
                std::copy_backward(m_lost.begin() + static_cast<ptrdiff_t>(i),
                                   m_lost.end() - 1,
                                   m_lost.end());
                m_lost[i] = m_probe;
                break;
            }
        }
        m_probe = 0;
        Conclude();
    }

  private:
    static constexpr size_t LOSSES = 3; //!< maxLostMTUProbes

    /// Upper bound of the sizes that are tried: the largest of three lost probes.
    uint32_t Most() const
    {
        return *std::max_element(m_lost.begin(), m_lost.end());
    }

    /// See whether there is nothing left to search.
    void Conclude()
    {
        m_isDone = Most() <= m_size + m_spec.step + 1;
    }

    const QuicPacketsSpec m_spec;
    uint32_t m_size;
    uint32_t m_probe{0};                   //!< size of the probe in flight; 0: none
    std::array<uint32_t, LOSSES> m_lost{}; //!< sizes of the smallest lost probes, in order; 0: none
    bool m_wasLost{false};                 //!< the latest probe was lost
    bool m_isDone{false};
    int64_t m_lastProbe{-1}; //!< time of the latest probe, or of Start(), ns; −1: none
};

} // namespace tunnelcc

#endif // TUNNELCC_PATH_MTU_SEARCH_H
