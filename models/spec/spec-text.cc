/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "spec-text.h"

#include "fields.h"
#include "json.h"
#include "refuse.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

template <class T>
T
Parse(std::string_view text)
{
    T value;
    Read(Json::parse(text), "", value, {});
    return value;
}

/// Refuse the number of something that a list does not have.
template <class T>
void
CheckNumber(size_t number, const std::vector<T>& list, const std::string& where)
{
    if (number >= list.size())
    {
        Refuse(where + ": expected a number below " + std::to_string(list.size()) + ", got " +
               std::to_string(number));
    }
}

/// Refuse steps that are not in order of time.
template <class Step>
void
CheckSteps(const std::vector<Step>& steps, const std::string& where)
{
    for (size_t i = 1; i < steps.size(); ++i)
    {
        if (steps[i].time <= steps[i - 1].time)
        {
            Refuse(where + "." + std::to_string(i) + ".time: expected more than " +
                   std::to_string(steps[i - 1].time) + ", got " + std::to_string(steps[i].time));
        }
    }
}

void
CheckLink(const LinkSpec& link, const std::string& where)
{
    CheckSteps(link.delaySteps, where + ".delay_steps");
    CheckSteps(link.rateSteps, where + ".rate_steps");
    CheckSteps(link.bufferSteps, where + ".buffer_steps");
    CheckSteps(link.lossSteps, where + ".loss_steps");
    if (link.ratePeriod > 0)
    {
        if (link.rateSteps.empty() || link.rateSteps.back().time != link.ratePeriod)
        {
            Refuse(where + ".rate_period: expected the time of the last step, or 0");
        }
        auto isZero = [](const RateStep& step) { return step.rate == 0; };
        if (link.rate == 0 && std::ranges::all_of(link.rateSteps, isZero))
        {
            Refuse(where + ".rate_steps: expected a rate above 0 in each period");
        }
    }
    if (link.gilbertElliott && !link.lossSteps.empty())
    {
        Refuse(where + ".loss_steps: expected none with gilbert_elliott");
    }
    int64_t end = 0;
    for (size_t i = 0; i < link.outages.size(); ++i)
    {
        const OutageSpec& outage = link.outages[i];
        const std::string key = where + ".outages." + std::to_string(i);
        if (outage.begin < end)
        {
            Refuse(key + ".begin: expected " + std::to_string(end) + " at least");
        }
        if (outage.end <= outage.begin)
        {
            Refuse(key + ".end: expected more than " + std::to_string(outage.begin));
        }
        end = outage.end;
    }
    if (!std::holds_alternative<DropTailSpec>(link.queue) && link.rate == 0 &&
        link.rateSteps.empty())
    {
        Refuse(where + ".queue: expected drop-tail without a rate");
    }
    const auto* red = std::get_if<RedSpec>(&link.queue);
    if (red && red->maxThreshold <= red->minThreshold)
    {
        Refuse(where + ".queue.max_threshold: expected more than min_threshold");
    }
}

/// Refuse times that do not fit together.
void
CheckTimes(const ExperimentSpec& spec)
{
    constexpr int64_t MOST_SAMPLES = 10'000'000;
    if (spec.warmup >= spec.duration)
    {
        Refuse("warmup: expected less than duration, " + std::to_string(spec.duration));
    }
    if (spec.duration / spec.probeInterval > MOST_SAMPLES)
    {
        Refuse("probe_interval: expected at most " + std::to_string(MOST_SAMPLES) +
               " of it in duration");
    }
}

void
CheckRoute(const RouteSpec& route, const ExperimentSpec& spec, const std::string& where)
{
    for (End end : ENDS)
    {
        const std::string name(NamesOf(end)[static_cast<size_t>(end)]);
        CheckNumber(route.hosts[end], spec.hosts, where + ".hosts." + name);
        const std::vector<RouteStepSpec>& steps = route.sent[end];
        const std::string key = where + ".sent." + name;
        if (steps.empty())
        {
            Refuse(key + ": expected one link at least");
        }
        for (size_t i = 0; i < steps.size(); ++i)
        {
            CheckNumber(steps[i].link, spec.links, key + "." + std::to_string(i) + ".link");
        }
    }
}

void
CheckAccess(const AccessSpec& access, const ExperimentSpec& spec, const std::string& where)
{
    for (End end : ENDS)
    {
        if (access.routes[end])
        {
            const std::string name(NamesOf(end)[static_cast<size_t>(end)]);
            CheckNumber(*access.routes[end], spec.routes, where + ".routes." + name);
        }
    }
}

void
CheckTunnel(const RelaySpec& relay, const ExperimentSpec& spec, const std::string& where)
{
    if (relay.hops.empty())
    {
        Refuse(where + ".hops: expected one at least");
    }
    for (size_t i = 0; i < relay.hops.size(); ++i)
    {
        const HopSpec& hop = relay.hops[i];
        const std::string key = where + ".hops." + std::to_string(i);
        CheckNumber(hop.route, spec.routes, key + ".route");
        if (hop.under)
        {
            CheckNumber(*hop.under, spec.tunnels, key + ".under");
            const auto* below = std::get_if<DatagramTunnelSpec>(&spec.tunnels[*hop.under]);
            if (!below || below->under)
            {
                Refuse(key + ".under: expected a datagram tunnel, through no other");
            }
        }
    }
}

void
CheckUplinks(const UplinksSpec& uplinks, const ExperimentSpec& spec, const std::string& where)
{
    for (size_t i = 0; i < uplinks.routes.size(); ++i)
    {
        CheckNumber(uplinks.routes[i], spec.routes, where + ".routes." + std::to_string(i));
    }
    if ((uplinks.use == UplinkUse::FAIL_OVER || uplinks.use == UplinkUse::MEASURED) &&
        uplinks.interval <= 0)
    {
        Refuse(where + ".interval: expected more than 0");
    }
    for (End end : ENDS)
    {
        if ((uplinks.use == UplinkUse::WEIGHTS || uplinks.use == UplinkUse::MEASURED) &&
            uplinks.weights[end].size() != uplinks.routes.size() + 1)
        {
            Refuse(where + ".weights: expected one for each route");
        }
    }
}

/// Refuse a flow that takes a route which its tunnel does not have.
void
CheckUplink(const FlowSpec& flow, const ExperimentSpec& spec, const std::string& where)
{
    const auto* tunnel = std::get_if<DatagramTunnelSpec>(&spec.tunnels.at(*flow.tunnel));
    if (tunnel && tunnel->uplinks && tunnel->uplinks->use == UplinkUse::FLOWS &&
        flow.carrier > tunnel->uplinks->routes.size())
    {
        Refuse(where + ".carrier: expected the number of a route of its tunnel");
    }
}

template <class PacketTunnelSpec>
void
CheckTunnel(const PacketTunnelSpec& tunnel, const ExperimentSpec& spec, const std::string& where)
{
    CheckNumber(tunnel.route, spec.routes, where + ".route");
    if constexpr (requires { tunnel.uplinks; })
    {
        if (tunnel.uplinks)
        {
            CheckUplinks(*tunnel.uplinks, spec, where + ".uplinks");
        }
    }
    if (!tunnel.under)
    {
        return;
    }
    const std::string key = where + ".under";
    CheckNumber(tunnel.under->route, spec.routes, key + ".route");
    CheckNumber(tunnel.under->tcp, spec.tcp, key + ".tcp");
    CheckAccess(tunnel.under->access, spec, key + ".access");
    if (!tunnel.under->tunnel)
    {
        Refuse(key + ".tunnel: expected the number of a tunnel");
    }
    CheckNumber(*tunnel.under->tunnel, spec.tunnels, key + ".tunnel");
    CheckUplink(*tunnel.under, spec, key);
    if (!std::holds_alternative<RelaySpec>(spec.tunnels[*tunnel.under->tunnel]))
    {
        return;
    }
    if (!std::is_same_v<PacketTunnelSpec, DatagramTunnelSpec>)
    {
        Refuse(key + ".tunnel: expected the number of a tunnel of packets");
    }
    if (!tunnel.under->datagrams)
    {
        Refuse(key + ".datagrams: expected what a relay carries");
    }
}

/// IP bytes of the largest packet of a connection with these settings.
uint32_t
LargestOf(const TcpSpec& tcp)
{
    return std::max(tcp.mss + tcp.headerBytes, tcp.synBytes);
}

/// IP bytes of the largest packet of a flow.
uint32_t
LargestOf(const FlowSpec& flow, const ExperimentSpec& spec)
{
    if (flow.datagrams)
    {
        const DatagramSpec& it = *flow.datagrams;
        return std::max({it.full > 0 ? it.packet : 0, it.last, it.answer});
    }
    return LargestOf(spec.tcp.at(flow.tcp));
}

/// Refuse a table by IP bytes that lacks packets which enter its tunnel.
template <class T>
void
CheckTable(const std::vector<T>& table, uint32_t largest, const std::string& where)
{
    if (table.size() <= largest)
    {
        Refuse(where + ": expected the sizes of packets of up to " + std::to_string(largest) +
               " bytes, got " + std::to_string(table.size()) + " numbers");
    }
}

/// Refuse a tunnel that does not know what becomes of what enters it. \param number its own
void
CheckTables(const TunnelSpec& tunnel, size_t number, const ExperimentSpec& spec)
{
    uint32_t largest = 0;
    for (const FlowSpec& flow : spec.flows)
    {
        largest = flow.tunnel == number ? std::max(largest, LargestOf(flow, spec)) : largest;
    }
    const std::string key = "tunnels." + std::to_string(number);
    if (const auto* stream = std::get_if<StreamTunnelSpec>(&tunnel))
    {
        CheckTable(stream->writes, largest, key + ".writes");
    }
    if (const auto* quic = std::get_if<QuicTunnelSpec>(&tunnel))
    {
        CheckTable(quic->payloads, largest, key + ".payloads");
    }
    const auto* datagram = std::get_if<DatagramTunnelSpec>(&tunnel);
    if (datagram && !datagram->fec)
    {
        CheckTable(datagram->outer, largest, key + ".outer");
    }
    else if (datagram && !datagram->fec->inner.empty())
    {
        CheckTable(datagram->fec->inner, largest, key + ".fec.inner");
    }
}

/// Refuse tunnels that go through themselves.
void
CheckCircles(const ExperimentSpec& spec)
{
    for (size_t i = 0; i < spec.tunnels.size(); ++i)
    {
        size_t depth = 0;
        for (const FlowSpec* under = UnderOf(spec.tunnels[i]); under;
             under = UnderOf(spec.tunnels[*under->tunnel]))
        {
            if (++depth > spec.tunnels.size())
            {
                Refuse("tunnels." + std::to_string(i) + ".under: expected no circle");
            }
        }
    }
}

/// Refuse a specification that refers to what it does not have.
void
CheckNumbers(const ExperimentSpec& spec)
{
    auto key = [](const char* list, size_t i) { return list + ("." + std::to_string(i)); };
    CheckTimes(spec);
    for (size_t i = 0; i < spec.links.size(); ++i)
    {
        CheckLink(spec.links[i].forward, key("links", i) + ".forward");
        CheckLink(spec.links[i].reverse, key("links", i) + ".reverse");
    }
    for (size_t i = 0; i < spec.hosts.size(); ++i)
    {
        CheckNumber(spec.hosts[i].machine, spec.hosts, key("hosts", i) + ".machine");
    }
    for (size_t i = 0; i < spec.routes.size(); ++i)
    {
        CheckRoute(spec.routes[i], spec, key("routes", i));
    }
    for (size_t i = 0; i < spec.tunnels.size(); ++i)
    {
        std::visit([&](const auto& it) { CheckTunnel(it, spec, key("tunnels", i)); },
                   spec.tunnels[i]);
        auto isThrough = [=](const FlowSpec& flow) { return flow.tunnel == i; };
        auto isAbove = [=](const TunnelSpec& tunnel) {
            const FlowSpec* under = UnderOf(tunnel);
            return under && under->tunnel == i;
        };
        const bool needsFlow = std::holds_alternative<StreamTunnelSpec>(spec.tunnels[i]) ||
                               std::holds_alternative<QuicTunnelSpec>(spec.tunnels[i]);
        if (needsFlow && std::ranges::none_of(spec.flows, isThrough) &&
            std::ranges::none_of(spec.tunnels, isAbove))
        {
            Refuse(key("tunnels", i) + ": expected a flow through it");
        }
    }
    CheckCircles(spec);
    for (size_t i = 0; i < spec.flows.size(); ++i)
    {
        const FlowSpec& flow = spec.flows[i];
        CheckNumber(flow.route, spec.routes, key("flows", i) + ".route");
        if (flow.tunnel)
        {
            CheckNumber(*flow.tunnel, spec.tunnels, key("flows", i) + ".tunnel");
            CheckUplink(flow, spec, key("flows", i));
        }
        CheckAccess(flow.access, spec, key("flows", i) + ".access");
        if (flow.role != FlowRole::FLOW && !flow.datagrams)
        {
            Refuse(key("flows", i) + ".role: expected datagrams");
        }
        if (i > 0 && flow.role < spec.flows[i - 1].role)
        {
            Refuse(key("flows", i) + ".role: expected flows before cross traffic before pings");
        }
        if (flow.datagrams && (flow.datagrams->rate == 0 || flow.datagrams->last == 0))
        {
            Refuse(key("flows", i) + ".datagrams: expected a rate and a size above 0");
        }
        if (flow.datagrams && flow.datagrams->drawsPeriods && flow.datagrams->on == 0)
        {
            Refuse(key("flows", i) + ".datagrams.on: expected more than 0 with draws_periods");
        }
        if (!flow.datagrams && flow.writeSize == 0)
        {
            Refuse(key("flows", i) + ".write_size: expected 1 at least");
        }
        if (flow.datagrams && !flow.tunnel)
        {
            continue;
        }
        CheckNumber(flow.tcp, spec.tcp, key("flows", i) + ".tcp");
        CheckNumber(flow.appTcp, spec.tcp, key("flows", i) + ".app_tcp");
        CheckNumber(flow.targetTcp, spec.tcp, key("flows", i) + ".target_tcp");
    }
    for (size_t i = 0; i < spec.tunnels.size(); ++i)
    {
        CheckTables(spec.tunnels[i], i, spec);
    }
}

} // namespace

ExperimentSpec
ParseSpec(std::string_view text)
{
    auto spec = Parse<ExperimentSpec>(text);
    CheckNumbers(spec);
    return spec;
}

std::string
FormatSpec(const ExperimentSpec& spec)
{
    Json json;
    Write(spec, json);
    return json.dump();
}

CaptureSpec
ParseCapture(std::string_view text)
{
    return Parse<CaptureSpec>(text);
}

NodeTunnelSpec
ParseNodeTunnel(std::string_view text)
{
    return Parse<NodeTunnelSpec>(text);
}

std::vector<LayerSpec>
ParseLayers(std::string_view text)
{
    return Parse<std::vector<LayerSpec>>(text);
}

std::map<std::string, std::vector<Descriptor>>
ListSpecMembers()
{
    std::map<std::string_view, const Fields*> tables;
    AddTable(ExperimentSpec::GetFields(), tables);
    std::map<std::string, std::vector<Descriptor>> members;
    for (const auto& [name, table] : tables)
    {
        for (const Field& field : table->fields)
        {
            members[std::string(name)].push_back(field.what);
        }
    }
    return members;
}

} // namespace tunnelcc
