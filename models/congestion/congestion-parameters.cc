/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-parameters.h"

#include <cmath>
#include <sstream>

namespace tunnelcc
{

std::string
FormatParameterValue(double value)
{
    std::ostringstream stream;
    stream << value;
    return stream.str();
}

std::string
DescribeUnknownParameter(std::string_view algorithm,
                         std::string_view parameter,
                         const std::vector<CongestionParameterInfo>& known)
{
    std::string message =
        std::string(algorithm) + " has no parameter '" + std::string(parameter) + "'; ";
    if (known.empty())
    {
        return message + "it has none";
    }
    message += "it has";
    for (const auto& info : known)
    {
        message += " " + info.name + ",";
    }
    message.pop_back();
    return message;
}

std::string
DescribeMissingParameter(std::string_view algorithm, const CongestionParameterInfo& info)
{
    return std::string(algorithm) + ": parameter '" + info.name + "' is missing; it is " +
           info.doc + " (" + info.unit + "), from " + FormatParameterValue(info.minimum) + " to " +
           FormatParameterValue(info.maximum);
}

void
CheckParameterRange(std::string_view algorithm, const CongestionParameterInfo& info, double value)
{
    const bool isCount = info.unit == "bool" || info.unit == "integer" || info.unit == "rounds" ||
                         info.unit == "segments" || info.unit == "samples";
    if (value >= info.minimum && value <= info.maximum && (!isCount || value == std::floor(value)))
    {
        return;
    }
    const std::string expected = info.unit == "bool"
                                     ? "0 or 1"
                                     : std::string(isCount ? "a whole number " : "") + "from " +
                                           FormatParameterValue(info.minimum) + " to " +
                                           FormatParameterValue(info.maximum);
    throw std::invalid_argument(std::string(algorithm) + ": parameter '" + info.name +
                                "' = " + FormatParameterValue(value) + " must be " + expected);
}

} // namespace tunnelcc
