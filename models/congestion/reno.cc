/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/reno.h"

#include "congestion/pacing-parameters.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

const CongestionParameterTable<RenoParameters>&
Reno::GetParameterTable()
{
    using P = RenoParameters;
    static const auto table = JoinRows<P>(
        {
            {&P::beta,
             "beta",
             "",
             0.01,
             0.99,
             "part of the window left after a loss",
             "RFC 5681, eq. 4"},
            {&P::hystart,
             "hystart",
             "end slow start when the RTT rises",
             "quic-go v0.60.0 hybrid_slow_start.go; Linux: off"},
            {&P::fractions,
             "fractions",
             "let the window have fractions of a segment, as where it is in bytes",
             "quic-go v0.60.0 cubic_sender.go; Linux: off"},
        },
        PacingRows<P>());
    return table;
}

Reno::Reno(const RenoParameters& parameters)
    : m_parameters(parameters),
      m_pacing(MakeWindowPacing(parameters)),
      m_hystart({.useAckTrain = false})
{
}

void
Reno::Init(SenderState& state, int64_t now)
{
    m_increase.Reset();
    m_hystart.StartRound(state, now);
    m_window = state.cwnd;
    state.pacingRate = 0;
    m_pacing.Update(state);
}

uint32_t
Reno::GetSsThresh(SenderState& state, int64_t /* now */)
{
    if (m_parameters.fractions)
    {
        Resume(state);
        m_counted = 0;
        m_window = std::max<double>(m_window * m_parameters.beta, MIN_SSTHRESH);
        return static_cast<uint32_t>(std::ceil(m_window));
    }
    return std::max(static_cast<uint32_t>(state.cwnd * m_parameters.beta), MIN_SSTHRESH);
}

void
Reno::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    const bool watches = m_parameters.hystart && event.rtt >= 0 && state.InSlowStart();
    if (watches && m_hystart.OnRtt(state, event.now, event.rtt, state.minRtt))
    {
        state.ssthresh = state.cwnd;
    }
    if (mayGrow && m_parameters.fractions)
    {
        GrowInFractions(state, event.ackedSacked);
    }
    else if (mayGrow)
    {
        m_increase.GrowAsReno(state, event.ackedSacked);
    }
    m_pacing.Update(state);
}

/// Go on from a window that the transport has set.
void
Reno::Resume(const SenderState& state)
{
    if (std::ceil(m_window) != state.cwnd)
    {
        m_window = state.cwnd;
    }
}

void
Reno::GrowInFractions(SenderState& state, uint32_t acked)
{
    Resume(state);
    for (; acked > 0 && state.isCwndLimited; --acked)
    {
        if (state.InSlowStart())
        {
            ++m_window;
        }
        else if (++m_counted >= std::floor(m_window))
        {
            m_counted = 0;
            ++m_window;
        }
        state.cwnd = static_cast<uint32_t>(std::ceil(m_window));
    }
}

void
Reno::OnCaState(SenderState& /* state */, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
}

} // namespace tunnelcc
