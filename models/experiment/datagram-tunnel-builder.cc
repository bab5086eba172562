/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "datagram-tunnel-builder.h"

#include "event/random-stream.h"

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

std::vector<uint32_t>
RoutesOf(const QuicTunnelSpec& tunnel)
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
DatagramTunnelBuilder::LookaheadOf(End sender) const
{
    const RouteSpec& route = m_site.spec.routes.at(m_spec.route);
    PathDirection* link = m_site.network.OnlyLink(m_spec.route, sender);
    std::optional<int64_t> extraDelay;
    for (const FlowSpec& flow : m_site.spec.flows)
    {
        if (flow.tunnel != m_number)
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
    bool waits = m_spec.fec && (m_spec.fec->timeout > 0 || m_spec.fec->blob);
    bool isPrompt = !waits && HasCores(m_site.spec, route.hosts.client) &&
                    HasCores(m_site.spec, route.hosts.server) && !m_spec.end.sharesThread;
    if (m_spec.under || m_spec.uplinks || !link || !link->IsClocked() || !isPrompt ||
        m_site.network.MtuOn(m_spec.route, sender) ||
        !IsAlone(m_site.spec, m_number, sender, route.sent[sender].front()))
    {
        return std::nullopt;
    }
    return m_site.network.LastDelay(m_spec.route, sender) + extraDelay.value_or(0);
}

DatagramTunnelBuilder::DatagramTunnelBuilder(const Site& site,
                                             const DatagramTunnelSpec& spec,
                                             uint32_t number)
    : PacketTunnelBuilder(site),
      m_spec(spec),
      m_number(number),
      m_lookaheads(MakePerEnd(End::CLIENT, [&](End sender) { return LookaheadOf(sender); })),
      m_packets(std::make_unique<DatagramTunnel>(spec,
                                                 site.network.HostsOf(spec.route).client.cpu,
                                                 site.network.HostsOf(spec.route).server.cpu,
                                                 m_lookaheads))
{
}

/// What one end of the tunnel sends into, without taps. \param uplink number of the route, from 0
Channel
DatagramTunnelBuilder::PathChannel(End sender, int64_t extraDelay, uint32_t uplink)
{
    const std::optional<UplinksSpec>& uplinks = m_spec.uplinks;
    if (uplink > 0)
    {
        return m_site.network.ChannelFrom(uplinks->routes.at(uplink - 1), sender, extraDelay);
    }
    if ((uplinks && uplinks->use != UplinkUse::FLOWS) || m_spec.under)
    {
        if (!m_below)
        {
            m_below =
                uplinks && uplinks->use != UplinkUse::FLOWS ? UplinkChannels() : ThroughAnother();
        }
        return (*m_below)[sender];
    }
    if (!m_lookaheads[sender])
    {
        return m_site.network.ChannelFrom(m_spec.route, sender, extraDelay);
    }
    Link& link = *m_site.network.OnlyLink(m_spec.route, sender)->GetLink();
    const Channel channel(m_clockedPaths.emplace_back(link, *m_lookaheads[sender]));
    return m_site.network.Captured(m_site.spec.routes[m_spec.route].sent[sender].front(), channel);
}

Channel
DatagramTunnelBuilder::TunnelChannel(End sender, int64_t extraDelay, uint32_t uplink)
{
    const Channel channel = PathChannel(sender, extraDelay, uplink);
    if (!m_site.capture)
    {
        return channel;
    }
    const std::optional<FlowSpec>& under = m_spec.under;
    const WireEnds ends{m_site.spec.routes[m_spec.route].hosts,
                        under ? m_site.InterfacesOf(*under) : PerEnd<CaptureInterface>{},
                        under ? *under->tunnel : 0,
                        m_site.capture->Spec().tunnels.at(m_number).port};
    m_site.capture->AllowLateness(m_lookaheads[sender].value_or(0));
    return m_site.capture->AddTunnel(m_spec, m_number, ends, sender, channel);
}

/// What the ends of a tunnel over several routes send into.
PerEnd<Channel>
DatagramTunnelBuilder::UplinkChannels()
{
    const UplinksSpec& spec = *m_spec.uplinks;
    PerEnd<std::vector<Uplinks::Ways>> ways;
    for (uint32_t route : RoutesOf(m_spec))
    {
        const PerEnd<Channel> channels = MakePerEnd(End::CLIENT, [&](End end) {
            return m_site.network.ChannelFrom(route, end, 0);
        });
        const PerEnd<Channel> probes =
            m_site.capture ? m_site.capture->AddUdp({m_site.spec.routes[route].hosts}, 0, channels)
                           : channels;
        for (End end : ENDS)
        {
            ways[end].push_back({channels[end], probes[end]});
        }
    }
    PerEnd<Uplinks*> made{};
    for (End end : ENDS)
    {
        RandomStream draws = MakeRandomStream(m_site.spec.seed,
                                              RandomComponent::UPLINK_PROBES,
                                              2 * m_number + (end == End::SERVER));
        const auto phase =
            static_cast<int64_t>(draws.RandU01() * static_cast<double>(spec.interval));
        made[end] = &m_uplinks.emplace_back(m_site.loop,
                                            spec,
                                            spec.weights[end],
                                            ways[end],
                                            phase,
                                            MakeRandomStream(m_site.spec.seed,
                                                             RandomComponent::UPLINK_TURNS,
                                                             2 * m_number + (end == End::SERVER)));
        if (PacketServer* device = m_packets->HeldDevice(end);
            device && spec.use == UplinkUse::MEASURED)
        {
            made[end]->Hold(*device);
        }
        if (ReorderBuffer* order = m_packets->OrderAt(end))
        {
            made[end]->SetRttUser(*order);
        }
    }
    Uplinks::Join(*made.client, *made.server);
    return {Channel(*made.client), Channel(*made.server)};
}

const PerEnd<Channel>&
DatagramTunnelBuilder::TunnelChannels(const FlowSpec& flow)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    const PerEnd<int64_t> extra = DelaysInTunnel(flow);
    const auto& uplinks = m_spec.uplinks;
    const uint32_t uplink = uplinks && uplinks->use == UplinkUse::FLOWS ? flow.carrier : 0;
    const ChannelKey key(extra.client, extra.server, uplink);
    auto channels = m_channels.find(key);
    if (channels == m_channels.end())
    {
        auto makeChannel = [&](End near) { return TunnelChannel(near, extra[near], uplink); };
        const End first = flow.access.Near(flow.sender);
        channels = m_channels.emplace(key, MakePerEnd(first, makeChannel)).first;
    }
    return channels->second;
}

PerEnd<Channel>
DatagramTunnelBuilder::ChannelsFor(const FlowSpec& flow)
{
    const TcpSpec& tcp = m_site.spec.tcp.at(flow.tcp);
    const PerEnd<Channel>& path = TunnelChannels(flow);
    return MakePerEnd(End::CLIENT, [&](End sender) {
        const End near = flow.access.Near(sender);
        const Channel inside(m_packets->AddChannel(near, path[near], tcp));
        const Channel channel = BetweenGateways(flow, sender, inside);
        return m_site.network.InsideOf(channel, path[near], m_spec);
    });
}

Sockets
DatagramTunnelBuilder::AddFlow(uint32_t index, Flow& flow)
{
    return m_site.legs.AddApp(index, flow, 0, ChannelsFor(m_site.spec.flows[index]));
}

PerEnd<Channel>
DatagramTunnelBuilder::AddDatagrams(const FlowSpec& spec, UdpParts& /* parts */)
{
    return ChannelsFor(spec);
}

/// What the ends send into, if their packets are a flow of another tunnel.
PerEnd<Channel>
DatagramTunnelBuilder::ThroughAnother()
{
    const FlowSpec& under = *m_spec.under;
    PerEnd<NestedPackets*> nested{};
    for (End end : ENDS)
    {
        nested[end] = &m_nestedPackets.emplace_back();
    }
    m_nested.datagrams = std::make_unique<Datagrams>(0);
    // What one end sends comes out of what that end has numbered.
    UdpParts parts{m_nested,
                   {nested.server, nested.client},
                   {nested.client, nested.server},
                   m_nested.datagrams->logs};
    PerEnd<Channel> channels = m_site.tunnels.at(*under.tunnel)->AddDatagrams(under, parts);
    for (End end : ENDS)
    {
        if (m_site.capture)
        {
            channels[end] = m_site.capture->AddNested(*nested[end], channels[end]);
        }
        nested[end]->SetOnward(channels[end], parts.peers[end]);
    }
    return {Channel(*nested.client), Channel(*nested.server)};
}

} // namespace tunnelcc
