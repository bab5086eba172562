/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "spec-text.h"

#include "fields-json.h"
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
    FromJson(Json::parse(text), "", value);
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

void
CheckRoute(const RouteSpec& route, const ExperimentSpec& spec, const std::string& where)
{
    for (End end : ENDS)
    {
        const std::string name(ENUM_NAMES<End>.at(static_cast<size_t>(end)));
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
            const std::string name(ENUM_NAMES<End>.at(static_cast<size_t>(end)));
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
    if (uplinks.use == UplinkUse::FAIL_OVER && uplinks.interval <= 0)
    {
        Refuse(where + ".interval: expected more than 0");
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
    if (std::is_same_v<PacketTunnelSpec, StreamTunnelSpec>)
    {
        Refuse(key + ".tunnel: expected the number of a tunnel of packets");
    }
    if (!tunnel.under->datagrams)
    {
        Refuse(key + ".datagrams: expected what a relay carries");
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
        if (std::holds_alternative<StreamTunnelSpec>(spec.tunnels[i]) &&
            std::ranges::none_of(spec.flows, isThrough) &&
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
        if (flow.datagrams && !flow.tunnel)
        {
            continue;
        }
        CheckNumber(flow.tcp, spec.tcp, key("flows", i) + ".tcp");
        CheckNumber(flow.appTcp, spec.tcp, key("flows", i) + ".app_tcp");
        CheckNumber(flow.targetTcp, spec.tcp, key("flows", i) + ".target_tcp");
    }
}

using Members = std::map<std::string, std::vector<std::string>>;

/// The name of a struct, without its namespace; that of an instance of a template has a "<".
template <class T>
std::string
NameOf()
{
    const std::string_view function = __PRETTY_FUNCTION__; // "… [with T = tunnelcc::LinkSpec; …"
    const size_t begin = function.find("T = ") + 4;
    std::string_view name = function.substr(begin, function.find_first_of(";]", begin) - begin);
    name.remove_prefix(std::string_view("tunnelcc::").size());
    return std::string(name);
}

/// Adds the members of a struct, and of all structs that these members are or contain.
template <class T>
struct MemberList
{
    static void AddTo(Members& members)
    {
        if constexpr (HasFields<T>)
        {
            const std::string name = NameOf<T>();
            if (name.find('<') != std::string::npos ||
                members.emplace(name, FieldNames<T>()).second)
            {
                T object;
                VisitFields(object, [&]<class Member>(const std::string&, const Member&) {
                    MemberList<Member>::AddTo(members);
                });
            }
        }
    }
};

template <class T>
struct MemberList<std::vector<T>> : MemberList<T>
{
};

template <class T>
struct MemberList<std::optional<T>> : MemberList<T>
{
};

template <class... T>
struct MemberList<std::variant<T...>>
{
    static void AddTo(Members& members)
    {
        (MemberList<T>::AddTo(members), ...);
    }
};

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
    return ToJson(spec).dump();
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

std::map<std::string, std::vector<std::string>>
ListSpecMembers()
{
    Members members;
    MemberList<ExperimentSpec>::AddTo(members);
    return members;
}

} // namespace tunnelcc
