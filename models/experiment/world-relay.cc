/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * How a world builds relay tunnels: an application's loopback, a carrier across each hop, the
 * target's loopback, and a relay between each two of these.
 */
#include "event/random-stream.h"
#include "event/time-units.h"
#include "tunnel/plain-side.h"
#include "world.h"

#include <utility>

namespace tunnelcc
{

namespace
{

std::unique_ptr<RelaySide>
MakeSide(const RelaySpec& spec, World::Carrier& carrier, End end)
{
    if (spec.mux)
    {
        return carrier.sessions[end]->AddStream();
    }
    auto side =
        std::make_unique<CarrierSide>(spec, end, carrier.leg->Stream(end), carrier.logs.back());
    side->SetWatcher(carrier.contents[end]);
    return side;
}

/// Draws of where the clocks of a carrier's end are: two ends in step would see less delay than
/// real ones do.
RandomStream
ClockDraws(uint64_t seed, uint32_t carrier, End end)
{
    return MakeRandomStream(seed, RandomComponent::ARQ_CLOCK, 2 * carrier + (end == End::SERVER));
}

/// A time below \p limit, ns.
int64_t
DrawTime(RandomStream& draws, int64_t limit)
{
    return static_cast<int64_t>(draws.RandU01() * static_cast<double>(limit));
}

} // namespace

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

Leg&
World::AddKcpLeg(const LegParts& given, const KcpSpec& kcp)
{
    const LegParts parts = WithUdpTaps(given, kcp.header);
    auto makeEndpoint = [&](End end) {
        RandomStream draws = ClockDraws(m_spec.seed, parts.number, end);
        KcpPhase phase;
        phase.clock = DrawTime(draws, MS);
        phase.flush = DrawTime(draws, kcp.interval);
        return std::make_unique<KcpEndpoint>(kcp, end, parts.channels[end], phase);
    };
    LegEnds<KcpEndpoint> ends = MakePerEnd(End::CLIENT, makeEndpoint);
    KcpEndpoint::Join(*ends.client, *ends.server);
    return m_legs.emplace_back(Leg{parts.role, parts.hop, "kcp", std::move(ends)});
}

Leg&
World::AddRudpLeg(const LegParts& given,
                  const RudpSpec& rudp,
                  PerEnd<std::unique_ptr<RudpSession>>& sessions)
{
    const LegParts parts = WithUdpTaps(given);
    auto makeSession = [&](End end) {
        RandomStream draws = ClockDraws(m_spec.seed, parts.number, end);
        RudpPhase phase;
        phase.clock = DrawTime(draws, MS);
        phase.pings = DrawTime(draws, rudp.pings.interval);
        phase.acks = DrawTime(draws, rudp.acks.interval);
        return std::make_unique<RudpSession>(rudp, end, parts.channels[end], phase, draws);
    };
    if (!sessions.client)
    {
        sessions = MakePerEnd(End::CLIENT, makeSession);
        RudpSession::Join(*sessions.client, *sessions.server);
    }
    auto makeEndpoint = [&](End end) {
        return std::make_unique<RudpEndpoint>(rudp, *sessions[end], parts.channels[end]);
    };
    LegEnds<RudpEndpoint> ends = MakePerEnd(End::CLIENT, makeEndpoint);
    RudpEndpoint::Join(*ends.client, *ends.server);
    return m_legs.emplace_back(Leg{parts.role, parts.hop, "rudp", std::move(ends)});
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
    auto makeConnection = [&](End end) {
        const uint32_t draws = 2 * parts.number + (end == End::SERVER);
        return std::make_unique<QuicConnection>(quic,
                                                end,
                                                parts.channels[end],
                                                MakeAlgorithm(parts, end, quic),
                                                MakeRandomStream(m_spec.seed, threads, draws));
    };
    for (End end : ENDS)
    {
        if (MtuSource* source = parts.channels[end].GetMtuSource())
        {
            source->SetDontFragment(DontFragment::SET); // RFC 9000, section 14
        }
    }
    LegEnds<QuicConnection> ends = MakePerEnd(End::CLIENT, makeConnection);
    QuicConnection::Join(*ends.client, *ends.server);
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
    if (spec.mux)
    {
        for (End end : ENDS)
        {
            carrier.sessions[end] = std::make_unique<MuxSession>(spec,
                                                                 end,
                                                                 carrier.leg->Stream(end),
                                                                 hosts[end].cpu,
                                                                 carrier.muxLogs);
            carrier.sessions[end]->SetWatcher(carrier.contents[end]);
        }
    }
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
    // A relay learns where to dial with the first data, or before them: from the handshake, or
    // from the frame that opens a stream and that the other end wants answered.
    const RelaySpec& spec = tunnel.spec;
    bool isTold = spec.sent.client.prefix == 0 || (spec.mux && spec.mux->frames.accept > 0);
    std::vector<std::unique_ptr<RelaySide>>& sides = flow.sides;
    sides.push_back(std::move(toApplications.client));
    for (Hop& hop : tunnel.hops)
    {
        Carrier& carrier = hop.carriers[flowSpec.carrier];
        carrier.logs.emplace_back();
        for (End end : ENDS)
        {
            sides.push_back(MakeSide(spec, carrier, end));
        }
    }
    sides.push_back(std::move(toApplications.server));
    for (size_t place = 0; place <= spec.hops.size(); ++place)
    {
        bool isFirst = place == 0;
        Host& host = isFirst ? m_network.HostsOf(spec.hops.front().route).client
                             : m_network.HostsOf(spec.hops[place - 1].route).server;
        flow.relays.push_back(std::make_unique<Relay>(
            *sides[2 * place],
            *sides[2 * place + 1],
            isFirst || isTold ? Relay::Dials::IMMEDIATELY : Relay::Dials::ON_FIRST_DATA,
            spec.copyBuffer,
            host.cpu));
    }
}

} // namespace tunnelcc
