/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/reno.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

const CongestionParameterTable<RenoParameters>&
Reno::GetParameterTable()
{
    static const CongestionParameterTable<RenoParameters> table{
        {&RenoParameters::beta,
         {"beta", "", 0.01, 0.99, "part of the window left after a loss", "RFC 5681, eq. 4"}},
        {&RenoParameters::hystart,
         {"hystart",
          "bool",
          0,
          1,
          "end slow start when the RTT rises",
          "quic-go v0.60.0 hybrid_slow_start.go; Linux: off"}},
        {&RenoParameters::fractions,
         {"fractions",
          "bool",
          0,
          1,
          "let the window have fractions of a segment, as where it is in bytes",
          "quic-go v0.60.0 cubic_sender.go; Linux: off"}},
        {&RenoParameters::pacing,
         {"pacing",
          "bool",
          0,
          1,
          "pace segments, as the fq queueing discipline does",
          "Linux: off without sch_fq"}},
        {&RenoParameters::pacingSlowStart,
         {"pacing_ss_ratio",
          "",
          0.1,
          100,
          "pacing rate in slow start, times cwnd/srtt",
          "Linux sysctl tcp_pacing_ss_ratio"}},
        {&RenoParameters::pacingAvoidance,
         {"pacing_ca_ratio",
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
      m_pacing{parameters.pacing, parameters.pacingSlowStart, parameters.pacingAvoidance},
      m_hystart({.useAckTrain = false})
{
}

void
Reno::Init(TcpState& state, int64_t now)
{
    m_increase.Reset();
    m_hystart.StartRound(state, now);
    m_window = state.cwnd;
    state.pacingRate = m_pacing.enabled != 0 ? m_pacing.GetRate(state) : 0;
}

uint32_t
Reno::GetSsThresh(TcpState& state, int64_t /* now */)
{
    if (m_parameters.fractions != 0)
    {
        Resume(state);
        m_counted = 0;
        m_window = std::max<double>(m_window * m_parameters.beta, MIN_SSTHRESH);
        return static_cast<uint32_t>(std::ceil(m_window));
    }
    return std::max(static_cast<uint32_t>(state.cwnd * m_parameters.beta), MIN_SSTHRESH);
}

void
Reno::OnAck(TcpState& state, const AckEvent& event, bool mayGrow)
{
    const bool watches = m_parameters.hystart != 0 && event.rtt >= 0 && state.InSlowStart();
    if (watches && m_hystart.OnRtt(state, event.now, event.rtt, state.minRtt))
    {
        state.ssthresh = state.cwnd;
    }
    if (mayGrow && m_parameters.fractions != 0)
    {
        GrowInFractions(state, event.ackedSacked);
    }
    else if (mayGrow)
    {
        m_increase.GrowAsReno(state, event.ackedSacked);
    }
    if (m_pacing.enabled != 0)
    {
        state.pacingRate = m_pacing.GetRate(state);
    }
}

/// Go on from a window that the transport has set.
void
Reno::Resume(const TcpState& state)
{
    if (std::ceil(m_window) != state.cwnd)
    {
        m_window = state.cwnd;
    }
}

void
Reno::GrowInFractions(TcpState& state, uint32_t acked)
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
Reno::OnCaState(TcpState& /* state */, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
}

} // namespace tunnelcc
