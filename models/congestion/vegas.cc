/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/vegas.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

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
    m_isOn = true;
    m_round.Reset(state);
}

uint32_t
Vegas::GetSsThresh(TcpState& state, int64_t /* now */)
{
    return std::max(state.cwnd / 2, MIN_SSTHRESH);
}

void
Vegas::OnAck(TcpState& state, const AckEvent& event, bool mayGrow)
{
    if (event.rtt >= 0)
    {
        m_round.OnRtt(event.rtt);
    }
    if (!mayGrow)
    {
        return;
    }
    if (!m_isOn)
    {
        m_increase.GrowAsReno(state, event.ackedSacked);
    }
    else if (m_round.IsOver(state))
    {
        if (m_round.HasFewSamples())
        {
            m_increase.GrowAsReno(state, event.ackedSacked);
        }
        else
        {
            AdjustWindow(state, event.ackedSacked);
        }
        m_round.Begin(state);
    }
    else if (state.InSlowStart())
    {
        GrowInSlowStart(state, event.ackedSacked);
    }
}

void
Vegas::AdjustWindow(TcpState& state, uint32_t acked)
{
    const int64_t waiting = m_round.Waiting(state.cwnd);
    if (state.InSlowStart())
    {
        if (waiting > m_parameters.gamma)
        {
            state.cwnd = std::min(state.cwnd, m_round.Target(state.cwnd) + 1);
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
    state.cwnd = std::max(state.cwnd, MIN_SSTHRESH);
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
        m_round.Begin(state);
    }
}

void
Vegas::OnTransmitStart(TcpState& state, int64_t now, int64_t /* idle */)
{
    Init(state, now);
}

} // namespace tunnelcc
