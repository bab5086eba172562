/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_PARAMETERS_H
#define TUNNELCC_CONGESTION_PARAMETERS_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-registry.h"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/**
 * \file
 * Parameters by name: an algorithm keeps its constants in a struct of doubles, each with its
 * default as initialiser (not a number: there is none), and one table that names, bounds and
 * sources the fields.
 */

namespace tunnelcc
{

/// Ties a field of the parameter struct `P` to its description (the default is that of the struct).
template <typename P>
struct CongestionParameterField
{
    double P::* field;
    CongestionParameterInfo info;
};

/// Table of the fields of `P`.
template <typename P>
using CongestionParameterTable = std::vector<CongestionParameterField<P>>;

/// A parameter in seconds as the nanoseconds that algorithms compute in.
inline int64_t
ToNanoseconds(double seconds)
{
    return static_cast<int64_t>(std::llround(seconds * 1e9));
}

/// Format a value for a message, without trailing zeros.
std::string FormatParameterValue(double value);

/// Message of the exception for a parameter that the algorithm does not have.
std::string DescribeUnknownParameter(std::string_view algorithm,
                                     std::string_view parameter,
                                     const std::vector<CongestionParameterInfo>& known);

/// \throws std::invalid_argument when `value` is outside the range of `info`
void CheckParameterRange(std::string_view algorithm,
                         const CongestionParameterInfo& info,
                         double value);

/// Message of the exception for a parameter that has no default and was not given.
std::string DescribeMissingParameter(std::string_view algorithm,
                                     const CongestionParameterInfo& info);

/// Descriptions of the fields, with the defaults that the struct initialises them to.
template <typename P>
std::vector<CongestionParameterInfo>
DescribeParameters(const CongestionParameterTable<P>& table)
{
    const P defaults{};
    std::vector<CongestionParameterInfo> infos;
    for (const auto& entry : table)
    {
        infos.push_back(entry.info);
        infos.back().defaultValue = defaults.*entry.field;
    }
    return infos;
}

/**
 * The struct with the given values in place of the defaults.
 *
 * \throws std::invalid_argument on an unknown name, a value out of range, or one that is missing
 */
template <typename P>
P
ParseParameters(std::string_view algorithm,
                const CongestionParameterTable<P>& table,
                const CongestionParameters& values)
{
    P parameters{};
    for (const auto& [name, value] : values)
    {
        bool found = false;
        for (const auto& entry : table)
        {
            if (entry.info.name == name)
            {
                CheckParameterRange(algorithm, entry.info, value);
                parameters.*entry.field = value;
                found = true;
            }
        }
        if (!found)
        {
            throw std::invalid_argument(
                DescribeUnknownParameter(algorithm, name, DescribeParameters(table)));
        }
    }
    for (const auto& entry : table)
    {
        if (std::isnan(parameters.*entry.field))
        {
            throw std::invalid_argument(DescribeMissingParameter(algorithm, entry.info));
        }
    }
    return parameters;
}

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_PARAMETERS_H
