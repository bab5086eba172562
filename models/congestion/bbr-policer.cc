/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/bbr-policer.h"

#include "event/time-units.h"

#include <cmath>

namespace tunnelcc
{

namespace
{

/// An interval may last this many times its minimum before it is thrown away (Linux: 4).
constexpr double MAX_INTERVAL_FACTOR = 4;

/// Shortest interval that is measured (Linux counts it in milliseconds).
constexpr int64_t MIN_INTERVAL = MS;

} // namespace

BbrPolicer::BbrPolicer(const Parameters& parameters)
    : m_parameters(parameters)
{
}

void
BbrPolicer::Reset(const SenderState& state)
{
    m_rate = 0;
    m_isDetected = false;
    m_isSampling = false;
    StartInterval(state);
}

void
BbrPolicer::StartInterval(const SenderState& state)
{
    m_startTime = state.deliveredTime;
    m_startDelivered = state.delivered;
    m_startLost = state.lost;
    m_rounds = 0;
}

bool
BbrPolicer::Update(const SenderState& state, const Observation& observation, double paceOf)
{
    if (m_isDetected)
    {
        return AgeRate(state, observation);
    }
    if (!m_isSampling)
    {
        // Only the first loss shows that the bucket is empty; the burst before it is no measure.
        if (!observation.isLoss || !m_parameters.enabled)
        {
            return false;
        }
        StartInterval(state);
        m_isSampling = true;
    }
    if (observation.isAppLimited)
    {
        Reset(state);
        return false;
    }
    if (observation.isRoundStart)
    {
        ++m_rounds;
    }
    if (m_rounds < m_parameters.minRounds)
    {
        return false;
    }
    if (m_rounds > MAX_INTERVAL_FACTOR * m_parameters.minRounds)
    {
        Reset(state);
        return false;
    }
    // An interval also ends with a loss, so that both ends find the bucket empty.
    if (observation.isLoss)
    {
        Sample(state, paceOf);
    }
    return false;
}

bool
BbrPolicer::AgeRate(const SenderState& state, const Observation& observation)
{
    if (!observation.isProbeBw || !observation.isRoundStart)
    {
        return false;
    }
    if (++m_rounds < m_parameters.useRounds)
    {
        return false;
    }
    Reset(state);
    return true;
}

void
BbrPolicer::Sample(const SenderState& state, double paceOf)
{
    const auto lost = static_cast<double>(state.lost - m_startLost);
    const auto delivered = static_cast<double>(state.delivered - m_startDelivered);
    const int64_t interval = state.deliveredTime - m_startTime;
    if (delivered == 0 || lost < m_parameters.lossThreshold * delivered || interval < MIN_INTERVAL)
    {
        return;
    }
    EndInterval(state, delivered * 1e9 / static_cast<double>(interval), paceOf);
}

void
BbrPolicer::EndInterval(const SenderState& state, double rate, double paceOf)
{
    if (m_rate > 0)
    {
        const double difference = std::abs(rate - m_rate);
        if (difference <= m_parameters.rateRatio * m_rate ||
            difference * paceOf <= m_parameters.rateDifference)
        {
            m_rate = (rate + m_rate) / 2;
            m_isDetected = true;
            m_rounds = 0;
            return;
        }
    }
    m_rate = rate;
    StartInterval(state);
}

} // namespace tunnelcc
