/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SEGMENT_RUNS_H
#define TUNNELCC_SEGMENT_RUNS_H

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

/**
 * \file
 * Runs of segments, for the tests of SACK.
 */
namespace tunnelcc
{

using Block = std::pair<uint64_t, uint64_t>; //!< segments [first, second)

/// Maximal runs of consecutive numbers in a set.
inline std::vector<Block>
GetRuns(const std::set<uint64_t>& numbers)
{
    std::vector<Block> runs;
    for (const uint64_t number : numbers)
    {
        if (!runs.empty() && runs.back().second == number)
        {
            ++runs.back().second;
        }
        else
        {
            runs.emplace_back(number, number + 1);
        }
    }
    return runs;
}

} // namespace tunnelcc

#endif // TUNNELCC_SEGMENT_RUNS_H
