/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FLOW_WINDOW_H
#define TUNNELCC_FLOW_WINDOW_H

#include "spec/quic-spec.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tunnelcc
{

/**
 * Flow control at the receiver, for a stream or a connection (RFC 9000, section 4.1). The window
 * doubles when it is used up quickly (quic-go v0.60.0, flow_controller_base.go).
 */
class FlowWindow
{
  public:
    static constexpr uint64_t UNLIMITED = std::numeric_limits<uint64_t>::max() / 4;

    explicit FlowWindow(const QuicFlowSpec& spec)
        : m_spec(spec),
          m_limit(spec.first > 0 ? spec.first : UNLIMITED)
    {
        SetWindow(spec.first);
    }

    /// The limit that the peer was told: bytes that it may send in the whole run.
    uint64_t Limit() const
    {
        return m_limit;
    }

    uint64_t Window() const
    {
        return m_window;
    }

    /// Bytes read, whole run.
    uint64_t TotalRead() const
    {
        return m_read;
    }

    /// Bytes were read.
    void Read(int64_t now, uint64_t bytes)
    {
        if (m_read == 0)
        {
            m_epochStart = now;
        }
        m_read += bytes;
    }

    /// Whether enough was read to send the peer a new limit.
    bool IsUpdateDue() const
    {
        return m_window > 0 && m_limit - m_read <= m_least;
    }

    /// Choose a new limit. \param rtt smoothed, ns; 0: unknown \returns whether the window was
    /// doubled
    bool Update(int64_t now, int64_t rtt)
    {
        const uint64_t before = m_window;
        Tune(now, rtt);
        m_limit = m_read + m_window;
        return m_window > before;
    }

    /// Make the window at least this large, but no larger than its maximum.
    void Widen(int64_t now, uint64_t least)
    {
        if (least > m_window && m_window > 0)
        {
            SetWindow(std::min(least, m_spec.most));
            StartEpoch(now);
        }
    }

  private:
    void SetWindow(uint64_t window)
    {
        m_window = window;
        m_least = static_cast<uint64_t>(static_cast<double>(window) * (1 - m_spec.update));
    }

    void StartEpoch(int64_t now)
    {
        m_epochStart = now;
        m_epochRead = m_read;
    }

    void Tune(int64_t now, int64_t rtt)
    {
        constexpr double ROUND_TRIPS = 4;
        const auto read = static_cast<double>(m_read - m_epochRead);
        const auto window = static_cast<double>(m_window);
        if (read <= window / 2 || rtt == 0)
        {
            return;
        }
        const auto time = static_cast<double>(now - m_epochStart);
        if (time < ROUND_TRIPS * read / window * static_cast<double>(rtt))
        {
            SetWindow(std::max(m_window, std::min(2 * m_window, m_spec.most)));
        }
        StartEpoch(now);
    }

    const QuicFlowSpec m_spec;
    uint64_t m_window{0}; //!< 0: there is no limit
    uint64_t m_least{0};  //!< with so much of it left, the peer is sent a new limit
    uint64_t m_limit;
    uint64_t m_read{0};
    int64_t m_epochStart{0};
    uint64_t m_epochRead{0}; //!< read before the epoch
};

} // namespace tunnelcc

#endif // TUNNELCC_FLOW_WINDOW_H
