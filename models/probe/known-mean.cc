/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "known-mean.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tunnelcc
{

namespace
{

constexpr size_t MEAN_BATCHES = 10;

/// Student's t with MEAN_BATCHES − 1 degrees of freedom, 99 %, two-sided.
constexpr double STUDENT = 3.2498;

/// What the first look waits for.
constexpr double LEAST_TIME = 5; // s
constexpr double LEAST_SAMPLES = 2 * MEAN_BATCHES;

double
MeanOf(std::span<const double> values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace

size_t
FirstLook(double interval)
{
    return static_cast<size_t>(std::ceil(std::max(LEAST_TIME / interval, LEAST_SAMPLES)));
}

size_t
NextLook(size_t samples)
{
    return samples + (samples + 7) / 8;
}

bool
IsMeanKnown(std::span<const double> samples, double precision)
{
    const size_t length = (samples.size() - (samples.size() + 9) / 10) / MEAN_BATCHES;
    if (length == 0)
    {
        return false;
    }
    const auto settled = samples.last(MEAN_BATCHES * length);
    std::array<double, MEAN_BATCHES> means;
    for (size_t i = 0; i < MEAN_BATCHES; ++i)
    {
        means[i] = MeanOf(settled.subspan(i * length, length));
    }
    const double mean = MeanOf(means);
    double squares = 0;
    for (const double it : means)
    {
        squares += (it - mean) * (it - mean);
    }
    const double error = std::sqrt(squares / (MEAN_BATCHES * (MEAN_BATCHES - 1)));
    const double all = MeanOf(samples);
    return all > 0 && STUDENT * error + std::abs(all - mean) <= precision * all;
}

} // namespace tunnelcc
