/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "columns.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tunnelcc
{

namespace
{

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();

// What the structs are of.
constexpr std::string_view OF_RUN, OF_FLOW = "flow", OF_LEG = "leg", OF_LINK = "link direction",
                                   OF_TUNNEL = "packet_tunnel direction", OF_HOST = "host",
                                   OF_CROSS_TRAFFIC = "cross_traffic", OF_PING = "ping";

template <class Member>
inline constexpr bool IS_SERIES = false;
template <class Value>
inline constexpr bool IS_SERIES<std::vector<Value>> = true;

template <class Member>
inline constexpr bool IS_COUNT = std::is_integral_v<Member>;
template <class Value>
inline constexpr bool IS_COUNT<std::optional<Value>> = std::is_integral_v<Value>;

template <class Member>
inline constexpr bool IS_TEXT =
    std::is_same_v<Member, std::string> || std::is_same_v<Member, std::vector<std::string>>;

/// Lists the rows of the structs' tables.
class Lister
{
  public:
    explicit Lister(std::vector<MeasurementInfo>& list)
        : m_list(list)
    {
    }

    template <class T>
    void Add(std::string_view of)
    {
        std::apply([&](const auto&... row) { (AddRow(of, row), ...); }, T::Table());
    }

  private:
    template <class T, class Member>
    void AddRow(std::string_view of, const Measurement<T, Member>& row)
    {
        std::string dimensions(of);
        if (IS_SERIES<Member>)
        {
            dimensions += dimensions.empty() ? "time" : " time";
        }
        m_list.push_back({{.name = std::string(row.name),
                           .kind = IS_TEXT<Member>    ? ValueKind::TEXT
                                   : IS_COUNT<Member> ? ValueKind::COUNT
                                                      : ValueKind::NUMBER,
                           .unit = std::string(row.unit),
                           .doc = std::string(row.meaning)},
                          dimensions,
                          row.span});
    }

    std::vector<MeasurementInfo>& m_list;
};

/// Fills columns. What nothing in the run has gets none.
class Filler
{
  public:
    Filler(Columns& columns, size_t probes)
        : m_columns(columns),
          m_probes(probes)
    {
    }

    /// Add a column for each row of a table. \param things of which structs; null: it has none
    /// \param shape of the things
    template <class T>
    void Add(std::span<const T* const> things, const std::vector<size_t>& shape)
    {
        bool any = false;
        for (const T* thing : things)
        {
            any |= thing != nullptr;
        }
        if (any)
        {
            std::apply([&](const auto&... row) { (AddRow(things, shape, row), ...); }, T::Table());
        }
    }

  private:
    template <class T, class Member>
    void AddRow(std::span<const T* const> things,
                std::vector<size_t> shape,
                const Measurement<T, Member>& row)
    {
        if (IS_SERIES<Member>)
        {
            shape.push_back(m_probes);
        }
        if constexpr (IS_TEXT<Member>)
        {
            Fill(m_columns.texts.emplace_back(TextColumn{row.name, std::move(shape), {}}).values,
                 things,
                 row,
                 {});
        }
        else
        {
            Fill(m_columns.numbers.emplace_back(Column{row.name, std::move(shape), {}}).values,
                 things,
                 row,
                 NONE);
        }
    }

    template <class T, class Member, class Value>
    void Fill(std::vector<Value>& values,
              std::span<const T* const> things,
              const Measurement<T, Member>& row,
              const Value& none)
    {
        const size_t count = IS_SERIES<Member> ? m_probes : 1;
        values.reserve(things.size() * count);
        for (const T* thing : things)
        {
            if (thing)
            {
                Append(values, thing->*row.member);
            }
            else
            {
                values.insert(values.end(), count, none);
            }
        }
    }

    template <class Value, class Own>
    static void Append(std::vector<Value>& values, const Own& value)
    {
        values.push_back(static_cast<Value>(value));
    }

    template <class Number>
    static void Append(std::vector<double>& values, const std::optional<Number>& number)
    {
        values.push_back(number ? static_cast<double>(*number) : NONE);
    }

    template <class Value>
    static void Append(std::vector<Value>& values, const std::vector<Value>& series)
    {
        values.insert(values.end(), series.begin(), series.end());
    }

    Columns& m_columns;
    const size_t m_probes;
};

/// Pointers to what `part` returns of each thing.
template <class T, class Things, class Part>
std::vector<const T*>
Parts(const Things& things, Part&& part)
{
    std::vector<const T*> parts;
    for (const auto& thing : things)
    {
        parts.push_back(part(thing));
    }
    return parts;
}

template <class T>
const T*
ToPointer(const std::optional<T>& value)
{
    return value ? &*value : nullptr;
}

void
AddLegs(Filler& filler, const std::vector<LegResult>& legs)
{
    const std::vector<size_t> shape{legs.size()};
    auto add = [&]<class T>(auto part) { filler.Add<T>(Parts<T>(legs, part), shape); };
    add.operator()<LegResult>([](const LegResult& leg) { return &leg; });
    add.operator()<LimitTimes>([](const LegResult& leg) { return &leg.limits; });
    add.operator()<ArqResult>([](const LegResult& leg) { return ToPointer(leg.arq); });
    add.operator()<CongestionSeries>(
        [](const LegResult& leg) { return ToPointer(leg.congestion); });
}

void
AddTunnels(Columns& columns, Filler& filler, const std::vector<TunnelResult>& tunnels)
{
    std::vector<const PacketTunnelResult*> ways;
    for (uint32_t number = 0; number < tunnels.size(); ++number)
    {
        if (tunnels[number].forward)
        {
            columns.packetTunnels.push_back(number);
            ways.push_back(&*tunnels[number].forward);
            ways.push_back(&*tunnels[number].reverse);
        }
    }
    const std::vector<size_t> shape{columns.packetTunnels.size(), 2};
    filler.Add<PacketTunnelResult>(ways, shape);
    filler.Add<FecResult>(
        Parts<FecResult>(ways, [](const PacketTunnelResult* way) { return ToPointer(way->fec); }),
        shape);
    filler.Add<UplinksResult>(
        Parts<UplinksResult>(ways,
                             [](const PacketTunnelResult* way) { return ToPointer(way->uplinks); }),
        shape);
}

nlohmann::json
Nested(const auto& values, std::span<const size_t> shape, size_t first, size_t count)
{
    if (shape.empty())
    {
        return values[first];
    }
    nlohmann::json list = nlohmann::json::array();
    const size_t size = shape[0] > 0 ? count / shape[0] : 0;
    for (size_t i = 0; i < shape[0]; ++i)
    {
        list.push_back(Nested(values, shape.subspan(1), first + i * size, size));
    }
    return list;
}

} // namespace

std::vector<MeasurementInfo>
ListMeasurements()
{
    std::vector<MeasurementInfo> list;
    Lister lister(list);
    lister.Add<ExperimentResult>(OF_RUN);
    lister.Add<FlowResult>(OF_FLOW);
    lister.Add<MessageResult>(OF_FLOW);
    lister.Add<MessageSeries>(OF_FLOW);
    lister.Add<LegResult>(OF_LEG);
    lister.Add<LimitTimes>(OF_LEG);
    lister.Add<ArqResult>(OF_LEG);
    lister.Add<CongestionSeries>(OF_LEG);
    lister.Add<LinkResult>(OF_LINK);
    lister.Add<PacketTunnelResult>(OF_TUNNEL);
    lister.Add<FecResult>(OF_TUNNEL);
    lister.Add<UplinksResult>(OF_TUNNEL);
    lister.Add<HostResult>(OF_HOST);
    lister.Add<FlowDatagramResult>(OF_FLOW);
    lister.Add<MultipathResult>(OF_FLOW);
    lister.Add<CrossTrafficResult>(OF_CROSS_TRAFFIC);
    lister.Add<PingResult>(OF_PING);
    return list;
}

Columns
ToColumns(const ExperimentResult& result)
{
    Columns columns;
    Filler filler(columns, result.time.size());
    filler.Add<ExperimentResult>(std::vector{&result}, {});
    const std::vector<size_t> flows{result.flows.size()};
    filler.Add<FlowResult>(
        Parts<FlowResult>(result.flows, [](const FlowResult& flow) { return &flow; }),
        flows);
    filler.Add<MessageResult>(
        Parts<MessageResult>(result.flows, [](const FlowResult& flow) { return &flow.messages; }),
        flows);
    filler.Add<MessageSeries>(
        Parts<MessageSeries>(result.flows,
                             [](const FlowResult& flow) { return ToPointer(flow.messageSeries); }),
        flows);
    filler.Add<FlowDatagramResult>(
        Parts<FlowDatagramResult>(result.flows,
                                  [](const FlowResult& flow) { return ToPointer(flow.datagrams); }),
        flows);
    filler.Add<MultipathResult>(
        Parts<MultipathResult>(result.flows,
                               [](const FlowResult& flow) { return ToPointer(flow.multipath); }),
        flows);
    for (const FlowResult& flow : result.flows)
    {
        columns.flowLegs.push_back(flow.legs);
        auto& channels = columns.flowChannels.emplace_back();
        for (const LimitTimes& times : flow.channels)
        {
            std::apply([&](const auto&... row) { channels.push_back({times.*row.member...}); },
                       LimitTimes::Table());
        }
    }
    AddLegs(filler, result.legs);
    std::vector<const LinkResult*> ways;
    for (const DuplexLinkResult& link : result.links)
    {
        ways.push_back(&link.forward);
        ways.push_back(&link.reverse);
    }
    filler.Add<LinkResult>(ways, {result.links.size(), 2});
    AddTunnels(columns, filler, result.tunnels);
    filler.Add<HostResult>(
        Parts<HostResult>(result.hosts, [](const HostResult& host) { return &host; }),
        {result.hosts.size()});
    filler.Add<CrossTrafficResult>(
        Parts<CrossTrafficResult>(result.crossTraffic,
                                  [](const CrossTrafficResult& source) { return &source; }),
        {result.crossTraffic.size()});
    filler.Add<PingResult>(
        Parts<PingResult>(result.pings, [](const PingResult& ping) { return &ping; }),
        {result.pings.size()});
    return columns;
}

std::string
FormatResult(const ExperimentResult& result)
{
    const Columns columns = ToColumns(result);
    nlohmann::json json = nlohmann::json::object();
    for (const Column& column : columns.numbers)
    {
        json[std::string(column.name)] =
            Nested(column.values, column.shape, 0, column.values.size());
    }
    for (const TextColumn& column : columns.texts)
    {
        json[std::string(column.name)] =
            Nested(column.values, column.shape, 0, column.values.size());
    }
    json["flow_legs"] = columns.flowLegs;
    json["flow_channels"] = columns.flowChannels;
    json["packet_tunnels"] = columns.packetTunnels;
    return json.dump();
}

} // namespace tunnelcc
