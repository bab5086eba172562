/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/reno.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

} // namespace

const CongestionParameterTable<RenoParameters>&
Reno::GetParameterTable()
{
    static const CongestionParameterTable<RenoParameters> table{
        {&RenoParameters::beta,
         {"beta", 0, "", 0.01, 0.99, "part of the window left after a loss", "RFC 5681, eq. 4"}},
        {&RenoParameters::pacing,
         {"pacing",
          0,
          "bool",
          0,
          1,
          "pace segments, as the fq queueing discipline does",
          "Linux: off without sch_fq"}},
        {&RenoParameters::pacingSlowStart,
         {"pacing_ss_ratio",
          0,
          "",
          0.1,
          100,
          "pacing rate in slow start, times cwnd/srtt",
          "Linux sysctl tcp_pacing_ss_ratio"}},
        {&RenoParameters::pacingAvoidance,
         {"pacing_ca_ratio",
          0,
          "",
          0.1,
          100,
          "pacing rate in congestion avoidance, times cwnd/srtt",
          "Linux sysctl tcp_pacing_ca_ratio"}},
    };
    return table;
}

Reno::Reno(const RenoParameters& parameters)
    : m_parameters(parameters),
      m_pacing{parameters.pacing, parameters.pacingSlowStart, parameters.pacingAvoidance}
{
}

void
Reno::Init(TcpState& state, int64_t /* now */)
{
    m_increase.Reset();
    state.pacingRate = m_pacing.enabled != 0 ? m_pacing.GetRate(state) : 0;
}

uint32_t
Reno::GetSsThresh(TcpState& state, int64_t /* now */)
{
    return std::max(static_cast<uint32_t>(state.cwnd * m_parameters.beta), MIN_SSTHRESH);
}

void
Reno::OnAck(TcpState& state, const AckEvent& event, bool mayGrow)
{
    if (mayGrow)
    {
        m_increase.GrowAsReno(state, event.ackedSacked);
    }
    if (m_pacing.enabled != 0)
    {
        state.pacingRate = m_pacing.GetRate(state);
    }
}

void
Reno::OnCaState(TcpState& /* state */, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
}

} // namespace tunnelcc
