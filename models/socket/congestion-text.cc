/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-text.h"

#include "congestion/congestion-control.h"
#include "spec/refuse.h"

#include <charconv>
#include <optional>
#include <sstream>

namespace tunnelcc
{

namespace
{

template <class Number>
std::optional<Number>
ReadNumber(const std::string& text)
{
    Number number{};
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

ParameterValue
ReadParameter(const std::string& text)
{
    if (text == "true" || text == "false")
    {
        return text == "true";
    }
    if (const auto whole = ReadNumber<int64_t>(text))
    {
        return *whole;
    }
    if (const auto number = ReadNumber<double>(text))
    {
        return *number;
    }
    return text;
}

std::string
WriteParameter(const ParameterValue& value)
{
    if (const auto* flag = std::get_if<bool>(&value))
    {
        return *flag ? "true" : "false";
    }
    if (const auto* text = std::get_if<std::string>(&value))
    {
        return *text;
    }
    char digits[32];
    const auto write = [&](auto number) {
        return std::string(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
    };
    const auto* whole = std::get_if<int64_t>(&value);
    return whole ? write(*whole) : write(std::get<double>(value));
}

} // namespace

CongestionSpec
ParseCongestionText(const std::string& text)
{
    CongestionSpec spec;
    std::istringstream words(text);
    std::getline(words, spec.name, ',');
    for (std::string word; std::getline(words, word, ',');)
    {
        const auto sign = word.find('=');
        if (sign == 0 || sign == std::string::npos)
        {
            Refuse(spec.name + ": expected parameters such as cwnd_gain=2, got " + word);
        }
        spec.parameters[word.substr(0, sign)] = ReadParameter(word.substr(sign + 1));
    }
    MakeCongestionControl(spec.name, spec.parameters, 0); // which refuses what cannot be
    return spec;
}

std::string
FormatCongestionText(const CongestionSpec& spec)
{
    std::string text = spec.name;
    for (const auto& [name, value] : spec.parameters)
    {
        text += "," + name + "=" + WriteParameter(value);
    }
    return text;
}

} // namespace tunnelcc
