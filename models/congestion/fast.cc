/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/fast.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

// Weight of an RTT sample: this many samples of a window, and never more than a quarter (Wei et al.
// 2006, section IV-A).
constexpr double SAMPLES_OF_A_WINDOW = 3;
constexpr double GREATEST_WEIGHT = 0.25;

} // namespace

const CongestionParameterTable<FastParameters>&
Fast::GetParameterTable()
{
    using P = FastParameters;
    static const CongestionParameterTable<P> table{
        {&P::alpha,
         "alpha",
         "segments",
         1,
         1e6,
         "kept in the queue in equilibrium",
         "Wei et al. 2006, eq. (1)"},
        {&P::gamma,
         "gamma",
         "",
         0.001,
         1,
         "part of the way to the target in a round trip",
         "Wei et al. 2006, eq. (1)"},
    };
    return table;
}

Fast::Fast(const FastParameters& parameters)
    : m_parameters(parameters)
{
}

void
Fast::Init(SenderState& state, int64_t /* now */)
{
    m_window = state.cwnd;
    m_roundEnd = state.sndNxt;
}

uint32_t
Fast::GetSsThresh(SenderState& state, int64_t /* now */)
{
    return std::max(state.cwnd / 2, MIN_SSTHRESH);
}

bool
Fast::WantsDeliveries() const
{
    return true;
}

void
Fast::OnDelivered(SenderState& state, const AckEvent& event)
{
    if (event.rtt < 0)
    {
        return;
    }
    m_baseRtt = std::min(m_baseRtt, event.rtt);
    const auto rtt = static_cast<double>(event.rtt);
    const double weight = std::min(SAMPLES_OF_A_WINDOW / state.cwnd, GREATEST_WEIGHT);
    m_meanRtt = m_meanRtt == 0 ? rtt : m_meanRtt + weight * (rtt - m_meanRtt);
}

void
Fast::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    if (!mayGrow || m_meanRtt == 0)
    {
        return;
    }
    if (state.sndUna > m_roundEnd)
    {
        m_roundEnd = state.sndNxt;
        UpdateWindow(state);
        state.cwnd = std::min(state.cwnd, static_cast<uint32_t>(std::ceil(m_window)));
    }
    if (state.isCwndLimited)
    {
        const auto target = static_cast<uint32_t>(std::ceil(m_window));
        state.cwnd = std::max(state.cwnd, std::min(state.cwnd + event.ackedSacked, target));
    }
}

void
Fast::UpdateWindow(const SenderState& state)
{
    // Fractions of a segment count, unless the transport has set the window.
    const double window = std::ceil(m_window) == state.cwnd ? m_window : state.cwnd;
    const double gamma = m_parameters.gamma;
    const double emptied = static_cast<double>(m_baseRtt) / m_meanRtt * window;
    m_window = std::clamp((1 - gamma) * window + gamma * (emptied + m_parameters.alpha),
                          static_cast<double>(MIN_SSTHRESH),
                          std::min<double>(2 * window, MAX_WINDOW));
}

} // namespace tunnelcc
