/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TIME_UNITS_H
#define TUNNELCC_TIME_UNITS_H

#include <cstdint>
#include <limits>

/**
 * \file
 * Units of simulated time, which counts nanoseconds. `20 * MS` is a time, `time / MS` its whole ms.
 */
namespace tunnelcc
{

constexpr int64_t US = 1'000;
constexpr int64_t MS = 1'000'000;
constexpr int64_t SECOND = 1'000'000'000;

/// A time that never comes, and an RTT that was never measured, ns. Four of them still fit in 64
/// bits, so that sums and differences with other times do not overflow.
constexpr int64_t NEVER = std::numeric_limits<int64_t>::max() / 4;

} // namespace tunnelcc

#endif // TUNNELCC_TIME_UNITS_H
