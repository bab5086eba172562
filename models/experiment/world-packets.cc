/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * How a world builds tunnels that carry packets: connections from end to end, whose packets enter
 * and leave through the tunnel's devices.
 */
#include "world.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

bool
Crosses(const RouteSpec& route, End sender, const RouteStepSpec& step)
{
    const std::vector<RouteStepSpec>& steps = route.sent[sender];
    return std::any_of(steps.begin(), steps.end(), [&](const RouteStepSpec& it) {
        return it.link == step.link && it.isReverse == step.isReverse;
    });
}

/// Numbers of the routes that what is in a tunnel takes.
std::vector<uint32_t>
RoutesOf(const TunnelSpec& tunnel)
{
    if (const auto* relay = std::get_if<RelaySpec>(&tunnel))
    {
        std::vector<uint32_t> routes;
        for (const HopSpec& hop : relay->hops)
        {
            routes.push_back(hop.route);
        }
        return routes;
    }
    const auto* datagram = std::get_if<DatagramTunnelSpec>(&tunnel);
    return {datagram ? datagram->route : std::get<StreamTunnelSpec>(tunnel).route};
}

/// Whether nothing but what one end of a tunnel sends crosses this link in this direction.
bool
IsAlone(const ExperimentSpec& spec, uint32_t tunnel, End sender, const RouteStepSpec& step)
{
    for (uint32_t number = 0; number < spec.tunnels.size(); ++number)
    {
        for (uint32_t route : RoutesOf(spec.tunnels[number]))
        {
            for (End end : ENDS)
            {
                bool isItself = number == tunnel && end == sender;
                if (!isItself && Crosses(spec.routes[route], end, step))
                {
                    return false;
                }
            }
        }
    }
    for (const FlowSpec& flow : spec.flows)
    {
        const RouteSpec& route = spec.routes[flow.route];
        if (!flow.tunnel &&
            (Crosses(route, End::CLIENT, step) || Crosses(route, End::SERVER, step)))
        {
            return false;
        }
    }
    return std::none_of(spec.crossTraffic.begin(),
                        spec.crossTraffic.end(),
                        [&](const auto& source) {
                            return Crosses(spec.routes[source.route], source.sender, step);
                        });
}

/// Whether every thread on a host's machine has a core to itself, and pays nothing for finding it.
bool
HasCores(const ExperimentSpec& spec, uint32_t host)
{
    constexpr uint32_t THREADS = 2; // of each end of a tunnel of packets: one for each direction
    const uint32_t machine = spec.hosts[host].machine;
    std::vector<bool> hasApplication(spec.hosts.size());
    uint32_t threads = 0;
    for (const TunnelSpec& tunnel : spec.tunnels)
    {
        for (uint32_t route : RoutesOf(tunnel))
        {
            for (End end : ENDS)
            {
                if (spec.hosts[spec.routes[route].hosts[end]].machine != machine)
                {
                    continue;
                }
                if (std::holds_alternative<RelaySpec>(tunnel))
                {
                    return false; // threads without number
                }
                threads += THREADS;
            }
        }
    }
    for (const FlowSpec& flow : spec.flows)
    {
        for (End end : ENDS)
        {
            uint32_t at = spec.routes[flow.route].hosts[end];
            if (flow.appPerByte[end] > 0 && spec.hosts[at].machine == machine)
            {
                hasApplication[at] = true;
            }
        }
    }
    threads +=
        static_cast<uint32_t>(std::count(hasApplication.begin(), hasApplication.end(), true));
    return spec.hosts[host].switchCost == 0 && threads <= spec.hosts[host].cores;
}

} // namespace

Lookahead
World::LookaheadOf(uint32_t number, End sender)
{
    const auto& tunnel = std::get<DatagramTunnelSpec>(m_spec.tunnels[number]);
    const RouteSpec& route = m_spec.routes.at(tunnel.route);
    PathDirection* link = m_network.OnlyLink(tunnel.route, sender);
    std::optional<int64_t> extraDelay;
    for (const FlowSpec& flow : m_spec.flows)
    {
        if (flow.tunnel != number)
        {
            continue;
        }
        if (extraDelay.value_or(flow.extraDelay[sender]) != flow.extraDelay[sender])
        {
            return std::nullopt; // packets come out of order
        }
        extraDelay = flow.extraDelay[sender];
    }
    bool waits = tunnel.fec && (tunnel.fec->timeout > 0 || tunnel.fec->packing == FecPacking::BLOB);
    bool isPrompt = !waits && HasCores(m_spec, route.hosts.client) &&
                    HasCores(m_spec, route.hosts.server) && !tunnel.end.sharesThread;
    if (!link || !link->IsClocked() || !isPrompt ||
        !IsAlone(m_spec, number, sender, route.sent[sender].front()))
    {
        return std::nullopt;
    }
    return m_network.LastDelay(tunnel.route, sender) + extraDelay.value_or(0);
}

void
World::AddDatagramTunnel(uint32_t number, const DatagramTunnelSpec& spec)
{
    Tunnel& tunnel = m_tunnels[number];
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    tunnel.lookaheads =
        MakePerEnd(End::CLIENT, [&](End sender) { return LookaheadOf(number, sender); });
    tunnel.datagram.emplace(spec, hosts.client.cpu, hosts.server.cpu, tunnel.lookaheads);
}

Channel
World::TunnelChannel(Tunnel& tunnel, uint32_t route, End sender, int64_t extraDelay)
{
    if (!tunnel.lookaheads[sender])
    {
        return m_network.ChannelFrom(route, sender, extraDelay);
    }
    Link& link = *m_network.OnlyLink(route, sender)->GetLink();
    return Channel(m_clockedPaths.emplace_back(link, *tunnel.lookaheads[sender]));
}

const PerEnd<Channel>&
World::TunnelChannels(Tunnel& tunnel, uint32_t route, const FlowSpec& flow)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    std::pair delays(flow.extraDelay.client, flow.extraDelay.server);
    auto channels = tunnel.channels.find(delays);
    if (channels == tunnel.channels.end())
    {
        auto makeChannel = [&](End sender) {
            return TunnelChannel(tunnel, route, sender, flow.extraDelay[sender]);
        };
        channels = tunnel.channels.emplace(delays, MakePerEnd(flow.sender, makeChannel)).first;
    }
    return channels->second;
}

/// What both ends of a connection through a datagram tunnel send into.
PerEnd<Channel>
World::DatagramChannels(uint32_t number, const FlowSpec& flow)
{
    Tunnel& tunnel = m_tunnels[number];
    const auto& spec = std::get<DatagramTunnelSpec>(m_spec.tunnels[number]);
    const TcpSpec& tcp = m_spec.tcp.at(flow.tcp);
    const PerEnd<Channel>& path = TunnelChannels(tunnel, spec.route, flow);
    return MakePerEnd(End::CLIENT, [&](End sender) {
        return Channel(tunnel.datagram->AddChannel(sender, path[sender], tcp));
    });
}

void
World::AddDatagramLeg(uint32_t index, Flow& flow)
{
    const FlowSpec& spec = m_spec.flows[index];
    const auto& tunnel = std::get<DatagramTunnelSpec>(m_spec.tunnels[*spec.tunnel]);
    flow.legs.push_back(&AddLeg({LegRole::APP,
                                 0,
                                 index,
                                 m_spec.tcp.at(spec.tcp),
                                 spec.cc,
                                 DatagramChannels(*spec.tunnel, spec),
                                 m_network.HostsOf(tunnel.route)}));
}

void
World::AddStreamTunnel(uint32_t number, const StreamTunnelSpec& spec)
{
    Tunnel& tunnel = m_tunnels[number];
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    auto first = std::find_if(m_spec.flows.begin(), m_spec.flows.end(), [=](const auto& flow) {
        return flow.tunnel == number;
    });
    tunnel.streamCarrier = &AddLeg({LegRole::CARRIER,
                                    0,
                                    tunnel.firstCarrier,
                                    spec.carrierTcp,
                                    spec.carrierCc,
                                    ChannelsOf(spec.route, *first),
                                    hosts});
    tunnel.stream = std::make_unique<StreamTunnel>(spec,
                                                   *tunnel.streamCarrier->Tcp().client,
                                                   *tunnel.streamCarrier->Tcp().server,
                                                   hosts.client.cpu,
                                                   hosts.server.cpu);
}

void
World::AddLegInStream(uint32_t index, Flow& flow)
{
    const FlowSpec& spec = m_spec.flows[index];
    Tunnel& tunnel = m_tunnels[*spec.tunnel];
    auto makeChannel = [&](End sender) { return Channel(tunnel.stream->Device(sender)); };
    flow.legs.push_back(&AddLeg({LegRole::APP,
                                 std::nullopt,
                                 index,
                                 m_spec.tcp.at(spec.tcp),
                                 spec.cc,
                                 MakePerEnd(End::CLIENT, makeChannel),
                                 m_network.HostsOf(spec.route)}));
}

} // namespace tunnelcc
