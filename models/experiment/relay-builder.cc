/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * How a world builds relay tunnels: an application's loopback, a carrier across each hop, the
 * target's loopback, and a relay between each two of these.
 */
#include "tunnel/plain-side.h"
#include "world.h"

#include <utility>

namespace tunnelcc
{

World::RelayParts
World::MakeTunnel(const RelaySpec& spec, uint32_t /* number */)
{
    return {spec, std::vector<Hop>(spec.hops.size())};
}

/// The hosts of the connection between one end's application and the relay on its side.
PerEnd<Host&>
World::HostsBeside(const FlowSpec& flow, End end)
{
    if (const auto& route = flow.access.routes[end])
    {
        return m_network.HostsOf(*route);
    }
    Host& host = m_network.HostsOf(flow.route)[end];
    return {host, host};
}

/// What one end of that connection sends into: its host's loopback, or the links to a gateway.
Channel
World::BesideRelay(const RelaySpec& tunnel, const FlowSpec& flow, End end, End sender)
{
    if (const auto& route = flow.access.routes[end])
    {
        return m_network.ChannelFrom(*route, sender, 0);
    }
    return {HostsBeside(flow, end).client.loopback[sender], tunnel.loopbackRtt / 2};
}

/// Add the connection to the client's application, or from the last relay to the server's.
Leg&
World::AddAccessLeg(const RelaySpec& tunnel, uint32_t index, End end)
{
    const FlowSpec& flow = m_spec.flows[index];
    bool isClient = end == End::CLIENT;
    auto makeChannel = [&](End sender) { return BesideRelay(tunnel, flow, end, sender); };
    return AddLeg({isClient ? LegRole::APP : LegRole::TARGET,
                   std::nullopt,
                   index,
                   m_spec.tcp.at(isClient ? flow.appTcp : flow.targetTcp),
                   flow.cc,
                   MakePerEnd(End::CLIENT, makeChannel),
                   HostsBeside(flow, end),
                   {},
                   {},
                   !flow.access.routes[end]});
}

PerEnd<Channel>
World::CarrierChannels(const HopSpec& hop, const FlowSpec& flow)
{
    return hop.under ? ChannelsThrough(*hop.under, flow) : ChannelsOf(hop.route, flow);
}

MakerForEnd<RandomStream>
World::DrawsOf(RandomComponent component, uint32_t number) const
{
    return [=, this](End end) {
        return MakeRandomStream(m_spec.seed, component, 2 * number + (end == End::SERVER));
    };
}

Leg&
World::AddKcpLeg(const LegParts& given, const KcpSpec& kcp)
{
    const LegParts parts = WithUdpTaps(given, kcp.header);
    const auto clocks = DrawsOf(RandomComponent::ARQ_CLOCK, parts.number);
    return m_legs.emplace_back(
        Leg{parts.role, parts.hop, "kcp", MakeKcpEnds(kcp, parts.channels, clocks)});
}

Leg&
World::AddRudpLeg(const LegParts& given, const RudpSpec& rudp, LegEnds<RudpSession>& sessions)
{
    const LegParts parts = WithUdpTaps(given);
    const auto clocks = DrawsOf(RandomComponent::ARQ_CLOCK, parts.number);
    return m_legs.emplace_back(
        Leg{parts.role, parts.hop, "rudp", MakeRudpEnds(rudp, sessions, parts.channels, clocks)});
}

Leg&
World::AddQuicLeg(const LegParts& given, const QuicSpec& quic)
{
    LegParts parts = given;
    std::optional<Capture::Quic> captured;
    if (m_capture)
    {
        captured.emplace(
            m_capture->AddQuic(quic, WireEndsOf(given), LogTitleOf(given), given.channels));
        parts.channels = captured->channels;
    }
    const RandomComponent threads = parts.role == LegRole::CARRIER
                                        ? RandomComponent::CARRIER_THREADS
                                        : RandomComponent::APP_THREADS;
    LegEnds<QuicConnection> ends = MakeQuicEnds(
        quic,
        parts.channels,
        [&](End end) { return MakeAlgorithm(parts, end, quic); },
        DrawsOf(threads, parts.number));
    for (End end : ENDS)
    {
        if (captured)
        {
            captured->formats[end].SetSender(ends[end]->GetSender());
        }
    }
    return m_legs.emplace_back(Leg{parts.role, parts.hop, parts.cc.name, std::move(ends)});
}

World::Carrier&
World::AddCarrier(RelayParts& tunnel, size_t hop, const FlowSpec& flow)
{
    const RelaySpec& spec = tunnel.spec;
    const HopSpec& hopSpec = spec.hops[hop];
    FlowSpec crossing = flow;
    crossing.access = {}; // that of the applications
    if (hop > 0)
    {
        crossing.extraDelay = {0, 0};
    }
    PerEnd<Host&> hosts = m_network.HostsOf(hopSpec.route);
    Carrier& carrier = tunnel.hops[hop].carriers.emplace_back();
    const LegParts parts{LegRole::CARRIER,
                         static_cast<uint32_t>(hop),
                         static_cast<uint32_t>(hop) * MAX_CARRIERS + m_firstCarriers[*flow.tunnel] +
                             flow.carrier,
                         m_spec.tcp.at(flow.tcp),
                         hopSpec.cc.name.empty() ? flow.carrierCc : hopSpec.cc,
                         CarrierChannels(hopSpec, crossing),
                         hosts,
                         flow.tunnel,
                         hopSpec.under};
    carrier.leg = spec.kcp    ? &AddKcpLeg(parts, *spec.kcp)
                  : spec.rudp ? &AddRudpLeg(parts, *spec.rudp, tunnel.hops[hop].sessions)
                  : spec.quic ? &AddQuicLeg(parts, *spec.quic)
                              : &AddLeg(parts);
    if (std::holds_alternative<LegEnds<TcpEndpoint>>(carrier.leg->ends))
    {
        carrier.contents = ContentsOf(*flow.tunnel,
                                      spec.handshake,
                                      {&spec.sent.client.layers, &spec.sent.server.layers});
    }
    carrier.Share(spec, {hosts.client.cpu, hosts.server.cpu});
    return carrier;
}

/// Add the connections between a tunnel's relays, for a flow.
void
World::AddCarriers(RelayParts& tunnel, const FlowSpec& spec, Flow& flow)
{
    for (size_t hop = 0; hop < tunnel.hops.size(); ++hop)
    {
        std::deque<Carrier>& carriers = tunnel.hops[hop].carriers;
        bool isNew = spec.carrier == carriers.size();
        Carrier& carrier = isNew ? AddCarrier(tunnel, hop, spec) : carriers.at(spec.carrier);
        flow.legs.push_back(carrier.leg);
    }
}

World::Sockets
World::AddThrough(RelayParts& tunnel, uint32_t index, Flow& flow)
{
    flow.legs.push_back(&AddAccessLeg(tunnel.spec, index, End::CLIENT));
    AddCarriers(tunnel, m_spec.flows[index], flow);
    flow.legs.push_back(&AddAccessLeg(tunnel.spec, index, End::SERVER));
    AddRelays(tunnel,
              m_spec.flows[index],
              flow,
              {std::make_unique<PlainSide>(*flow.legs.front()->Tcp().server),
               std::make_unique<PlainSide>(*flow.legs.back()->Tcp().client)});
    return {*flow.legs.front()->Tcp().client, *flow.legs.back()->Tcp().server};
}

PerEnd<Channel>
World::UdpThrough(RelayParts& tunnel, const FlowSpec& spec, UdpParts& parts)
{
    auto channelsAt = [&](End end) {
        const PerEnd<Channel> channels = MakePerEnd(End::CLIENT, [&](End sender) {
            return BesideRelay(tunnel.spec, spec, end, sender);
        });
        const auto& route = spec.access.routes[end];
        parts.areTapped[end] = m_capture && route;
        return parts.areTapped[end]
                   ? m_capture->AddUdp({m_spec.routes[*route].hosts, {}, 0, APP_PORT}, 0, channels)
                   : channels;
    };
    const PerEnd<PerEnd<Channel>> channels = MakePerEnd(End::CLIENT, channelsAt);
    auto makeSide = [&](End end) -> std::unique_ptr<RelaySide> {
        auto side = std::make_unique<DatagramSide>(tunnel.spec.udp,
                                                   spec.datagrams->header,
                                                   end,
                                                   channels[end][Other(end)],
                                                   *parts.sockets[end],
                                                   parts.logs);
        parts.peers[end] = side.get();
        parts.flow.datagrams->relays[end] = side.get();
        return side;
    };
    AddCarriers(tunnel, spec, parts.flow);
    AddRelays(tunnel, spec, parts.flow, MakePerEnd(End::CLIENT, makeSide));
    return {channels.client.client, channels.server.server};
}

void
World::AddRelays(RelayParts& tunnel,
                 const FlowSpec& flowSpec,
                 Flow& flow,
                 PerEnd<std::unique_ptr<RelaySide>> toApplications)
{
    const RelaySpec& spec = tunnel.spec;
    std::vector<std::unique_ptr<RelaySide>>& sides = flow.sides;
    sides.push_back(std::move(toApplications.client));
    for (Hop& hop : tunnel.hops)
    {
        Carrier& carrier = hop.carriers[flowSpec.carrier];
        CarrierSide::Logs& logs = carrier.logs.emplace_back();
        for (End end : ENDS)
        {
            sides.push_back(carrier.MakeSide(spec, end, logs));
        }
    }
    sides.push_back(std::move(toApplications.server));
    flow.relays = MakeRelays(spec, sides, [&](size_t relay) -> Cpu& {
        return relay == 0 ? m_network.HostsOf(spec.hops.front().route).client.cpu
                          : m_network.HostsOf(spec.hops[relay - 1].route).server.cpu;
    });
}

} // namespace tunnelcc
