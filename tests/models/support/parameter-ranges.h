/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PARAMETER_RANGES_H
#define TUNNELCC_PARAMETER_RANGES_H

#include "congestion/congestion-parameters.h"

#include "ns3/test.h"

#include <string>
#include <vector>

/**
 * \file
 * Ranges of the parameters of a congestion control. They are part of its interface: what is in
 * users' files, and what the pages list. That both ends are taken, and nothing beyond, is checked
 * for all algorithms by the suite of the registry.
 */
namespace tunnelcc
{

/// Values that a parameter takes, in its unit.
struct ParameterRange
{
    std::string name;
    double least;
    double most;

    bool operator==(const ParameterRange&) const = default;
};

/// \returns the ranges of a table, without those of switches
template <typename P>
std::vector<ParameterRange>
RangesOf(const CongestionParameterTable<P>& table)
{
    std::vector<ParameterRange> ranges;
    for (const auto& row : table)
    {
        if (row.info.kind != ParameterKind::SWITCH)
        {
            ranges.push_back({row.info.name, row.info.minimum, row.info.maximum});
        }
    }
    return ranges;
}

} // namespace tunnelcc

#endif // TUNNELCC_PARAMETER_RANGES_H
