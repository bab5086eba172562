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

std::vector<uint32_t>
RoutesOf(const RelaySpec& tunnel)
{
    std::vector<uint32_t> routes;
    for (const HopSpec& hop : tunnel.hops)
    {
        routes.push_back(hop.route);
    }
    return routes;
}

template <class PacketTunnelSpec>
std::vector<uint32_t>
RoutesOf(const PacketTunnelSpec& tunnel)
{
    return {tunnel.route};
}

/// Numbers of the routes that what is in a tunnel takes.
std::vector<uint32_t>
RoutesOf(const TunnelSpec& tunnel)
{
    return std::visit([](const auto& spec) { return RoutesOf(spec); }, tunnel);
}

/// Whether both ends of a flow send.
bool
IsAnswered(const FlowSpec& flow)
{
    return !flow.datagrams || flow.datagrams->answer > 0;
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
    return std::none_of(spec.flows.begin(), spec.flows.end(), [&](const FlowSpec& flow) {
        const RouteSpec& route = spec.routes[flow.route];
        return !flow.tunnel && (Crosses(route, flow.sender, step) ||
                                (IsAnswered(flow) && Crosses(route, Other(flow.sender), step)));
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
World::LookaheadOf(const DatagramTunnelSpec& tunnel, uint32_t number, End sender)
{
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
    bool waits = tunnel.fec && (tunnel.fec->timeout > 0 || tunnel.fec->blob);
    bool isPrompt = !waits && HasCores(m_spec, route.hosts.client) &&
                    HasCores(m_spec, route.hosts.server) && !tunnel.end.sharesThread;
    if (!link || !link->IsClocked() || !isPrompt || m_network.MtuOn(tunnel.route, sender) ||
        !IsAlone(m_spec, number, sender, route.sent[sender].front()))
    {
        return std::nullopt;
    }
    return m_network.LastDelay(tunnel.route, sender) + extraDelay.value_or(0);
}

World::DatagramParts
World::MakeTunnel(const DatagramTunnelSpec& spec, uint32_t number)
{
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    auto lookaheads =
        MakePerEnd(End::CLIENT, [&](End sender) { return LookaheadOf(spec, number, sender); });
    return {spec,
            number,
            lookaheads,
            std::make_unique<DatagramTunnel>(spec, hosts.client.cpu, hosts.server.cpu, lookaheads),
            {}};
}

Channel
World::PathChannel(DatagramParts& tunnel, End sender, int64_t extraDelay)
{
    if (!tunnel.lookaheads[sender])
    {
        return m_network.ChannelFrom(tunnel.spec.route, sender, extraDelay);
    }
    Link& link = *m_network.OnlyLink(tunnel.spec.route, sender)->GetLink();
    const Channel channel(m_clockedPaths.emplace_back(link, *tunnel.lookaheads[sender]));
    return m_network.Captured(m_spec.routes[tunnel.spec.route].sent[sender].front(), channel);
}

Channel
World::TunnelChannel(DatagramParts& tunnel, End sender, int64_t extraDelay)
{
    Channel channel = PathChannel(tunnel, sender, extraDelay);
    if (m_capture)
    {
        const WireEnds ends{m_spec.routes[tunnel.spec.route].hosts,
                            CaptureInterface::LINK,
                            tunnel.number,
                            m_capture->Spec().tunnels.at(tunnel.number).port};
        m_capture->AllowLateness(tunnel.lookaheads[sender].value_or(0));
        channel = m_capture->AddTunnel(tunnel.spec, ends, sender, channel);
    }
    return channel;
}

const PerEnd<Channel>&
World::TunnelChannels(DatagramParts& tunnel, const FlowSpec& flow)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    std::pair delays(flow.extraDelay.client, flow.extraDelay.server);
    auto channels = tunnel.channels.find(delays);
    if (channels == tunnel.channels.end())
    {
        auto makeChannel = [&](End sender) {
            return TunnelChannel(tunnel, sender, flow.extraDelay[sender]);
        };
        channels = tunnel.channels.emplace(delays, MakePerEnd(flow.sender, makeChannel)).first;
    }
    return channels->second;
}

/// What both ends of a connection through a datagram tunnel send into.
PerEnd<Channel>
World::DatagramChannels(DatagramParts& tunnel, const FlowSpec& flow)
{
    const TcpSpec& tcp = m_spec.tcp.at(flow.tcp);
    const PerEnd<Channel>& path = TunnelChannels(tunnel, flow);
    return MakePerEnd(End::CLIENT, [&](End sender) {
        const Channel channel(tunnel.packets->AddChannel(sender, path[sender], tcp));
        return m_network.InsideOf(channel, path[sender], tunnel.spec);
    });
}

World::Sockets
World::AddThrough(DatagramParts& tunnel, uint32_t index, Flow& flow)
{
    return AddAppLeg(index, flow, 0, DatagramChannels(tunnel, m_spec.flows[index]));
}

PerEnd<Channel>
World::UdpThrough(DatagramParts& tunnel, uint32_t index, Flow& /* flow */)
{
    return DatagramChannels(tunnel, m_spec.flows[index]);
}

World::StreamParts
World::MakeTunnel(const StreamTunnelSpec& spec, uint32_t number)
{
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    auto first = std::find_if(m_spec.flows.begin(), m_spec.flows.end(), [=](const auto& flow) {
        return flow.tunnel == number;
    });
    Leg& carrier = AddLeg({LegRole::CARRIER,
                           0,
                           m_firstCarriers[number],
                           spec.carrierTcp,
                           spec.carrierCc,
                           ChannelsOf(spec.route, *first),
                           hosts,
                           number,
                           {}});
    auto tunnel = std::make_unique<StreamTunnel>(spec,
                                                 *carrier.Tcp().client,
                                                 *carrier.Tcp().server,
                                                 hosts.client.cpu,
                                                 hosts.server.cpu);
    const auto contents =
        ContentsOf(number, spec.handshake, {&spec.layers.client, &spec.layers.server});
    for (End end : ENDS)
    {
        tunnel->SetWatcher(end, contents[end]);
    }
    return {spec, carrier, std::move(tunnel)};
}

World::Sockets
World::AddThrough(StreamParts& tunnel, uint32_t index, Flow& flow)
{
    auto makeChannel = [&](End sender) { return Channel(tunnel.packets->Device(sender)); };
    Sockets sockets = AddAppLeg(index, flow, std::nullopt, MakePerEnd(End::CLIENT, makeChannel));
    flow.legs.push_back(&tunnel.carrier);
    return sockets;
}

PerEnd<Channel>
World::UdpThrough(StreamParts& tunnel, uint32_t /* index */, Flow& flow)
{
    flow.legs.push_back(&tunnel.carrier);
    return MakePerEnd(End::CLIENT,
                      [&](End sender) { return Channel(tunnel.packets->Device(sender)); });
}

} // namespace tunnelcc
