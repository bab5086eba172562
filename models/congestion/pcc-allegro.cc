/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/pcc-allegro.h"

#include <algorithm>
#include <cmath>

namespace tunnelcc
{

namespace
{

/// Sigmoid's exponents above this count as infinite (pcc_max_loss), thousandths. e to the power of
/// its opposite is nothing in thousandths.
constexpr int64_t MAX_EXPONENT = 10 * SCALE;

/// Slow start: thousandths of a utility that count; all of a negative one.
constexpr int64_t POSITIVE_UTILITY = 750;
constexpr int64_t NEGATIVE_UTILITY = 1000;

/// e to the power of `exponent`, both in thousandths: the power series in whole numbers.
int64_t
Exp(int64_t exponent)
{
    int64_t sum = SCALE;
    int64_t term = SCALE;
    for (int64_t i = 1; term != 0; ++i)
    {
        term = term * exponent / i / SCALE;
        sum += term;
    }
    return sum;
}

/// Utility per rate, as slow start compares it.
int64_t
GetUtilityPerRate(int64_t utility, int64_t rate)
{
    return utility * (utility < 0 ? NEGATIVE_UTILITY : POSITIVE_UTILITY) / rate;
}

} // namespace

const CongestionParameterTable<PccAllegroParameters>&
PccAllegro::GetParameterTable()
{
    using P = PccAllegroParameters;
    static const auto table = JoinRows<P>(PccRows<P>("pcc_interval_min_segs", "pcc_ignore_packets"),
                                          {
                                              {&P::minEpsilon,
                                               "min_epsilon",
                                               "",
                                               0.01,
                                               0.5,
                                               "least step of the rate, whole percent",
                                               "tcp_pcc.c pcc_epsilon_min"},
                                              {&P::maxEpsilon,
                                               "max_epsilon",
                                               "",
                                               0.01,
                                               0.5,
                                               "largest step of the rate, whole percent",
                                               "tcp_pcc.c pcc_epsilon_max"},
                                              {&P::lossMargin,
                                               "loss_margin",
                                               "",
                                               0,
                                               1,
                                               "loss that halves what a rate is worth",
                                               "tcp_pcc.c pcc_loss_margin"},
                                          });
    return table;
}

PccAllegro::PccAllegro(const PccAllegroParameters& parameters, int64_t stream)
    : PccSender(parameters, parameters.minEpsilon, stream),
      m_minEpsilon(m_epsilon),
      m_maxEpsilon(std::lround(parameters.maxEpsilon * PERCENT)),
      m_lossMargin(std::lround(parameters.lossMargin * PERCENT * SCALE))
{
}

std::string_view
PccAllegro::GetPhase() const
{
    switch (m_mode)
    {
    case Mode::SLOW_START:
        return "slow_start";
    case Mode::EXPERIMENT:
        return "decision";
    case Mode::MOVING:
        break;
    }
    return "adjustment";
}

// Intervals ------------------------------------------------------------------------------------

uint32_t
PccAllegro::LeastSegments() const
{
    // An interval of its own is shorter by what is ignored at its end.
    const uint32_t least = PccSender::LeastSegments();
    return IsExperimenting() ? least : least - std::min(least, m_ignoredSegments);
}

void
PccAllegro::Begin()
{
    SetUp(m_rate);
}

void
PccAllegro::Resume()
{
    m_mode = Mode::EXPERIMENT;
    SetUpExperiment();
}

// Decisions ------------------------------------------------------------------------------------

int64_t
PccAllegro::GetUtility(int64_t rate, int64_t lost, int64_t delivered) const
{
    constexpr int64_t ALL = PERCENT * SCALE;
    if (lost + delivered == 0)
    {
        return NO_UTILITY;
    }
    const int64_t loss = lost * ALL / (lost + delivered); // thousandths of a percent
    const int64_t exponent = loss - m_lossMargin;
    int64_t worth = 0;
    if (exponent < MAX_EXPONENT)
    {
        // Far below 0, the module's series in 64 bits overflows.
        const int64_t power = exponent > -MAX_EXPONENT ? Exp(exponent) : 0;
        worth = rate * SCALE / (power + SCALE);
    }
    return worth * (ALL - loss) / ALL - rate * loss / ALL;
}

void
PccAllegro::Judge(const SenderState& /* state */, Interval& interval) const
{
    interval.utility = GetUtility(interval.rate, interval.lost, interval.delivered);
}

void
PccAllegro::GrowInSlowStart(const SenderState& state, int64_t lastUtility)
{
    const Interval& interval = m_intervals[0];
    const bool isFirst = lastUtility == NO_UTILITY;
    const int64_t before = isFirst ? NO_UTILITY : GetUtilityPerRate(lastUtility, m_lastRate);
    if (interval.utility != NO_UTILITY && GetUtilityPerRate(interval.utility, m_rate) > before)
    {
        m_lastRate = m_rate;
        m_rate += std::min<int64_t>(interval.delivered * state.mss, m_rate);
    }
    else
    {
        m_rate = m_lastRate;
        m_mode = Mode::EXPERIMENT;
    }
}

int64_t
PccAllegro::GetStep(int64_t rate) const
{
    const int64_t step = rate * m_epsilon / PERCENT;
    return m_direction == Direction::DOWN ? -step : step;
}

void
PccAllegro::WidenStep()
{
    m_epsilon = std::min(m_epsilon + 1, std::max(m_epsilon, m_maxEpsilon));
}

int64_t
PccAllegro::FindDirection(const Interval* better)
{
    const int64_t rate = better ? better->rate : m_rate;
    const Direction direction = rate == m_rate  ? Direction::STAY
                                : rate > m_rate ? Direction::UP
                                                : Direction::DOWN;
    if (direction == m_direction)
    {
        WidenStep();
    }
    else
    {
        m_epsilon = m_minEpsilon;
    }
    m_direction = direction;
    if (better)
    {
        m_mode = Mode::MOVING;
        m_lastRate = rate;
        m_rate = rate + GetStep(rate);
    }
    return m_rate;
}

void
PccAllegro::Move(const SenderState& /* state */, int64_t lastUtility)
{
    if (m_intervals[0].utility > lastUtility)
    {
        WidenStep();
        m_lastRate = m_rate;
        // Where an experiment agreed on the rate that there was, the rate falls.
        const int64_t step = m_rate * m_epsilon / PERCENT;
        m_rate += m_direction == Direction::UP ? step : -step;
    }
    else
    {
        m_rate = m_lastRate;
        m_epsilon = m_minEpsilon;
        m_mode = Mode::EXPERIMENT;
    }
}

} // namespace tunnelcc
