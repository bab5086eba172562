/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion/congestion-registry.h"
#include "experiment/model-version.h"
#include "probe/columns.h"
#include "spec/spec-text.h"
#include "tunnel/wire-bytes.h"
#include "wasm/module.h"

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

namespace tunnelcc
{

namespace
{

using Json = nlohmann::json;

const char*
NameKind(ValueKind kind)
{
    switch (kind)
    {
    case ValueKind::SWITCH:
        return "SWITCH";
    case ValueKind::COUNT:
        return "COUNT";
    case ValueKind::NUMBER:
        return "NUMBER";
    case ValueKind::CHOICE:
        return "CHOICE";
    case ValueKind::TEXT:
        return "TEXT";
    case ValueKind::PART:
        return "PART";
    }
    __builtin_trap();
}

Json
Describe(const Descriptor& it)
{
    Json value;
    if (it.defaultValue)
    {
        std::visit([&](const auto& held) { value = held; }, *it.defaultValue);
    }
    return {{"name", it.name},
            {"kind", {{"name", NameKind(it.kind)}}},
            {"default", value},
            {"unit", it.unit},
            {"minimum", it.minimum},
            {"maximum", it.maximum},
            {"or_zero", it.orZero},
            {"choices", it.choices},
            {"doc", it.doc},
            {"source", it.source}};
}

Json
Describe(const std::vector<Descriptor>& list)
{
    Json described = Json::array();
    for (const Descriptor& it : list)
    {
        described.push_back(Describe(it));
    }
    return described;
}

/// The tables of measurements and of congestion controls, and the version of the models.
Json
DescribeModels()
{
    Json measurements = Json::array();
    for (const MeasurementInfo& it : ListMeasurements())
    {
        measurements.push_back({{"name", it.what.name},
                                {"unit", it.what.unit},
                                {"meaning", it.what.doc},
                                {"dimensions", it.dimensions},
                                {"since_start", it.span == Span::WHOLE_RUN},
                                {"is_moment", it.span == Span::MOMENT},
                                {"is_count", it.what.kind == ValueKind::COUNT}});
    }
    Json algorithms = Json::array();
    for (const CongestionAlgorithmInfo& it : ListCongestionControls())
    {
        algorithms.push_back({{"name", it.name},
                              {"summary", it.summary},
                              {"source", it.source},
                              {"note", it.note},
                              {"needs_ecn", NeedsEcn(it.name)},
                              {"parameters", Describe(GetCongestionParameters(it.name))}});
    }
    return {{"measurements", measurements},
            {"algorithms", algorithms},
            {"model_version", ModelVersion()},
            {"compiler", __VERSION__}};
}

/// A result: a line of JSON with the names and shapes of all arrays, and then their values as they
/// are in memory (IEEE 754 doubles, little-endian), so that every bit is kept.
std::string
PackResult(const ExperimentResult& result)
{
    const Columns columns = ToColumns(result);
    Json numbers = Json::array();
    Json texts = Json::array();
    std::string values;
    for (const Column& column : columns.numbers)
    {
        numbers.push_back({column.name, column.shape});
        values.append(reinterpret_cast<const char*>(column.values.data()),
                      column.values.size() * sizeof(double));
    }
    for (const TextColumn& column : columns.texts)
    {
        texts.push_back({column.name, column.shape, column.values});
    }
    std::string head = Json{{"numbers", numbers},
                            {"texts", texts},
                            {"flow_legs", columns.flowLegs},
                            {"flow_channels", columns.flowChannels},
                            {"packet_tunnels", columns.packetTunnels}}
                           .dump();
    return head + '\n' + values;
}

} // namespace

} // namespace tunnelcc

extern "C"
{
    /// \returns DescribeModels()
    __attribute__((export_name("describe"))) const char* TunnelccDescribe()
    {
        return tunnelcc::Give(tunnelcc::DescribeModels().dump());
    }

    /// Run the specification. \returns PackResult()
    __attribute__((export_name("measure"))) const char* TunnelccMeasure()
    {
        return tunnelcc::Give(tunnelcc::PackResult(tunnelcc::RunInput()));
    }

    /// \returns the members of all structs of specifications
    __attribute__((export_name("specification"))) const char* TunnelccSpecification()
    {
        tunnelcc::Json structs;
        for (const auto& [name, members] : tunnelcc::ListSpecMembers())
        {
            structs[name] = tunnelcc::Describe(members);
        }
        return tunnelcc::Give(structs.dump());
    }

    /// \returns the specification with all its members
    __attribute__((export_name("completeSpec"))) const char* TunnelccCompleteSpec()
    {
        return tunnelcc::Give(tunnelcc::FormatSpec(tunnelcc::ParseSpec(tunnelcc::GetInput())));
    }

    /// \returns the sizes of writes for a message, through the layers of the text
    __attribute__((export_name("layerWireBytes"))) const char* TunnelccLayerWireBytes(
        uint32_t messageBytes,
        uint64_t alreadySent)
    {
        const auto layers = tunnelcc::ParseLayers(tunnelcc::GetInput());
        const auto writes = tunnelcc::LayerWireBytes(layers, messageBytes, alreadySent);
        return tunnelcc::Give(tunnelcc::Json(writes).dump());
    }
}
