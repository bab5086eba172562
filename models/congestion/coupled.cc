/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/coupled.h"

#include "congestion/slow-start.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

/// A path's window, segments.
double
WindowOf(const CoupledPath& path)
{
    return path.state->cwnd;
}

/// A path's rate, segments/s.
double
RateOf(const CoupledPath& path)
{
    return WindowOf(path) / path.Rtt();
}

} // namespace

const CongestionParameterTable<NoParameters>&
Coupled::GetParameterTable()
{
    static const CongestionParameterTable<NoParameters> table;
    return table;
}

double
Coupled::RateOfAll() const
{
    double sum = 0;
    ForEach([&](const CoupledPath& path) { sum += RateOf(path); });
    return sum;
}

void
Coupled::Couple(CoupledGroup& group, const SenderState& state)
{
    m_group = &group;
    m_path = &group.paths.emplace_back(CoupledPath{&state});
}

void
Coupled::Init(SenderState& state, int64_t /* now */)
{
    if (!m_path)
    {
        Couple(m_alone, state);
    }
    state.pacingRate = 0;
}

uint32_t
Coupled::GetSsThresh(SenderState& state, int64_t /* now */)
{
    m_path->betweenLosses = m_path->sinceLoss;
    m_path->sinceLoss = 0;
    const double left = state.cwnd * (1 - Decrease());
    return std::max(static_cast<uint32_t>(left), MIN_SSTHRESH);
}

void
Coupled::OnAck(SenderState& state, const AckEvent& event, bool mayGrow)
{
    m_path->sinceLoss += event.ackedSacked;
    if (!mayGrow || !state.isCwndLimited)
    {
        return;
    }
    uint32_t acked = event.ackedSacked;
    if (state.InSlowStart())
    {
        acked = GrowInSlowStart(state, acked);
    }
    if (acked == 0)
    {
        return;
    }
    m_credit += acked * Increase();
    const double steps = std::trunc(m_credit); // negative: OLIA takes from the largest windows
    m_credit -= steps;
    const double window = std::max(state.cwnd + steps, double{MIN_SSTHRESH});
    state.cwnd = static_cast<uint32_t>(window);
}

void
Coupled::OnCaState(SenderState& /* state */, CaState next, int64_t /* now */)
{
    if (next >= CaState::CWR)
    {
        m_credit = 0;
    }
}

// LIA --------------------------------------------------------------------------------------------

double
Lia::Increase() const
{
    // RFC 6356, section 3, equations 1 and 2
    double best = 0;
    ForEach([&](const CoupledPath& path) { best = std::max(best, RateOf(path) / path.Rtt()); });
    const double sum = RateOfAll();
    const double own = 1 / WindowOf(Own());
    return sum > 0 ? std::min(best / (sum * sum), own) : own;
}

// OLIA -------------------------------------------------------------------------------------------

double
Olia::Increase() const
{
    const double sum = RateOfAll();
    const double window = WindowOf(Own());
    return sum > 0 ? RateOf(Own()) / Own().Rtt() / (sum * sum) + Alpha() / window : 1 / window;
}

double
Olia::Alpha() const
{
    // Best: those on which TCP would be fastest, by what was delivered between losses. Largest:
    // those with the largest windows. Best ones that are not largest gain what largest ones lose.
    auto quality = [](const CoupledPath& path) {
        return std::max(path.sinceLoss, path.betweenLosses) / (path.Rtt() * path.Rtt());
    };
    double best = 0;
    double largest = 0;
    uint32_t count = 0;
    ForEach([&](const CoupledPath& path) {
        best = std::max(best, quality(path));
        largest = std::max(largest, WindowOf(path));
        ++count;
    });
    uint32_t gaining = 0;
    uint32_t losing = 0;
    ForEach([&](const CoupledPath& path) {
        const bool isLargest = WindowOf(path) >= largest;
        losing += isLargest;
        gaining += !isLargest && quality(path) >= best;
    });
    if (gaining == 0)
    {
        return 0;
    }
    if (WindowOf(Own()) >= largest)
    {
        return -1.0 / (count * losing);
    }
    return quality(Own()) >= best ? 1.0 / (count * gaining) : 0;
}

// BALIA ------------------------------------------------------------------------------------------

double
Balia::Alpha() const
{
    double best = 0;
    ForEach([&](const CoupledPath& path) { best = std::max(best, RateOf(path)); });
    return best > 0 && Own().IsKnown() ? best / RateOf(Own()) : 1;
}

double
Balia::Increase() const
{
    const double sum = RateOfAll();
    if (sum <= 0)
    {
        return 1 / WindowOf(Own());
    }
    const double alpha = Alpha();
    return RateOf(Own()) / (Own().Rtt() * sum * sum) * (1 + alpha) / 2 * (4 + alpha) / 5;
}

double
Balia::Decrease() const
{
    return std::min(Alpha(), 1.5) / 2;
}

} // namespace tunnelcc
