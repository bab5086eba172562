/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/pcc-vivace.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace tunnelcc
{

namespace
{

/// Slow start does not heed losses below this, thousandths.
constexpr int64_t SLOW_START_LOSS = 100;

/// A change of the RTT by less than this many segments at the measured rate is none.
constexpr int64_t FEW_SEGMENTS = 2;

/// Least rate while moving, segments per round trip (PCC_RATE_MIN_PACKETS_PER_RTT).
constexpr int64_t MIN_SEGMENTS_PER_RTT = 2;

/// Steps are bounded by the rate. Before, they are no larger than this, so that 64 bits have room.
constexpr double MAX_STEP = 1e15;

/// The least step is above the least difference of two rates by this, percent.
constexpr int64_t LEAST_STEP = 110;

int64_t
ToThousandths(double ratio)
{
    return std::lround(ratio * static_cast<double>(SCALE));
}

} // namespace

const CongestionParameterTable<PccVivaceParameters>&
PccVivace::GetParameterTable()
{
    using P = PccVivaceParameters;
    static const auto table =
        JoinRows<P>(PccRows<P>("PCC_INTERVAL_MIN_PACKETS", "PCC_IGNORE_PACKETS"),
                    {
                        {&P::epsilon,
                         "epsilon",
                         "",
                         0.01,
                         0.5,
                         "distance of an experiment's rates, whole percent",
                         "tcp_pcc.c PCC_PROBING_EPS"},
                        {&P::delayCoefficient,
                         "delay_coefficient",
                         "",
                         0,
                         1e6,
                         "weight of the growth of the RTT (s/s) in the utility",
                         "tcp_pcc.c pcc_calc_utility_vivace()"},
                        {&P::lossCoefficient,
                         "loss_coefficient",
                         "",
                         0,
                         1e6,
                         "weight of the share of losses in the utility",
                         "tcp_pcc.c pcc_calc_utility_vivace()"},
                        {&P::delayFilter,
                         "delay_filter",
                         "",
                         0,
                         10,
                         "growth of the RTT (s/s) that is ignored",
                         "tcp_pcc.c PCC_LAT_INFL_FILTER"},
                        {&P::gradientStep,
                         "gradient_step",
                         "",
                         0,
                         1e6,
                         "step for a gradient and an amplifier of 1, kB/s",
                         "tcp_pcc.c PCC_GRAD_STEP_SIZE"},
                        {&P::minDifference,
                         "min_difference",
                         "",
                         0.001,
                         0.5,
                         "least difference of two rates that have a gradient, relative",
                         "tcp_pcc.c PCC_MIN_RATE_DIFF_RATIO_FOR_GRAD"},
                        {&P::changeBound,
                         "change_bound",
                         "",
                         0.001,
                         1,
                         "largest first step, part of the rate",
                         "tcp_pcc.c PCC_MIN_CHANGE_BOUND"},
                        {&P::changeBoundStep,
                         "change_bound_step",
                         "",
                         0,
                         1,
                         "more of it for each step that reached it",
                         "tcp_pcc.c PCC_CHANGE_BOUND_STEP"},
                        {&P::minAmplifier,
                         "min_amplifier",
                         "",
                         1,
                         1000,
                         "least factor of steps",
                         "tcp_pcc.c PCC_AMP_MIN"},
                        {&P::maxSwing,
                         "max_swing",
                         "",
                         0,
                         1000,
                         "most steps after changes of direction that do not raise that factor",
                         "tcp_pcc.c PCC_MAX_SWING_BUFFER"},
                    });
    return table;
}

PccVivace::PccVivace(const PccVivaceParameters& parameters, int64_t stream)
    : PccSender(parameters, parameters.epsilon, stream),
      m_parameters(parameters),
      m_delayFilter(ToThousandths(parameters.delayFilter)),
      m_minDifference(ToThousandths(parameters.minDifference)),
      m_minChangeBound(ToThousandths(parameters.changeBound)),
      m_changeBoundStep(ToThousandths(parameters.changeBoundStep)),
      m_amplifier(parameters.minAmplifier),
      m_changeBound(m_minChangeBound)
{
}

std::string_view
PccVivace::GetPhase() const
{
    switch (m_mode)
    {
    case Mode::SLOW_START:
        return "slow_start";
    case Mode::EXPERIMENT:
        return "experiment";
    case Mode::MOVING:
        break;
    }
    return "moving";
}

// Intervals ------------------------------------------------------------------------------------

void
PccVivace::Begin()
{
    SetUpExperiment(); // of which slow start uses the first interval
}

// Utility --------------------------------------------------------------------------------------

int64_t
PccVivace::GetDelayGrowth(const SenderState& state, const Interval& interval) const
{
    const int64_t sending = (interval.sendEnd - interval.sendBegin) / US;
    const int64_t counting = (interval.countEnd - interval.countBegin) / US;
    const int64_t growth = interval.endRtt / US - interval.beginRtt / US;
    const int64_t throughput =
        counting > 0 ? MICROSECONDS * interval.delivered * state.mss / counting : 0;
    const int64_t least = throughput > 0 ? FEW_SEGMENTS * MICROSECONDS * state.mss / throughput : 0;
    if (sending <= 0 || std::abs(growth) < least)
    {
        return 0;
    }
    const int64_t ratio = SCALE * growth / sending;
    const bool isIgnored =
        std::abs(ratio) < m_delayFilter || (ratio < 0 && m_mode == Mode::SLOW_START);
    return isIgnored ? 0 : ratio;
}

void
PccVivace::Judge(const SenderState& state, Interval& interval) const
{
    if (interval.delivered == 0)
    {
        interval.utility = 0;
        return;
    }
    int64_t loss = interval.lost * SCALE / (interval.lost + interval.delivered);
    if (m_mode == Mode::SLOW_START && loss < SLOW_START_LOSS)
    {
        loss = 0;
    }
    const double penalty =
        m_parameters.delayCoefficient * static_cast<double>(GetDelayGrowth(state, interval)) +
        m_parameters.lossCoefficient * static_cast<double>(loss);
    const double cost = static_cast<double>(interval.rate) * penalty / static_cast<double>(SCALE);
    interval.utility = interval.rate - static_cast<int64_t>(cost);
}

// Decisions ------------------------------------------------------------------------------------

void
PccVivace::GrowInSlowStart(const SenderState& /* state */, int64_t lastUtility)
{
    if (m_intervals[0].utility > lastUtility)
    {
        m_lastRate = m_rate;
        m_rate += m_rate / 2;
    }
    else
    {
        std::swap(m_rate, m_lastRate);
        m_mode = Mode::EXPERIMENT;
    }
}

int64_t
PccVivace::FindDirection(const Interval* better)
{
    const int64_t rateBefore = m_rate;
    if (better)
    {
        m_rate = m_lastRate = better->rate;
        m_intervals[0].utility = better->utility;
        m_mode = Mode::MOVING;
    }
    return rateBefore; // as the module: the first interval is still at it
}

void
PccVivace::Move(const SenderState& state, int64_t lastUtility)
{
    const int64_t step = GetStep(lastUtility);
    const int64_t rtt = std::max<int64_t>(state.srtt / US, 1);
    m_lastRate = m_rate;
    m_rate = std::max(m_rate + step, MICROSECONDS * MIN_SEGMENTS_PER_RTT * state.mss / rtt);
    if (step <= 0)
    {
        m_mode = Mode::EXPERIMENT;
    }
}

int64_t
PccVivace::GetStep(int64_t lastUtility)
{
    const double thousandths =
        static_cast<double>(GetGradient(lastUtility)) * m_parameters.gradientStep;
    auto step = static_cast<int64_t>(std::clamp(thousandths, -MAX_STEP, MAX_STEP));
    UpdateAmplifier(step);
    const double amplified = static_cast<double>(step) * static_cast<double>(m_amplifier) / SCALE;
    step = BoundStep(static_cast<int64_t>(std::clamp(amplified, -MAX_STEP, MAX_STEP)));
    const int64_t least = m_rate * m_minDifference / SCALE * LEAST_STEP / 100;
    return step >= 0 ? std::max(step, least) : std::min(step, -least);
}

int64_t
PccVivace::GetGradient(int64_t lastUtility) const
{
    const int64_t difference = m_lastRate - m_rate;
    if (std::abs(SCALE * difference / m_rate) < m_minDifference)
    {
        return 0;
    }
    const auto rise = static_cast<double>(lastUtility - m_intervals[0].utility);
    constexpr double UNIT = SCALE * SCALE;
    return static_cast<int64_t>(UNIT * rise / static_cast<double>(difference));
}

void
PccVivace::UpdateAmplifier(int64_t step)
{
    if ((step > 0) != (m_rate > m_lastRate))
    {
        m_swing = std::min<int64_t>(m_swing + 1, m_parameters.maxSwing);
        m_amplifier = m_parameters.minAmplifier;
        m_changeBound = m_minChangeBound;
    }
    else if (m_swing > 0)
    {
        --m_swing;
    }
    else
    {
        ++m_amplifier;
    }
}

int64_t
PccVivace::BoundStep(int64_t step)
{
    if (std::abs(step) * SCALE / m_rate <= m_changeBound)
    {
        m_changeBound = m_minChangeBound;
        return step;
    }
    const int64_t bounded = m_rate * m_changeBound / SCALE;
    m_changeBound += m_changeBoundStep;
    return step > 0 ? bounded : -bounded;
}

} // namespace tunnelcc
