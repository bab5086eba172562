/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "leg-builder.h"

#include "event/random-stream.h"
#include "quic/chromium-bbr.h"

#include <utility>

namespace tunnelcc
{

namespace
{

/// Where a relay listens for its host in a capture.
constexpr uint16_t RELAY_PORT = 15201;

RandomComponent
CongestionDraws(LegRole role)
{
    switch (role)
    {
    case LegRole::CARRIER:
        return RandomComponent::CARRIER_CONGESTION;
    case LegRole::TARGET:
        return RandomComponent::TARGET_CONGESTION;
    case LegRole::APP:
        break;
    }
    return RandomComponent::APP_CONGESTION;
}

/// Seed of an algorithm's own random numbers: experiment's seed, the leg and its end.
int64_t
CongestionStream(uint64_t seed, LegRole role, uint32_t number, End end)
{
    RandomStream stream =
        MakeRandomStream(seed, CongestionDraws(role), 2 * number + (end == End::SERVER));
    constexpr double RANGE = 1ULL << 53;
    return static_cast<int64_t>(stream.RandU01() * RANGE);
}

/// The name of a connection's logs.
std::string
LogTitleOf(const LegParts& parts)
{
    const std::string number = std::to_string(parts.number % MAX_CARRIERS);
    const std::string path = parts.path > 0 ? "-path" + std::to_string(parts.path + 1) : "";
    switch (parts.role)
    {
    case LegRole::CARRIER: {
        const uint32_t hop = parts.hop.value_or(0);
        const std::string name = "carrier" + number;
        return (hop > 0 ? name + "-hop" + std::to_string(hop + 1) : name) + path;
    }
    case LegRole::TARGET:
        return "target" + number;
    case LegRole::APP:
        break;
    }
    return "flow" + number + path;
}

} // namespace

PerEnd<std::optional<uint32_t>>
InsideOf(const FlowSpec& flow)
{
    return MakePerEnd(End::CLIENT, [&](End end) {
        return flow.access.routes[end] ? std::nullopt : flow.tunnel;
    });
}

LegBuilder::LegBuilder(EventLoop& loop,
                       const ExperimentSpec& spec,
                       Network& network,
                       Capture* capture,
                       AlgorithmWrapper wrap)
    : m_loop(loop),
      m_spec(spec),
      m_network(network),
      m_capture(capture),
      m_wrap(std::move(wrap))
{
}

std::unique_ptr<CongestionControl>
LegBuilder::MakeAlgorithm(const LegParts& parts, End end)
{
    int64_t stream = CongestionStream(m_spec.seed, parts.role, parts.number, end);
    const CongestionSpec& cc = parts.cc;
    auto algorithm = cc.code.empty() ? MakeCongestionControl(cc.name, cc.parameters, stream)
                                     : m_modules.Make(cc.name, cc.code, cc.parameters, stream);
    return m_wrap ? m_wrap(std::move(algorithm), cc, stream) : std::move(algorithm);
}

std::unique_ptr<CongestionControl>
LegBuilder::MakeAlgorithm(const LegParts& parts, End end, const QuicSpec& quic)
{
    auto own = MakeChromiumBbr(quic,
                               end,
                               parts.cc,
                               CongestionStream(m_spec.seed, parts.role, parts.number, end));
    return own ? std::move(own) : MakeAlgorithm(parts, end);
}

MakerForEnd<RandomStream>
LegBuilder::DrawsOf(RandomComponent component, uint32_t number) const
{
    return [=, this](End end) {
        return MakeRandomStream(m_spec.seed, component, 2 * number + (end == End::SERVER));
    };
}

WireEnds
LegBuilder::WireEndsOf(const LegParts& parts) const
{
    const bool isToRelay = parts.isOnLoopback && parts.role == LegRole::APP;
    return {{m_network.NumberOf(parts.hosts.client), m_network.NumberOf(parts.hosts.server)},
            MakePerEnd(End::CLIENT,
                       [&](End end) {
                           return parts.isOnLoopback  ? CaptureInterface::LOOPBACK
                                  : parts.inside[end] ? CaptureInterface::DEVICE
                                                      : CaptureInterface::LINK;
                       }),
            parts.inside.client.value_or(parts.inside.server.value_or(0)),
            parts.tunnel ? m_capture->Spec().tunnels.at(*parts.tunnel).port
            : isToRelay  ? RELAY_PORT
                         : APP_PORT,
            parts.path};
}

LegParts
LegBuilder::WithUdpTaps(const LegParts& parts, uint32_t header)
{
    LegParts tapped = parts;
    if (m_capture)
    {
        tapped.channels = m_capture->AddUdp(WireEndsOf(parts), header, parts.channels);
    }
    return tapped;
}

PerEnd<QuicFormat*>
LegBuilder::AddQuicTaps(LegParts& parts, const QuicSpec& quic)
{
    if (!m_capture)
    {
        return {};
    }
    const Capture::Quic captured =
        m_capture->AddQuic(quic, WireEndsOf(parts), LogTitleOf(parts), parts.channels);
    parts.channels = captured.channels;
    return {&captured.formats.client, &captured.formats.server};
}

PerEnd<UdpSocket*>
LegBuilder::AddSockets(LegParts& parts, uint32_t header)
{
    PerEnd<UdpSocket*> sockets{};
    if (!parts.sockets)
    {
        return sockets;
    }
    for (End end : ENDS)
    {
        const UdpSocketSpec& spec = (*parts.sockets)[end];
        if (!spec.read.IsFree())
        {
            sockets[end] = &m_sockets.emplace_back(spec, parts.hosts[end].cpu, header);
            Channel& channel = parts.channels[Other(end)];
            channel = Channel(m_toSockets.emplace_back(channel, *sockets[end]));
        }
    }
    return sockets;
}

TcpLeg
LegBuilder::AddTcp(const LegParts& given)
{
    LegParts parts = given;
    std::optional<Capture::Tcp> captured;
    if (m_capture)
    {
        captured.emplace(
            m_capture->AddTcp(given.tcp, WireEndsOf(given), LogTitleOf(given), given.channels));
        parts.channels = captured->channels;
    }
    LegEnds<TcpEndpoint> ends = MakePerEnd(End::CLIENT, [&](End end) {
        return std::make_unique<TcpEndpoint>(m_loop,
                                             parts.tcp,
                                             parts.channels[end],
                                             MakeAlgorithm(parts, end));
    });
    TcpEndpoint::Join(*ends.client, *ends.server);
    PerEnd<TcpFormat*> formats{};
    for (End end : ENDS)
    {
        if (captured)
        {
            captured->formats[end].SetSender(ends[end]->GetSender());
            formats[end] = &captured->formats[end];
        }
        TcpMemory& memory = parts.hosts[end].memory;
        if (memory.IsLimited())
        {
            ends[end]->SetMemory(memory);
        }
    }
    return {
        m_legs.emplace_back(Leg{parts.role, parts.hop, parts.cc.name, std::move(ends), parts.path}),
        formats};
}

Leg&
LegBuilder::AddQuic(const LegParts& given, const QuicSpec& quic)
{
    LegParts parts = given;
    const PerEnd<QuicFormat*> formats = AddQuicTaps(parts, quic);
    const RandomComponent threads = parts.role == LegRole::CARRIER
                                        ? RandomComponent::CARRIER_THREADS
                                        : RandomComponent::APP_THREADS;
    const PerEnd<UdpSocket*> sockets = AddSockets(parts);
    LegEnds<QuicConnection> ends = MakeQuicEnds(
        m_loop,
        quic,
        parts.channels,
        [&](End end) { return MakeAlgorithm(parts, end, quic); },
        DrawsOf(threads, parts.number));
    for (End end : ENDS)
    {
        if (formats[end])
        {
            formats[end]->SetSender(ends[end]->GetSender());
        }
    }
    Leg& leg = m_legs.emplace_back(Leg{parts.role, parts.hop, parts.cc.name, std::move(ends)});
    leg.sockets = {sockets.client, sockets.server};
    return leg;
}

Leg&
LegBuilder::AddKcp(const LegParts& given, const KcpSpec& kcp)
{
    LegParts parts = WithUdpTaps(given, kcp.header);
    const PerEnd<UdpSocket*> sockets = AddSockets(parts, kcp.header);
    const auto clocks = DrawsOf(RandomComponent::ARQ_CLOCK, parts.number);
    Leg& leg = m_legs.emplace_back(
        Leg{parts.role, parts.hop, "kcp", MakeKcpEnds(m_loop, kcp, parts.channels, clocks)});
    leg.sockets = {sockets.client, sockets.server};
    return leg;
}

Leg&
LegBuilder::AddRudp(const LegParts& given, const RudpSpec& rudp, LegEnds<RudpSession>& sessions)
{
    const LegParts parts = WithUdpTaps(given);
    const auto clocks = DrawsOf(RandomComponent::ARQ_CLOCK, parts.number);
    return m_legs.emplace_back(Leg{parts.role,
                                   parts.hop,
                                   "rudp",
                                   MakeRudpEnds(m_loop, rudp, sessions, parts.channels, clocks)});
}

Leg&
LegBuilder::AddUdp(uint32_t header)
{
    auto make = [=](End) { return std::make_unique<DatagramSocket>(header); };
    return m_legs.emplace_back(
        Leg{LegRole::APP, std::nullopt, "none", MakePerEnd(End::CLIENT, make)});
}

Sockets
LegBuilder::AddApp(uint32_t index,
                   Flow& flow,
                   std::optional<uint32_t> hop,
                   const PerEnd<Channel>& channels)
{
    const FlowSpec& spec = m_spec.flows[index];
    const LegParts parts{.role = LegRole::APP,
                         .hop = hop,
                         .number = index,
                         .tcp = m_spec.tcp.at(spec.tcp),
                         .cc = spec.cc,
                         .channels = channels,
                         .hosts = m_network.HostsOf(spec.route),
                         .tunnel = {},
                         .inside = InsideOf(spec),
                         .sockets = &spec.sockets};
    Leg& leg = spec.quic ? AddQuic(parts, m_spec.quic.at(*spec.quic)) : AddTcp(parts).leg;
    flow.legs.push_back(&leg);
    return {leg.Stream(End::CLIENT), leg.Stream(End::SERVER)};
}

Sockets
LegBuilder::AddMptcpApp(uint32_t index, Flow& flow, const std::vector<PerEnd<Channel>>& channels)
{
    const FlowSpec& spec = m_spec.flows[index];
    const LegParts first{.role = LegRole::APP,
                         .hop = 0,
                         .number = index,
                         .tcp = m_spec.tcp.at(spec.tcp),
                         .cc = spec.cc,
                         .channels = channels.front(),
                         .hosts = m_network.HostsOf(spec.multipath->paths.front().route),
                         .tunnel = {},
                         .inside = {}};
    MultipathConnection& connection = AddMptcp(first, *spec.multipath, channels);
    flow.AddLegs(*connection.legs.front(), &connection);
    return {*connection.ends.client, *connection.ends.server};
}

MultipathConnection&
LegBuilder::AddMptcp(const LegParts& first,
                     const MultipathSpec& multipath,
                     const std::vector<PerEnd<Channel>>& channels)
{
    std::vector<Leg*> subflows;
    std::vector<PerEnd<TcpFormat*>> formats;
    for (uint32_t path = 0; path < channels.size(); ++path)
    {
        LegParts parts = first;
        parts.number += path * MAX_CARRIERS;
        parts.path = path;
        parts.channels = channels[path];
        const TcpLeg subflow = AddTcp(parts);
        subflows.push_back(&subflow.leg);
        formats.push_back(subflow.formats);
    }
    MultipathConnection& connection =
        m_multipath.emplace_back(JoinSubflows(m_loop, first.tcp, multipath, subflows));
    if (m_capture)
    {
        connection.contents = m_capture->AddMptcp(multipath, formats, connection.mappings);
    }
    return connection;
}

MultipathConnection&
LegBuilder::AddQuicPaths(const LegParts& first,
                         const QuicSpec& quic,
                         const MultipathSpec& multipath,
                         const std::vector<PerEnd<Channel>>& channels)
{
    MultipathConnection& connection = m_multipath.emplace_back();
    for (uint32_t number = 0; number < channels.size(); ++number)
    {
        LegParts parts = first;
        parts.number += number * MAX_CARRIERS;
        parts.path = number;
        parts.channels = channels[number];
        const PerEnd<QuicFormat*> formats = AddQuicTaps(parts, quic);
        const PerEnd<UdpSocket*> sockets = AddSockets(parts);
        auto makeAlgorithm = [&](End end) { return MakeAlgorithm(parts, end, quic); };
        if (number == 0)
        {
            connection.quic = MakeQuicEnds(m_loop,
                                           quic,
                                           parts.channels,
                                           makeAlgorithm,
                                           DrawsOf(RandomComponent::CARRIER_THREADS, parts.number));
        }
        PerEnd<QuicPath*> ends{};
        for (End end : ENDS)
        {
            QuicConnection& own = *connection.quic[end];
            const bool isBackup = multipath.paths[number].backup;
            number == 0 ? own.UsePaths(multipath.scheduler, isBackup)
                        : own.AddPath(UnfragmentedChannel(parts.channels[end]),
                                      makeAlgorithm(end),
                                      isBackup);
            ends[end] = own.Paths().back();
            if (formats[end])
            {
                formats[end]->SetSender(ends[end]->GetSender());
            }
        }
        Leg& leg = m_legs.emplace_back(Leg{parts.role, parts.hop, parts.cc.name, ends, number});
        leg.sockets = {sockets.client, sockets.server};
        connection.legs.push_back(&leg);
    }
    QuicConnection::Join(*connection.quic.client, *connection.quic.server);
    return connection;
}

PerEnd<CarrierContents*>
LegBuilder::ContentsOf(const PerEnd<StreamContents*>& streams,
                       uint32_t tunnel,
                       const std::vector<HandshakeTurn>& handshake,
                       const PerEnd<const std::vector<LayerSpec>*>& layers)
{
    PerEnd<CarrierContents*> contents{};
    for (End end : ENDS)
    {
        if (streams[end])
        {
            contents[end] =
                &m_capture->AddContents(*streams[end], tunnel, handshake, end, *layers[end]);
        }
    }
    return contents;
}

} // namespace tunnelcc
