/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CONGESTION_PARAMETERS_H
#define TUNNELCC_CONGESTION_PARAMETERS_H

#include "congestion/congestion-control.h"
#include "congestion/congestion-registry.h"
#include "spec/refuse.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/**
 * \file
 * Parameters by name: an algorithm keeps its constants in a struct, each with its default as
 * initialiser, and one table names, bounds and sources the members. A switch is a bool, a count a
 * uint32_t, a number a double; a double that is not a number has no default and must be given.
 */

namespace tunnelcc
{

/// A row of that table: a member of the parameter struct `P` and its description. The default is
/// the member's initialiser.
template <typename P>
struct CongestionParameterField
{
    /// A switch.
    CongestionParameterField(bool P::* member,
                             std::string name,
                             std::string doc,
                             std::string source)
        : field(member),
          info{.name = std::move(name),
               .kind = ParameterKind::SWITCH,
               .doc = std::move(doc),
               .source = std::move(source)}
    {
    }

    /// A count or a number, from `minimum` to `maximum` of its unit.
    template <typename T>
    CongestionParameterField(T P::* member,
                             std::string name,
                             std::string unit,
                             double minimum,
                             double maximum,
                             std::string doc,
                             std::string source)
        : field(member),
          info{.name = std::move(name),
               .kind = std::is_integral_v<T> ? ParameterKind::COUNT : ParameterKind::NUMBER,
               .unit = std::move(unit),
               .minimum = minimum,
               .maximum = maximum,
               .doc = std::move(doc),
               .source = std::move(source)}
    {
    }

    std::variant<bool P::*, uint32_t P::*, double P::*> field;
    CongestionParameterInfo info;
};

/// Table of the members of `P`.
template <typename P>
using CongestionParameterTable = std::vector<CongestionParameterField<P>>;

/// The rows of a table, and then those that algorithms share.
template <typename P>
CongestionParameterTable<P>
JoinRows(CongestionParameterTable<P> rows, const CongestionParameterTable<P>& shared)
{
    rows.insert(rows.end(), shared.begin(), shared.end());
    return rows;
}

/// A parameter in seconds as the nanoseconds that algorithms compute in.
inline int64_t
ToNanoseconds(double seconds)
{
    return static_cast<int64_t>(std::llround(seconds * 1e9));
}

/// One copy of constants for all algorithms that are made one after the other with equal ones:
/// where flows are many, a processor's caches then have it.
template <typename C>
std::shared_ptr<const C>
Share(const C& constants)
{
    static thread_local std::weak_ptr<const C> latest;
    std::shared_ptr<const C> shared = latest.lock();
    if (!shared || *shared != constants)
    {
        shared = std::make_shared<const C>(constants);
        latest = shared;
    }
    return shared;
}

/// Message of the exception for a parameter that the algorithm does not have.
std::string DescribeUnknownParameter(std::string_view algorithm,
                                     std::string_view parameter,
                                     const std::vector<CongestionParameterInfo>& known);

/// \throws std::invalid_argument when `value` is not of the kind of `info`, or outside its range
void CheckParameter(std::string_view algorithm,
                    const CongestionParameterInfo& info,
                    const ParameterValue& value);

/// The value of a number, which may be given as a whole one. \pre CheckParameter() accepted it
double ToDouble(const ParameterValue& value);

/// Message of the exception for a parameter that has no default and was not given.
std::string DescribeMissingParameter(std::string_view algorithm,
                                     const CongestionParameterInfo& info);

/// The value of a member; none: it is not a number.
template <typename P>
std::optional<ParameterValue>
GetParameter(const P& parameters, const CongestionParameterField<P>& row)
{
    return std::visit(
        [&](auto member) -> std::optional<ParameterValue> {
            const auto value = parameters.*member;
            if constexpr (std::is_same_v<decltype(value), const double>)
            {
                return std::isnan(value) ? std::nullopt : std::optional<ParameterValue>(value);
            }
            else if constexpr (std::is_same_v<decltype(value), const bool>)
            {
                return value;
            }
            else
            {
                return int64_t{value};
            }
        },
        row.field);
}

/// Set a member. \pre CheckParameter() accepted the value
template <typename P>
void
SetParameter(P& parameters, const CongestionParameterField<P>& row, const ParameterValue& value)
{
    std::visit(
        [&]<typename T>(T P::* member) {
            if constexpr (std::is_same_v<T, bool>)
            {
                parameters.*member = std::get<bool>(value);
            }
            else
            {
                parameters.*member = static_cast<T>(ToDouble(value));
            }
        },
        row.field);
}

/// Descriptions of the members, with the defaults that the struct initialises them to.
template <typename P>
std::vector<CongestionParameterInfo>
DescribeParameters(const CongestionParameterTable<P>& table)
{
    std::vector<CongestionParameterInfo> infos;
    for (const auto& row : table)
    {
        infos.push_back(row.info);
        infos.back().defaultValue = GetParameter(P{}, row);
    }
    return infos;
}

/**
 * The struct with the given values in place of the defaults.
 *
 * \throws std::invalid_argument on an unknown name, a value of another kind or out of range, or one
 *         that is missing
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
        for (const auto& row : table)
        {
            if (row.info.name == name)
            {
                CheckParameter(algorithm, row.info, value);
                SetParameter(parameters, row, value);
                found = true;
            }
        }
        if (!found)
        {
            Refuse(DescribeUnknownParameter(algorithm, name, DescribeParameters(table)));
        }
    }
    for (const auto& row : table)
    {
        if (!GetParameter(parameters, row))
        {
            Refuse(DescribeMissingParameter(algorithm, row.info));
        }
    }
    return parameters;
}

} // namespace tunnelcc

#endif // TUNNELCC_CONGESTION_PARAMETERS_H
