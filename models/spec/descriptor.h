/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DESCRIPTOR_H
#define TUNNELCC_DESCRIPTOR_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tunnelcc
{

/// Value of a parameter: a switch, a count, a number, or one of several names.
using ParameterValue = std::variant<bool, int64_t, double, std::string>;

/// Parameters of an algorithm, by name.
using Parameters = std::map<std::string, ParameterValue>;

/// The kind of a value. Of a parameter, with its type in ParameterValue.
enum class ValueKind
{
    SWITCH, //!< bool
    COUNT,  //!< int64_t
    NUMBER, //!< double; a whole number may be given as int64_t
    CHOICE, //!< std::string: one of Descriptor::choices
    TEXT,
    PART //!< a struct, or a list or a choice of structs
};

/**
 * What a value is: a member of a specification, a measurement, a parameter of a congestion control,
 * or an attribute of one of ns-3.
 */
struct Descriptor
{
    std::string name;
    ValueKind kind{ValueKind::NUMBER};
    std::string unit{};                           //!< "s", "bytes/s", …; empty: none, or a ratio
    double minimum{0};                            //!< least value accepted, of a count or a number
    double maximum{0};                            //!< greatest value accepted
    std::string doc{};                            //!< its meaning
    std::string source{};                         //!< document or kernel symbol of the default
    std::optional<ParameterValue> defaultValue{}; //!< none: a parameter must be given
    std::vector<std::string> choices{};           //!< values of a choice
    bool orZero{false};                           //!< 0 is accepted, too, where it is no range's

    /// Whether a number is accepted.
    bool Has(double value) const
    {
        return (value >= minimum && value <= maximum) || (orZero && value == 0);
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_DESCRIPTOR_H
