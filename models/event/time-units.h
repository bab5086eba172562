/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TIME_UNITS_H
#define TUNNELCC_TIME_UNITS_H

#include <cstdint>

/**
 * \file
 * Units of simulated time, which counts nanoseconds. `20 * MS` is a time, `time / MS` its whole ms.
 */
namespace tunnelcc
{

constexpr int64_t US = 1'000;
constexpr int64_t MS = 1'000'000;
constexpr int64_t SECOND = 1'000'000'000;

} // namespace tunnelcc

#endif // TUNNELCC_TIME_UNITS_H
