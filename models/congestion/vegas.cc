/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/vegas.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Least slow start threshold and window, segments.
constexpr uint32_t MIN_WINDOW = 2;

/// With no more RTT samples in a round, all may be of delayed ACKs (Linux tcp_vegas.c).
constexpr uint32_t FEW_SAMPLES = 2;

} // namespace

const CongestionParameterTable<VegasParameters>&
Vegas::GetParameterTable()
{
    using P = VegasParameters;
    static const CongestionParameterTable<P> table{
        {&P::alpha,
         {"alpha", 0, "segments", 0, 1e6, "fewer in the queue: grow", "tcp_vegas.c alpha"}},
        {&P::beta,
         {"beta", 0, "segments", 0, 1e6, "more in the queue: shrink", "tcp_vegas.c beta"}},
        {&P::gamma,
         {"gamma", 0, "segments", 0, 1e6, "more in the queue end slow start", "tcp_vegas.c gamma"}},
    };
    return table;
}

Vegas::Vegas(const VegasParameters& parameters)
    : m_parameters(parameters)
{
}

void
Vegas::Init(TcpState& state, int64_t /* now */)
{
    m_increase.Reset();
    m_baseRtt = NEVER;
    m_isOn = true;
    StartRound(state);
}

void
Vegas::StartRound(const TcpState& state)
{
    m_roundEnd = state.sndNxt;
    m_roundSamples = 0;
    m_roundRtt = NEVER;
}

uint32_t
Vegas::GetSsThresh(TcpState& state, int64_t /* now */)
{
    return std::max(state.cwnd / 2, MIN_WINDOW);
}

void
Vegas::OnAck(TcpState& state, const AckEvent& event, bool mayGrow)
{
    if (event.rtt >= 0)
    {
        m_baseRtt = std::min(m_baseRtt, event.rtt);
        m_roundRtt = std::min(m_roundRtt, event.rtt);
        ++m_roundSamples;
    }
    if (!mayGrow)
    {
        return;
    }
    if (!m_isOn)
    {
        GrowAsReno(state, event.ackedSacked);
    }
    else if (state.sndUna > m_roundEnd)
    {
        if (m_roundSamples <= FEW_SAMPLES)
        {
            GrowAsReno(state, event.ackedSacked);
        }
        else
        {
            AdjustWindow(state, event.ackedSacked);
        }
        StartRound(state);
    }
    else if (state.InSlowStart())
    {
        GrowInSlowStart(state, event.ackedSacked);
    }
}

void
Vegas::GrowAsReno(TcpState& state, uint32_t acked)
{
    if (!state.isCwndLimited)
    {
        return;
    }
    if (state.InSlowStart())
    {
        acked = GrowInSlowStart(state, acked);
    }
    if (acked > 0)
    {
        m_increase.Grow(state, state.cwnd, acked);
    }
}

void
Vegas::AdjustWindow(TcpState& state, uint32_t acked)
{
    // The kernel adds a microsecond to each RTT so that none is 0; here it cannot be.
    const auto cwnd = static_cast<int64_t>(state.cwnd);
    const int64_t waiting = cwnd * (m_roundRtt - m_baseRtt) / m_baseRtt;
    const int64_t target = cwnd * m_baseRtt / m_roundRtt;
    if (state.InSlowStart())
    {
        if (waiting > m_parameters.gamma)
        {
            state.cwnd = std::min(state.cwnd, static_cast<uint32_t>(target) + 1);
            state.ssthresh = std::min(state.ssthresh, state.cwnd);
        }
        else
        {
            GrowInSlowStart(state, acked);
        }
    }
    else if (waiting > m_parameters.beta)
    {
        --state.cwnd;
        state.ssthresh = std::min(state.ssthresh, state.cwnd);
    }
    else if (waiting < m_parameters.alpha)
    {
        ++state.cwnd;
    }
    state.cwnd = std::max(state.cwnd, MIN_WINDOW);
    // tcp_current_ssthresh(): what a pause now would leave as threshold
    state.ssthresh = std::max(state.ssthresh, state.cwnd / 2 + state.cwnd / 4);
}

void
Vegas::OnCaState(TcpState& state, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
    m_isOn = next == CaState::OPEN;
    if (m_isOn)
    {
        StartRound(state);
    }
}

void
Vegas::OnTransmitStart(TcpState& state, int64_t now, int64_t /* idle */)
{
    Init(state, now);
}

} // namespace tunnelcc
