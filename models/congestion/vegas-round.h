/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_VEGAS_ROUND_H
#define TUNNELCC_VEGAS_ROUND_H

#include "congestion/congestion-control.h"
#include "event/time-units.h"

#include <algorithm>
#include <cstdint>

/**
 * \file
 * What Vegas measures in a round trip (Linux tcp_vegas.c): the least RTT of the round and of the
 * connection, and from these the segments that wait in the queue. As in Linux, the divisor is the
 * connection's least RTT, not the round's.
 */

namespace tunnelcc
{

/// RTTs of a round trip, against the least one.
class VegasRound
{
  public:
    /// Forget the least RTT and begin a round.
    void Reset(const SenderState& state)
    {
        m_baseRtt = NEVER;
        Begin(state);
    }

    void Begin(const SenderState& state)
    {
        m_end = state.sndNxt;
        m_samples = 0;
        m_rtt = NEVER;
    }

    /// A segment was acknowledged. \param rtt round-trip time, ns
    void OnRtt(int64_t rtt)
    {
        const int64_t positive = rtt + US; // as in the kernel; on a loopback it may be 0
        m_baseRtt = std::min(m_baseRtt, positive);
        m_rtt = std::min(m_rtt, positive);
        ++m_samples;
    }

    bool IsOver(const SenderState& state) const
    {
        return state.sndUna > m_end;
    }

    /// Whether all samples may be of delayed ACKs, as no more than two may.
    bool HasFewSamples() const
    {
        return m_samples <= FEW_SAMPLES;
    }

    /// Segments of a window that wait in the queue.
    int64_t Waiting(uint32_t cwnd) const
    {
        return static_cast<int64_t>(cwnd) * (m_rtt - m_baseRtt) / m_baseRtt;
    }

    /// Window that would leave the queue empty at the round's rate, segments.
    uint32_t Target(uint32_t cwnd) const
    {
        return static_cast<uint32_t>(static_cast<int64_t>(cwnd) * m_baseRtt / m_rtt);
    }

    /// Least RTT since the connection was last idle (baseRTT), ns; NEVER before a sample.
    int64_t GetBaseRtt() const
    {
        return m_baseRtt;
    }

  private:
    static constexpr uint32_t FEW_SAMPLES = 2;

    uint64_t m_end{0};        //!< segment whose ACK ends the round
    int64_t m_baseRtt{NEVER}; //!< ns
    int64_t m_rtt{NEVER};     //!< least RTT of the round, ns
    uint32_t m_samples{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_VEGAS_ROUND_H
