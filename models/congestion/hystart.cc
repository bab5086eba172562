/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/hystart.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Allowance for the time that the hosts hold TSO bursts: four of the largest, at most 1 ms.
constexpr double HELD_BYTES = 4. * 65536;
constexpr int64_t MAX_HELD_TIME = MS;

/// Linux's estimate of the sending rate in slow start: 2 · cwnd/RTT (tcp_pacing_ss_ratio).
constexpr double SLOW_START_RATE = 2;

/// A rise by this part of the RTT counts, within the bounds of the parameters.
constexpr int64_t RISE_DIVISOR = 8;

int64_t
GetHeldTime(const SenderState& state)
{
    const double bytes = SLOW_START_RATE * state.cwnd * state.mss;
    const double time = HELD_BYTES * static_cast<double>(state.srtt) / bytes;
    return static_cast<int64_t>(std::min<double>(time, MAX_HELD_TIME));
}

} // namespace

HyStart::HyStart(const Parameters& parameters)
    : m_parameters(parameters)
{
}

void
HyStart::StartRound(const SenderState& state, int64_t now)
{
    m_roundStart = now;
    m_lastTrainAck = now;
    m_roundEnd = state.sndNxt;
    m_roundMinRtt = NEVER;
    m_samples = 0;
}

bool
HyStart::OnRtt(const SenderState& state, int64_t now, int64_t rtt, int64_t minRtt)
{
    if (state.sndUna > m_roundEnd)
    {
        StartRound(state, now);
    }
    if (state.cwnd < m_parameters.lowWindow)
    {
        return false;
    }
    const bool isTrainLong = m_parameters.useAckTrain && FollowTrain(state, now, minRtt);
    const bool isDelayed = m_parameters.useDelay && FollowDelay(rtt, minRtt);
    return isTrainLong || isDelayed;
}

bool
HyStart::FollowTrain(const SenderState& state, int64_t now, int64_t minRtt)
{
    if (now - m_lastTrainAck > m_parameters.ackSpacing)
    {
        return false;
    }
    m_lastTrainAck = now;
    int64_t threshold = minRtt + GetHeldTime(state);
    if (state.pacingRate == 0)
    {
        // Pacing may spread a window over half an RTT; without it the train is the path's doing.
        threshold /= 2;
    }
    return now - m_roundStart > threshold;
}

bool
HyStart::FollowDelay(int64_t rtt, int64_t minRtt)
{
    m_roundMinRtt = std::min(m_roundMinRtt, rtt);
    if (m_samples < m_parameters.minSamples)
    {
        ++m_samples;
        return false;
    }
    const int64_t rise = std::min(std::max(minRtt / RISE_DIVISOR, m_parameters.minDelayRise),
                                  m_parameters.maxDelayRise);
    return m_roundMinRtt > minRtt + rise;
}

} // namespace tunnelcc
