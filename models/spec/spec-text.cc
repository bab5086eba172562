/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "spec-text.h"

#include "fields-json.h"

namespace tunnelcc
{

namespace
{

template <class T>
T
Parse(std::string_view text)
{
    T value;
    try
    {
        FromJson(Json::parse(text), "", value);
    }
    catch (const Json::parse_error& error)
    {
        throw std::invalid_argument("specification: expected JSON, " + std::string(error.what()));
    }
    return value;
}

} // namespace

ExperimentSpec
ParseSpec(std::string_view text)
{
    return Parse<ExperimentSpec>(text);
}

std::string
FormatSpec(const ExperimentSpec& spec)
{
    return ToJson(spec).dump();
}

std::vector<LayerSpec>
ParseLayers(std::string_view text)
{
    return Parse<std::vector<LayerSpec>>(text);
}

} // namespace tunnelcc
