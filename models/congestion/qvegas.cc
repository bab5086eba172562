/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/qvegas.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Vegas's window at the start, segments (TCP_INIT_CWND).
constexpr uint32_t INITIAL_WINDOW = 10;

/// Least window that a round trip of Vegas leaves, segments.
constexpr uint32_t MIN_VEGAS_WINDOW = 4;

} // namespace

const CongestionParameterTable<QVegasParameters>&
QVegas::GetParameterTable()
{
    using P = QVegasParameters;
    static const CongestionParameterTable<P> table{
        {&P::alpha,
         {"alpha", 0, "segments", 0, 1e6, "fewer in the queue: grow", "tcp_qvegas.c alpha"}},
        {&P::beta,
         {"beta", 0, "segments", 0, 1e6, "more in the queue: shrink", "tcp_qvegas.c beta"}},
        {&P::gamma,
         {"gamma",
          0,
          "segments",
          0,
          1e6,
          "more in the queue end slow start",
          "tcp_qvegas.c gamma"}},
    };
    return table;
}

QVegas::QVegas(const QVegasParameters& parameters)
    : m_parameters(parameters)
{
}

void
QVegas::Init(TcpState& state, int64_t /* now */)
{
    m_vegasWindow = INITIAL_WINDOW;
    m_increase.Reset();
    m_isOn = true;
    m_round.Reset(state);
}

uint32_t
QVegas::GetSsThresh(TcpState& state, int64_t /* now */)
{
    return std::max(state.cwnd / 2, MIN_SSTHRESH);
}

void
QVegas::OnAck(TcpState& state, const AckEvent& event, bool mayGrow)
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
        state.cwnd = m_vegasWindow;
        if (m_round.HasFewSamples())
        {
            m_increase.GrowAsReno(state, event.ackedSacked);
        }
        else
        {
            AdjustWindow(state, event.ackedSacked);
        }
        m_vegasWindow = state.cwnd;
        m_round.Begin(state);
    }
    else if (state.InSlowStart())
    {
        GrowInSlowStart(state, event.ackedSacked);
    }
}

void
QVegas::AdjustWindow(TcpState& state, uint32_t acked)
{
    const int64_t waiting = m_round.Waiting(state.cwnd);
    if (state.InSlowStart())
    {
        if (waiting > m_parameters.gamma)
        {
            state.cwnd = std::min(state.cwnd, m_round.Target(state.cwnd) + 1);
            state.ssthresh = std::max(std::min(state.ssthresh, state.cwnd - 1), MIN_SSTHRESH);
        }
        else
        {
            GrowInSlowStart(state, acked);
        }
    }
    else if (waiting > m_parameters.beta)
    {
        --state.cwnd;
        state.ssthresh = std::max(std::min(state.ssthresh, state.cwnd - 1), MIN_SSTHRESH);
    }
    else if (waiting < m_parameters.alpha)
    {
        ++state.cwnd;
    }
    state.cwnd = std::max(state.cwnd, MIN_VEGAS_WINDOW);
    // tcp_current_ssthresh(): what a pause now would leave as threshold
    state.ssthresh = std::max(state.ssthresh, state.cwnd / 2 + state.cwnd / 4);
}

void
QVegas::OnCaState(TcpState& state, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_increase.Reset();
    }
    m_isOn = next == CaState::OPEN;
    if (m_isOn)
    {
        m_round.Begin(state);
        state.cwnd = std::max(m_vegasWindow, MIN_SSTHRESH);
    }
}

void
QVegas::OnTransmitStart(TcpState& state, int64_t /* now */, int64_t /* idle */)
{
    m_isOn = true;
    m_round.Reset(state);
}

uint32_t
QVegas::GetUndoCwnd(TcpState& /* state */, uint32_t /* priorCwnd */)
{
    return std::max(m_vegasWindow, MIN_SSTHRESH);
}

} // namespace tunnelcc
