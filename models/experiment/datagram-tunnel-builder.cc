/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * How a world builds tunnels that carry packets: connections from end to end, whose packets enter
 * and leave through the tunnel's devices.
 */
#include "event/random-stream.h"
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

std::vector<uint32_t>
RoutesOf(const DatagramTunnelSpec& tunnel)
{
    std::vector<uint32_t> routes{tunnel.route};
    if (tunnel.uplinks)
    {
        const std::vector<uint32_t>& others = tunnel.uplinks->routes;
        routes.insert(routes.end(), others.begin(), others.end());
    }
    return routes;
}

std::vector<uint32_t>
RoutesOf(const StreamTunnelSpec& tunnel)
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
        auto isOn = [&](const std::optional<uint32_t>& number) {
            return number &&
                   (Crosses(spec.routes[*number], flow.sender, step) ||
                    (IsAnswered(flow) && Crosses(spec.routes[*number], Other(flow.sender), step)));
        };
        return isOn(flow.tunnel ? std::nullopt : std::optional(flow.route)) ||
               isOn(flow.access.routes.client) || isOn(flow.access.routes.server);
    });
}

/// The flow's extra delays inside its tunnel, by the tunnel's end that sends, ns. They are behind
/// the last link: behind a gateway, if there is one.
PerEnd<int64_t>
DelaysInTunnel(const FlowSpec& flow)
{
    return MakePerEnd(End::CLIENT, [&](End near) {
        const End sender = flow.access.Near(near); // turned twice is not turned
        return flow.access.routes[Other(sender)] ? int64_t{0} : flow.extraDelay[sender];
    });
}

/// The first flow through a tunnel, or the tunnel whose packets are one.
const FlowSpec&
FirstThrough(const ExperimentSpec& spec, uint32_t number)
{
    for (const FlowSpec& flow : spec.flows)
    {
        if (flow.tunnel == number)
        {
            return flow;
        }
    }
    for (const TunnelSpec& tunnel : spec.tunnels)
    {
        const FlowSpec* under = UnderOf(tunnel);
        if (under && under->tunnel == number)
        {
            return *under;
        }
    }
    return spec.flows.front(); // not reached: a specification without either is refused
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
        if (!flow.access.IsNone())
        {
            return std::nullopt; // the far gateway's link is not alone
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
    if (tunnel.under || tunnel.uplinks || !link || !link->IsClocked() || !isPrompt ||
        m_network.MtuOn(tunnel.route, sender) ||
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
            {},
            {}};
}

Channel
World::PathChannel(DatagramParts& tunnel, End sender, int64_t extraDelay, uint32_t uplink)
{
    const std::optional<UplinksSpec>& uplinks = tunnel.spec.uplinks;
    if (uplink > 0)
    {
        return m_network.ChannelFrom(uplinks->routes.at(uplink - 1), sender, extraDelay);
    }
    if (uplinks && uplinks->use != UplinkUse::FLOWS)
    {
        if (!tunnel.below)
        {
            tunnel.below = UplinkChannels(tunnel);
        }
        return (*tunnel.below)[sender];
    }
    if (tunnel.spec.under)
    {
        if (!tunnel.below)
        {
            tunnel.below = PacketsThrough(tunnel);
        }
        return (*tunnel.below)[sender];
    }
    if (!tunnel.lookaheads[sender])
    {
        return m_network.ChannelFrom(tunnel.spec.route, sender, extraDelay);
    }
    Link& link = *m_network.OnlyLink(tunnel.spec.route, sender)->GetLink();
    const Channel channel(m_clockedPaths.emplace_back(link, *tunnel.lookaheads[sender]));
    return m_network.Captured(m_spec.routes[tunnel.spec.route].sent[sender].front(), channel);
}

Channel
World::TunnelChannel(DatagramParts& tunnel, End sender, int64_t extraDelay, uint32_t uplink)
{
    Channel channel = PathChannel(tunnel, sender, extraDelay, uplink);
    if (m_capture)
    {
        const std::optional<FlowSpec>& under = tunnel.spec.under;
        const WireEnds ends{m_spec.routes[tunnel.spec.route].hosts,
                            under ? InterfaceOf(*under) : CaptureInterface::LINK,
                            under ? *under->tunnel : 0,
                            m_capture->Spec().tunnels.at(tunnel.number).port};
        m_capture->AllowLateness(tunnel.lookaheads[sender].value_or(0));
        channel = m_capture->AddTunnel(tunnel.spec, tunnel.number, ends, sender, channel);
    }
    return channel;
}

/// What the ends of a tunnel over several routes send into.
PerEnd<Channel>
World::UplinkChannels(const DatagramParts& tunnel)
{
    const UplinksSpec& spec = *tunnel.spec.uplinks;
    PerEnd<std::vector<Uplinks::Ways>> ways;
    for (uint32_t route : RoutesOf(tunnel.spec))
    {
        const PerEnd<Channel> channels =
            MakePerEnd(End::CLIENT, [&](End end) { return m_network.ChannelFrom(route, end, 0); });
        const PerEnd<Channel> probes =
            m_capture ? m_capture->AddUdp({m_spec.routes[route].hosts}, 0, channels) : channels;
        for (End end : ENDS)
        {
            ways[end].push_back({channels[end], probes[end]});
        }
    }
    PerEnd<Uplinks*> made{};
    for (End end : ENDS)
    {
        RandomStream draws = MakeRandomStream(m_spec.seed,
                                              RandomComponent::UPLINK_PROBES,
                                              2 * tunnel.number + (end == End::SERVER));
        const auto phase =
            static_cast<int64_t>(draws.RandU01() * static_cast<double>(spec.interval));
        made[end] = &m_uplinks.emplace_back(spec, ways[end], phase);
    }
    Uplinks::Join(*made.client, *made.server);
    return {Channel(*made.client), Channel(*made.server)};
}

const PerEnd<Channel>&
World::TunnelChannels(DatagramParts& tunnel, const FlowSpec& flow)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    const PerEnd<int64_t> extra = DelaysInTunnel(flow);
    const auto& uplinks = tunnel.spec.uplinks;
    const uint32_t uplink = uplinks && uplinks->use == UplinkUse::FLOWS ? flow.carrier : 0;
    const ChannelKey key(extra.client, extra.server, uplink);
    auto channels = tunnel.channels.find(key);
    if (channels == tunnel.channels.end())
    {
        auto makeChannel = [&](End near) {
            return TunnelChannel(tunnel, near, extra[near], uplink);
        };
        const End first = flow.access.Near(flow.sender);
        channels = tunnel.channels.emplace(key, MakePerEnd(first, makeChannel)).first;
    }
    return channels->second;
}

/// What one end of a flow sends into. \param tunnel what the gateway on its side sends into
Channel
World::BetweenGateways(const FlowSpec& flow, End sender, const Channel& tunnel)
{
    Channel channel = tunnel;
    if (const auto& behind = flow.access.routes[Other(sender)])
    {
        const Channel onward = m_network.ChannelFrom(*behind, sender, flow.extraDelay[sender]);
        channel = Channel(m_gateways.emplace_back(channel, onward, m_spec.tcp.at(flow.tcp)));
    }
    if (const auto& before = flow.access.routes[sender])
    {
        channel = m_network.ChannelFrom(*before, sender, 0, &channel);
    }
    return channel;
}

/// What both ends of a connection through a datagram tunnel send into.
PerEnd<Channel>
World::DatagramChannels(DatagramParts& tunnel, const FlowSpec& flow)
{
    const TcpSpec& tcp = m_spec.tcp.at(flow.tcp);
    const PerEnd<Channel>& path = TunnelChannels(tunnel, flow);
    return MakePerEnd(End::CLIENT, [&](End sender) {
        const End near = flow.access.Near(sender);
        const Channel inside(tunnel.packets->AddChannel(near, path[near], tcp));
        const Channel channel = BetweenGateways(flow, sender, inside);
        return m_network.InsideOf(channel, path[near], tunnel.spec);
    });
}

World::Sockets
World::AddThrough(DatagramParts& tunnel, uint32_t index, Flow& flow)
{
    return AddAppLeg(index, flow, 0, DatagramChannels(tunnel, m_spec.flows[index]));
}

PerEnd<Channel>
World::UdpThrough(DatagramParts& tunnel, const FlowSpec& spec, UdpParts& /* parts */)
{
    return DatagramChannels(tunnel, spec);
}

World::StreamParts
World::MakeTunnel(const StreamTunnelSpec& spec, uint32_t number)
{
    return {spec, number, nullptr, nullptr};
}

/// Add the connection of a stream tunnel, once all tunnels are there.
void
World::AddCarrier(StreamParts& parts)
{
    if (parts.carrier)
    {
        return;
    }
    const StreamTunnelSpec& spec = parts.spec;
    const uint32_t number = parts.number;
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    const FlowSpec& first = FirstThrough(m_spec, number);
    FlowSpec crossing = first;
    crossing.sender = first.access.Near(first.sender);
    crossing.extraDelay = DelaysInTunnel(first);
    Leg& carrier =
        AddLeg({LegRole::CARRIER,
                0,
                m_firstCarriers[number],
                spec.carrierTcp,
                spec.carrierCc,
                spec.under ? ChannelsThrough(*spec.under->tunnel, *spec.under)
                           : ChannelsOf(spec.route, crossing),
                hosts,
                number,
                spec.under && spec.under->access.IsNone() ? spec.under->tunnel : std::nullopt});
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
    parts.carrier = &carrier;
    parts.packets = std::move(tunnel);
}

/// What both ends of a connection through a stream tunnel send into.
PerEnd<Channel>
World::StreamChannels(StreamParts& tunnel, const FlowSpec& flow)
{
    AddCarrier(tunnel);
    return MakePerEnd(End::CLIENT, [&](End sender) {
        const Channel inside(tunnel.packets->Device(flow.access.Near(sender)));
        return BetweenGateways(flow, sender, inside);
    });
}

World::Sockets
World::AddThrough(StreamParts& tunnel, uint32_t index, Flow& flow)
{
    const PerEnd<Channel> channels = StreamChannels(tunnel, m_spec.flows[index]);
    Sockets sockets = AddAppLeg(index, flow, std::nullopt, channels);
    flow.legs.push_back(tunnel.carrier);
    return sockets;
}

PerEnd<Channel>
World::UdpThrough(StreamParts& tunnel, const FlowSpec& spec, UdpParts& parts)
{
    const PerEnd<Channel> channels = StreamChannels(tunnel, spec);
    parts.flow.legs.push_back(tunnel.carrier);
    return channels;
}

/// What the ends of a tunnel send into, whose packets are a flow of another tunnel.
PerEnd<Channel>
World::PacketsThrough(DatagramParts& upper)
{
    const FlowSpec& under = *upper.spec.under;
    PerEnd<NestedPackets*> nested{};
    for (End end : ENDS)
    {
        nested[end] = &m_nestedPackets.emplace_back();
    }
    Flow& flow = m_nestedFlows.emplace_back();
    flow.datagrams = std::make_unique<Datagrams>(0);
    // What one end sends comes out of what that end has numbered.
    UdpParts parts{flow,
                   {nested.server, nested.client},
                   {nested.client, nested.server},
                   flow.datagrams->logs};
    auto through = [&](auto& tunnel) { return UdpThrough(tunnel, under, parts); };
    PerEnd<Channel> channels = std::visit(through, m_tunnels.at(*under.tunnel));
    for (End end : ENDS)
    {
        if (m_capture)
        {
            channels[end] = m_capture->AddNested(*nested[end], channels[end]);
        }
        nested[end]->SetOnward(channels[end], parts.peers[end]);
    }
    upper.relays = flow.datagrams->relays;
    return {Channel(*nested.client), Channel(*nested.server)};
}

/// What both ends of a connection through a tunnel of packets send into.
PerEnd<Channel>
World::ChannelsThrough(uint32_t tunnel, const FlowSpec& flow)
{
    if (auto* datagrams = std::get_if<DatagramParts>(&m_tunnels.at(tunnel)))
    {
        return DatagramChannels(*datagrams, flow);
    }
    return StreamChannels(std::get<StreamParts>(m_tunnels[tunnel]), flow);
}

} // namespace tunnelcc
