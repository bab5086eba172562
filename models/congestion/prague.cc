/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/prague.h"

#include "congestion/slow-start.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

/// Least window, segments (Linux MIN_CWND_RTT).
constexpr uint32_t PRAGUE_MIN_CWND = 2;

/// Least pacing rate, bytes/s (Linux MINIMUM_RATE, 100 kbit/s).
constexpr double PRAGUE_MIN_RATE = 12'500;

/// Headers of a segment, bytes: IPv4, and TCP with timestamps.
constexpr double HEADER_BYTES = 52;

/// Packet that the window grows by each target RTT, bytes (Linux MTU_SYS).
constexpr double GROWTH_BYTES = 1'500;

/// Longest RTT of which growth depends, ns (Linux MAX_SCALED_RTT).
constexpr int64_t MAX_SCALED_RTT = 100'000'000;

} // namespace

const CongestionParameterTable<PragueParameters>&
Prague::GetParameterTable()
{
    using P = PragueParameters;
    static const CongestionParameterTable<P> table{
        {&P::gain,
         "gain",
         "",
         1e-4,
         1,
         "weight of a round trip in alpha",
         "tcp_prague.c PRAGUE_SHIFT_G"},
        {&P::rttTarget,
         "rtt_target",
         "s",
         0,
         1,
         "shorter RTTs grow and shrink as slowly as this one",
         "tcp_prague.c RTT_TARGET"},
        {&P::rttTransition,
         "rtt_transition",
         "rounds",
         0,
         1e6,
         "round trips after slow start until rtt_target applies",
         "tcp_prague.c DEFAULT_RTT_TRANSITION"},
        {&P::burst,
         "burst",
         "s",
         0,
         1,
         "longest burst of segments",
         "tcp_prague.c prague_burst_shift"},
    };
    return table;
}

Prague::Prague(const PragueParameters& parameters)
    : m_parameters(parameters),
      m_target(std::llround(parameters.rttTarget * 1e9)),
      m_burst(std::llround(parameters.burst * 1e9))
{
}

void
Prague::Init(SenderState& state, int64_t now)
{
    m_window = state.cwnd;
    m_alphaTime = now;
    BeginRound(state);
    UpdatePacing(state);
}

bool
Prague::IsRttIndependent(const SenderState& state) const
{
    return !state.InSlowStart() && m_rounds >= m_parameters.rttTransition;
}

uint32_t
Prague::GetSsThresh(SenderState& state, int64_t /* now */)
{
    return state.ssthresh;
}

// Rounds ---------------------------------------------------------------------------------------

void
Prague::BeginRound(const SenderState& state)
{
    m_roundEnd = state.sndNxt;
    m_marked = 0;
    m_delivered = state.delivered;
    m_rounds += !state.InSlowStart();
    UpdateIncrease(state);
}

void
Prague::UpdateIncrease(const SenderState& state)
{
    // A segment per target RTT; and a rate has less of a window where the RTT is shorter.
    const bool isScaled = m_rounds >= m_parameters.rttTransition && state.srtt > 0 &&
                          state.srtt < std::min(m_target, MAX_SCALED_RTT);
    const double ratio =
        isScaled ? static_cast<double>(state.srtt) / static_cast<double>(m_target) : 1;
    m_increase = ratio * ratio * GROWTH_BYTES / (state.mss + HEADER_BYTES);
}

void
Prague::UpdateAlpha(const SenderState& state, int64_t now)
{
    if (m_hasMarks)
    {
        const auto acked =
            static_cast<double>(std::max<uint64_t>(state.delivered - m_delivered, 1));
        const double share = std::min(1.0, static_cast<double>(m_marked) / acked);
        m_alpha += m_parameters.gain * (share - m_alpha);
        m_alphaTime = now;
    }
    BeginRound(state);
}

// The window -----------------------------------------------------------------------------------

void
Prague::Grow(SenderState& state, uint32_t acked)
{
    if (state.InSlowStart())
    {
        acked = GrowInSlowStart(state, acked);
        m_window = state.cwnd;
    }
    m_window += acked * m_increase / m_window;
}

void
Prague::UpdateWindow(SenderState& state, const AckEvent& event)
{
    uint32_t acked = event.ackedSacked;
    if (event.hasEcnEcho)
    {
        m_window = m_hasMarks ? m_window : m_window / 2;
        m_hasMarks = true;
        m_marked += acked;
        acked = 0;
    }
    if (acked > 0 && !m_isInLoss && state.IsCwndLimited(state.isCwndLimited))
    {
        Grow(state, acked);
    }
    Follow(state);
}

void
Prague::Follow(SenderState& state)
{
    const auto window =
        static_cast<uint32_t>(std::clamp<double>(std::ceil(m_window), PRAGUE_MIN_CWND, MAX_WINDOW));
    if (state.cwnd > window)
    {
        --state.cwnd;
        state.ssthresh = state.cwnd;
        UpdateIncrease(state);
    }
    else if (state.cwnd < window)
    {
        ++state.cwnd;
        UpdateIncrease(state);
    }
}

void
Prague::UpdatePacing(SenderState& state) const
{
    if (state.srtt <= 0)
    {
        return;
    }
    // Packets with their headers, but Linux's own pacing counts payload: segments leave that much
    // faster.
    const double window = std::max(std::floor(m_window), static_cast<double>(state.inFlight));
    const double rate = window * (state.mss + HEADER_BYTES) * 1e9 / static_cast<double>(state.srtt);
    state.pacingRate =
        std::max<double>(rate, PRAGUE_MIN_RATE) * (state.cwnd < state.ssthresh / 2 ? 2 : 1);
}

void
Prague::OnAck(SenderState& state, const AckEvent& event, bool /* mayGrow */)
{
    UpdateWindow(state, event);
    const bool isTimely = !IsRttIndependent(state) || event.now - m_alphaTime >= m_target;
    if (state.sndUna >= m_roundEnd && isTimely)
    {
        UpdateAlpha(state, event.now);
    }
    UpdatePacing(state);
}

void
Prague::OnCaState(SenderState& state, CaState next, int64_t now)
{
    if (next == state.caState)
    {
        return;
    }
    switch (next)
    {
    case CaState::OPEN:
        m_isInLoss = false;
        break;
    case CaState::CWR:
        if (!IsRttIndependent(state) || now - m_cwrTime >= m_target)
        {
            m_cwrTime = now;
            m_window *= 1 - m_alpha / 2;
        }
        break;
    case CaState::RECOVERY:
    case CaState::LOSS:
        m_lossWindow = m_window;
        m_window /= 2;
        m_isInLoss = true;
        break;
    default:
        break;
    }
}

uint32_t
Prague::GetUndoCwnd(SenderState& state, uint32_t priorCwnd)
{
    m_isInLoss = false;
    m_window = std::max(m_window, m_lossWindow);
    return std::max(state.cwnd, priorCwnd);
}

} // namespace tunnelcc
