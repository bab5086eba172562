/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/vegas.h"

#include <algorithm>

namespace tunnelcc
{

const CongestionParameterTable<VegasParameters>&
Vegas::GetParameterTable()
{
    static const auto table = MakeParameterTable("tcp_vegas.c");
    return table;
}

CongestionParameterTable<VegasParameters>
Vegas::MakeParameterTable(const std::string& file)
{
    using P = VegasParameters;
    return {
        {&P::alpha, "alpha", "segments", 0, 1e6, "fewer in the queue: grow", file + " alpha"},
        {&P::beta, "beta", "segments", 0, 1e6, "more in the queue: shrink", file + " beta"},
        {&P::gamma,
         "gamma",
         "segments",
         0,
         1e6,
         "more in the queue end slow start",
         file + " gamma"},
    };
}

Vegas::Vegas(const VegasParameters& parameters)
    : Vegas(parameters, MIN_SSTHRESH)
{
}

Vegas::Vegas(const VegasParameters& parameters, uint32_t minWindow)
    : m_parameters(parameters),
      m_minWindow(minWindow)
{
}

void
Vegas::Init(SenderState& state, int64_t /* now */)
{
    m_increase.Reset();
    Enable(state);
}

void
Vegas::Enable(const SenderState& state)
{
    m_isOn = true;
    m_round.Reset(state);
}

uint32_t
Vegas::GetSsThresh(SenderState& state, int64_t /* now */)
{
    return std::max(state.cwnd / 2, MIN_SSTHRESH);
}

bool
Vegas::WantsDeliveries() const
{
    return true;
}

void
Vegas::OnDelivered(SenderState& /* state */, const AckEvent& event)
{
    if (event.rtt >= 0)
    {
        m_round.OnRtt(event.rtt);
    }
}

void
Vegas::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
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
        EndRound(state, event.ackedSacked);
        m_round.Begin(state);
    }
    else if (state.InSlowStart())
    {
        GrowInSlowStart(state, event.ackedSacked);
    }
}

void
Vegas::EndRound(SenderState& state, uint32_t acked)
{
    if (m_round.HasFewSamples())
    {
        m_increase.GrowAsReno(state, acked);
    }
    else
    {
        AdjustWindow(state, acked);
    }
}

void
Vegas::AdjustWindow(SenderState& state, uint32_t acked)
{
    const int64_t waiting = m_round.Waiting(state.cwnd);
    if (state.InSlowStart())
    {
        if (waiting > m_parameters.gamma)
        {
            state.cwnd = std::min(state.cwnd, m_round.Target(state.cwnd) + 1);
            state.ssthresh = GetLoweredSsThresh(state);
        }
        else
        {
            GrowInSlowStart(state, acked);
        }
    }
    else if (waiting > m_parameters.beta)
    {
        --state.cwnd;
        state.ssthresh = GetLoweredSsThresh(state);
    }
    else if (waiting < m_parameters.alpha)
    {
        ++state.cwnd;
    }
    state.cwnd = std::max(state.cwnd, m_minWindow);
    // tcp_current_ssthresh(): what a pause now would leave as threshold
    state.ssthresh = std::max(state.ssthresh, state.cwnd / 2 + state.cwnd / 4);
}

uint32_t
Vegas::GetLoweredSsThresh(const SenderState& state) const
{
    return std::min(state.ssthresh, state.cwnd);
}

void
Vegas::OnCaState(SenderState& state, CaState next, int64_t /* now */)
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
Vegas::OnTransmitStart(SenderState& state, int64_t /* now */, int64_t /* idle */)
{
    Enable(state);
}

} // namespace tunnelcc
