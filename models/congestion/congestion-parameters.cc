/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-parameters.h"

#include "spec/refuse.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tunnelcc
{

namespace
{

std::string
Format(const ParameterValue& value)
{
    // Not with a stream: its locales would be a seventh of the WebAssembly module.
    if (const auto* text = std::get_if<std::string>(&value))
    {
        return *text;
    }
    if (const auto* isOn = std::get_if<bool>(&value))
    {
        return *isOn ? "true" : "false";
    }
    if (const auto* count = std::get_if<int64_t>(&value))
    {
        return std::to_string(*count);
    }
    std::array<char, 32> text;
    const int size = std::snprintf(text.data(), text.size(), "%g", std::get<double>(value));
    return {text.data(), static_cast<size_t>(size)};
}

std::string
Join(const std::vector<std::string>& names)
{
    std::string text;
    for (const auto& name : names)
    {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

/// What values a parameter accepts, for a message.
std::string
DescribeRange(const CongestionParameterInfo& info)
{
    switch (info.kind)
    {
    case ParameterKind::SWITCH:
        return "true or false";
    case ParameterKind::CHOICE:
        return "one of " + Join(info.choices);
    default:
        return std::string(info.kind == ParameterKind::COUNT ? "a whole number from " : "from ") +
               Format(info.minimum) + " to " + Format(info.maximum);
    }
}

bool
IsAccepted(const CongestionParameterInfo& info, const ParameterValue& value)
{
    switch (info.kind)
    {
    case ParameterKind::SWITCH:
        return std::holds_alternative<bool>(value);
    case ParameterKind::CHOICE: {
        const auto* name = std::get_if<std::string>(&value);
        return name && std::ranges::find(info.choices, *name) != info.choices.end();
    }
    case ParameterKind::COUNT:
        if (!std::holds_alternative<int64_t>(value))
        {
            return false;
        }
        [[fallthrough]];
    default:
        const bool isNumber =
            std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
        return isNumber && info.Has(ToDouble(value));
    }
}

} // namespace

double
ToDouble(const ParameterValue& value)
{
    const auto* whole = std::get_if<int64_t>(&value);
    return whole ? static_cast<double>(*whole) : std::get<double>(value);
}

std::string
DescribeUnknownParameter(std::string_view algorithm,
                         std::string_view parameter,
                         const std::vector<CongestionParameterInfo>& known)
{
    std::vector<std::string> names;
    for (const auto& info : known)
    {
        names.push_back(info.name);
    }
    return std::string(algorithm) + " has no parameter '" + std::string(parameter) + "'; it has " +
           (names.empty() ? "none" : Join(names));
}

std::string
DescribeMissingParameter(std::string_view algorithm, const CongestionParameterInfo& info)
{
    return std::string(algorithm) + ": parameter '" + info.name + "' is missing; it is " +
           info.doc + " (" + info.unit + "), " + DescribeRange(info);
}

void
CheckParameter(std::string_view algorithm,
               const CongestionParameterInfo& info,
               const ParameterValue& value)
{
    if (!IsAccepted(info, value))
    {
        Refuse(std::string(algorithm) + ": parameter '" + info.name + "' = " + Format(value) +
               " must be " + DescribeRange(info));
    }
}

} // namespace tunnelcc
