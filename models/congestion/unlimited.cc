/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/unlimited.h"

namespace tunnelcc
{

namespace
{

CubicParameters
MakeCubicParameters(const UnlimitedParameters& parameters)
{
    CubicParameters cubic;
    cubic.beta = parameters.beta;
    return cubic;
}

} // namespace

const CongestionParameterTable<UnlimitedParameters>&
Unlimited::GetParameterTable()
{
    using P = UnlimitedParameters;
    static const CongestionParameterTable<P> table{
        {&P::window,
         "window",
         "segments",
         2,
         1e9,
         "congestion window",
         "tcp_TA.c bictcp_cong_avoid()"},
        {&P::beta,
         "beta",
         "",
         0.01,
         0.99,
         "threshold after a loss, times the window",
         "tcp_TA.c beta"},
    };
    return table;
}

Unlimited::Unlimited(const UnlimitedParameters& parameters)
    : Cubic(MakeCubicParameters(parameters)),
      m_window(parameters.window)
{
}

void
Unlimited::Init(SenderState& state, int64_t now)
{
    Cubic::Init(state, now);
    state.cwnd = m_window;
}

void
Unlimited::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    Cubic::OnAck(state, event, mayGrow);
    if (mayGrow && state.isCwndLimited && !state.InSlowStart())
    {
        state.cwnd = m_window;
    }
}

} // namespace tunnelcc
