/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_JIFFIES_H
#define TUNNELCC_JIFFIES_H

#include "event/time-units.h"

#include <cstdint>

/**
 * \file
 * The coarse clock of Linux, by which some of its algorithms go. It has ticks of 4 ms (CONFIG_HZ
 * is 250, the Kconfig default).
 */

namespace tunnelcc
{

constexpr int64_t HZ = 250;
constexpr int64_t JIFFY = SECOND / HZ; //!< ns

/// Jiffies that have ended by `time` ns.
constexpr int64_t
Jiffies(int64_t time)
{
    return time / JIFFY;
}

/// Jiffies that a time of `time` ns begins (Linux usecs_to_jiffies()).
constexpr int64_t
JiffiesBegun(int64_t time)
{
    return Jiffies(time + JIFFY - 1);
}

} // namespace tunnelcc

#endif // TUNNELCC_JIFFIES_H
