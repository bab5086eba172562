/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/hystart-plus-plus.h"

#include "event/time-units.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

// RFC 9406, section 4.3
constexpr int64_t MIN_RTT_THRESHOLD = 4 * MS;
constexpr int64_t MAX_RTT_THRESHOLD = 16 * MS;
constexpr int64_t MIN_RTT_DIVISOR = 8;
constexpr uint32_t RTT_SAMPLES = 8;   //!< N_RTT_SAMPLE
constexpr uint32_t UNPACED_LIMIT = 8; //!< L, segments per ACK; paced senders have none

} // namespace

std::string
HyStartPlusPlus::DescribeConstants()
{
    const auto milliseconds = [](int64_t time) { return std::to_string(time / MS) + " ms"; };
    return "MIN_RTT_THRESH " + milliseconds(MIN_RTT_THRESHOLD) + ", MAX_RTT_THRESH " +
           milliseconds(MAX_RTT_THRESHOLD) + ", MIN_RTT_DIVISOR " +
           std::to_string(MIN_RTT_DIVISOR) + ", N_RTT_SAMPLE " + std::to_string(RTT_SAMPLES) +
           ", L " + std::to_string(UNPACED_LIMIT) + " (paced: none)";
}

void
HyStartPlusPlus::Reset(const SenderState& state)
{
    *this = HyStartPlusPlus(m_parameters);
    m_roundEnd = state.sndNxt;
}

bool
HyStartPlusPlus::OnRtt(const SenderState& state, int64_t rtt)
{
    if (state.sndUna > m_roundEnd && EndRound(state))
    {
        return true;
    }
    m_minRtt = std::min(m_minRtt, rtt);
    if (++m_samples >= RTT_SAMPLES)
    {
        CheckDelay();
    }
    return false;
}

bool
HyStartPlusPlus::EndRound(const SenderState& state)
{
    m_roundEnd = state.sndNxt;
    m_lastMinRtt = m_minRtt;
    m_minRtt = NEVER;
    m_samples = 0;
    return m_isConservative && ++m_rounds >= m_parameters.rounds;
}

void
HyStartPlusPlus::CheckDelay()
{
    if (m_isConservative)
    {
        m_isConservative = m_minRtt >= m_baseline;
        return;
    }
    if (m_lastMinRtt == NEVER)
    {
        return;
    }
    const int64_t threshold =
        std::clamp(m_lastMinRtt / MIN_RTT_DIVISOR, MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
    if (m_minRtt >= m_lastMinRtt + threshold)
    {
        m_baseline = m_minRtt;
        m_isConservative = true;
        m_rounds = 0;
    }
}

uint32_t
HyStartPlusPlus::LimitGrowth(const SenderState& state, uint32_t acked)
{
    if (state.pacingRate == 0)
    {
        acked = std::min(acked, UNPACED_LIMIT);
    }
    if (!m_isConservative)
    {
        return acked;
    }
    m_remainder += acked;
    const uint32_t growth = m_remainder / m_parameters.growthDivisor;
    m_remainder -= growth * m_parameters.growthDivisor;
    return growth;
}

} // namespace tunnelcc
