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

const CongestionParameterTable<VegasParameters>&
QVegas::GetParameterTable()
{
    static const auto table = MakeParameterTable("tcp_qvegas.c");
    return table;
}

QVegas::QVegas(const VegasParameters& parameters)
    : Vegas(parameters, MIN_VEGAS_WINDOW)
{
}

void
QVegas::Init(SenderState& state, int64_t now)
{
    Vegas::Init(state, now);
    m_vegasWindow = INITIAL_WINDOW;
}

void
QVegas::EndRound(SenderState& state, uint32_t acked)
{
    state.cwnd = m_vegasWindow;
    Vegas::EndRound(state, acked);
    m_vegasWindow = state.cwnd;
}

uint32_t
QVegas::GetLoweredSsThresh(const SenderState& state) const
{
    return std::max(std::min(state.ssthresh, state.cwnd - 1), MIN_SSTHRESH);
}

void
QVegas::OnCaState(SenderState& state, CaState next, int64_t now)
{
    Vegas::OnCaState(state, next, now);
    if (next == CaState::OPEN)
    {
        state.cwnd = std::max(m_vegasWindow, MIN_SSTHRESH);
    }
}

void
QVegas::OnTransmitStart(SenderState& state, int64_t /* now */, int64_t /* idle */)
{
    Enable(state); // the window and Reno's count stay
}

uint32_t
QVegas::GetUndoCwnd(SenderState& /* state */, uint32_t /* priorCwnd */)
{
    return std::max(m_vegasWindow, MIN_SSTHRESH);
}

} // namespace tunnelcc
