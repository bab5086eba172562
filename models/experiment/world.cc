/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "world.h"

#include "event/random-stream.h"
#include "quic/chromium-bbr.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

// Where servers listen in a capture: a relay for its host, discard (RFC 863) and echo (RFC 862).
constexpr uint16_t RELAY_PORT = 15201;
constexpr uint16_t CROSS_TRAFFIC_PORT = 9;
constexpr uint16_t PING_PORT = 7;

// Payload of what iperf3's client sends so that a server begins to send datagrams (its
// UDP_CONNECT_MSG has 4 bytes).
constexpr uint32_t UDP_HELLO = 4;

/// Opens a flow's first connection, or a tunnel's carrier, at its start time.
class FlowStart final : public EventSource
{
  public:
    FlowStart(ByteStream& socket, int64_t start)
        : m_socket(socket)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_socket.Connect(now);
    }

  private:
    ByteStream& m_socket;
};

/// A client's first datagram, so that a relay and a server behind it know of the flow.
class DatagramHello final : public EventSource
{
  public:
    DatagramHello(DatagramSocket& socket, uint32_t ipBytes, int64_t start)
        : m_socket(socket),
          m_ipBytes(ipBytes)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_socket.Send(now, 0, now, m_ipBytes);
    }

  private:
    DatagramSocket& m_socket;
    const uint32_t m_ipBytes;
};

/// Dials a shared carrier before any flow wants it.
class EarlyDial final : public EventSource
{
  public:
    EarlyDial(World::Carrier& carrier, int64_t start)
        : m_carrier(carrier)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_carrier.Dial(now);
    }

  private:
    World::Carrier& m_carrier;
};

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

/// Whether a flow's hosts send into a tunnel of their own.
bool
IsInside(const FlowSpec& flow)
{
    return flow.tunnel && flow.access.IsNone();
}

} // namespace

World::World(const ExperimentSpec& spec, Capture* capture, AlgorithmWrapper wrap)
    : m_spec(spec),
      m_capture(capture),
      m_wrap(std::move(wrap)),
      m_network(m_spec, capture)
{
    for (uint32_t number = 0; number < m_spec.tunnels.size(); ++number)
    {
        AddTunnel(number);
    }
    for (Tunnel& tunnel : m_tunnels)
    {
        if (auto* stream = std::get_if<StreamParts>(&tunnel))
        {
            AddCarrier(*stream);
        }
    }
    for (uint32_t index = 0; index < m_spec.flows.size(); ++index)
    {
        AddFlow(index);
    }
}

void
World::Start()
{
    for (uint32_t index = 0; index < m_flows.size(); ++index)
    {
        if (ByteStream* first = m_flows[index]->first)
        {
            m_starts.push_back(std::make_unique<FlowStart>(*first, m_spec.flows[index].start));
        }
    }
    for (Tunnel& tunnel : m_tunnels)
    {
        std::visit([&](auto& parts) { Dial(parts); }, tunnel);
    }
    for (uint32_t index = 0; index < m_flows.size(); ++index)
    {
        if (m_flows[index]->datagrams)
        {
            StartDatagrams(index);
        }
    }
}

void
World::Dial(RelayParts& tunnel)
{
    if (!(tunnel.spec.mux || tunnel.spec.quic) || !tunnel.spec.early)
    {
        return;
    }
    for (Hop& hop : tunnel.hops)
    {
        for (Carrier& carrier : hop.carriers)
        {
            m_starts.push_back(std::make_unique<EarlyDial>(carrier, tunnel.spec.start));
        }
    }
}

void
World::Dial(DatagramParts& /* tunnel */)
{
}

void
World::Dial(StreamParts& tunnel)
{
    m_starts.push_back(
        std::make_unique<FlowStart>(*tunnel.carrier->Tcp().client, tunnel.spec.start));
}

/// What both ends of a flow's connection across a route send into.
PerEnd<Channel>
World::ChannelsOf(uint32_t route, const FlowSpec& flow)
{
    return MakePerEnd(flow.sender, [&](End sender) {
        return m_network.ChannelFrom(route, sender, flow.extraDelay[sender]);
    });
}

std::unique_ptr<CongestionControl>
World::MakeAlgorithm(const LegParts& parts, End end) const
{
    int64_t stream = CongestionStream(m_spec.seed, parts.role, parts.number, end);
    const CongestionSpec& cc = parts.cc;
    auto algorithm = cc.code.empty() ? MakeCongestionControl(cc.name, cc.parameters, stream)
                                     : m_modules.Make(cc.name, cc.code, cc.parameters, stream);
    return m_wrap ? m_wrap(std::move(algorithm), cc, stream) : std::move(algorithm);
}

std::unique_ptr<CongestionControl>
World::MakeAlgorithm(const LegParts& parts, End end, const QuicSpec& quic) const
{
    auto own = MakeChromiumBbr(quic,
                               end,
                               parts.cc,
                               CongestionStream(m_spec.seed, parts.role, parts.number, end));
    return own ? std::move(own) : MakeAlgorithm(parts, end);
}

std::unique_ptr<TcpEndpoint>
World::MakeEndpoint(const LegParts& parts, End end) const
{
    return std::make_unique<TcpEndpoint>(parts.tcp, parts.channels[end], MakeAlgorithm(parts, end));
}

WireEnds
World::WireEndsOf(const LegParts& parts) const
{
    const bool isToRelay = parts.isOnLoopback && parts.role == LegRole::APP;
    return {{m_network.NumberOf(parts.hosts.client), m_network.NumberOf(parts.hosts.server)},
            parts.isOnLoopback ? CaptureInterface::LOOPBACK
            : parts.inside     ? CaptureInterface::DEVICE
                               : CaptureInterface::LINK,
            parts.inside.value_or(0),
            parts.tunnel ? m_capture->Spec().tunnels.at(*parts.tunnel).port
            : isToRelay  ? RELAY_PORT
                         : APP_PORT};
}

/// Where the packets of a flow, or of a tunnel that is one, are seen at its ends.
CaptureInterface
World::InterfaceOf(const FlowSpec& flow) const
{
    if (!IsInside(flow))
    {
        return CaptureInterface::LINK;
    }
    return std::holds_alternative<RelaySpec>(m_spec.tunnels.at(*flow.tunnel))
               ? CaptureInterface::LOOPBACK
               : CaptureInterface::DEVICE;
}

std::string
World::LogTitleOf(const LegParts& parts)
{
    switch (parts.role)
    {
    case LegRole::CARRIER: {
        const uint32_t hop = parts.hop.value_or(0);
        const std::string name = "carrier" + std::to_string(parts.number - hop * MAX_CARRIERS);
        return hop > 0 ? name + "-hop" + std::to_string(hop + 1) : name;
    }
    case LegRole::TARGET:
        return "target" + std::to_string(parts.number);
    case LegRole::APP:
        break;
    }
    return "flow" + std::to_string(parts.number);
}

World::LegParts
World::WithUdpTaps(const LegParts& parts, uint32_t header)
{
    LegParts tapped = parts;
    if (m_capture)
    {
        tapped.channels = m_capture->AddUdp(WireEndsOf(parts), header, parts.channels);
    }
    return tapped;
}

PerEnd<CarrierContents*>
World::ContentsOf(uint32_t tunnel,
                  const std::vector<HandshakeTurn>& handshake,
                  const PerEnd<const std::vector<LayerSpec>*>& layers)
{
    PerEnd<CarrierContents*> contents{};
    for (End end : ENDS)
    {
        if (m_capture)
        {
            contents[end] = &m_capture->AddContents(*m_latestStreams[end],
                                                    tunnel,
                                                    handshake,
                                                    end,
                                                    *layers[end]);
        }
    }
    return contents;
}

Leg&
World::AddLeg(const LegParts& given)
{
    LegParts parts = given;
    std::optional<Capture::Tcp> captured;
    if (m_capture)
    {
        captured.emplace(
            m_capture->AddTcp(given.tcp, WireEndsOf(given), LogTitleOf(given), given.channels));
        parts.channels = captured->channels;
    }
    auto makeEndpoint = [&](End end) { return MakeEndpoint(parts, end); };
    LegEnds<TcpEndpoint> ends = MakePerEnd(End::CLIENT, makeEndpoint);
    TcpEndpoint::Join(*ends.client, *ends.server);
    for (End end : ENDS)
    {
        if (captured)
        {
            captured->formats[end].SetSender(ends[end]->GetSender());
            m_latestStreams[end] = &captured->formats[end].Contents();
        }
    }
    for (End end : ENDS)
    {
        TcpMemory& memory = parts.hosts[end].memory;
        if (memory.IsLimited())
        {
            ends[end]->SetMemory(memory);
        }
    }
    return m_legs.emplace_back(Leg{parts.role, parts.hop, parts.cc.name, std::move(ends)});
}

void
World::AddTunnel(uint32_t number)
{
    uint32_t firstCarrier = 0;
    auto count = [&](const FlowSpec& flow) {
        if (flow.tunnel && *flow.tunnel < number)
        {
            firstCarrier = std::max(firstCarrier, m_firstCarriers[*flow.tunnel] + flow.carrier + 1);
        }
    };
    std::for_each(m_spec.flows.begin(), m_spec.flows.end(), count);
    for (const TunnelSpec& tunnel : m_spec.tunnels)
    {
        if (const FlowSpec* under = UnderOf(tunnel))
        {
            count(*under);
        }
    }
    m_firstCarriers.push_back(firstCarrier);
    auto make = [&](const auto& spec) -> Tunnel { return MakeTunnel(spec, number); };
    m_tunnels.push_back(std::visit(make, m_spec.tunnels[number]));
}

/// Add the connection between a flow's applications themselves.
World::Sockets
World::AddAppLeg(uint32_t index,
                 Flow& flow,
                 std::optional<uint32_t> hop,
                 const PerEnd<Channel>& channels)
{
    const FlowSpec& spec = m_spec.flows[index];
    const LegParts parts{LegRole::APP,
                         hop,
                         index,
                         m_spec.tcp.at(spec.tcp),
                         spec.cc,
                         channels,
                         m_network.HostsOf(spec.route),
                         {},
                         IsInside(spec) ? spec.tunnel : std::nullopt};
    Leg& leg = spec.quic ? AddQuicLeg(parts, m_spec.quic.at(*spec.quic)) : AddLeg(parts);
    flow.legs.push_back(&leg);
    return {leg.Stream(End::CLIENT), leg.Stream(End::SERVER)};
}

void
World::AddFlow(uint32_t index)
{
    auto& flow = *m_flows.emplace_back(std::make_unique<Flow>());
    const FlowSpec& spec = m_spec.flows[index];
    if (spec.datagrams)
    {
        AddDatagrams(index, flow);
        return;
    }
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    auto addThrough = [&](auto& tunnel) { return AddThrough(tunnel, index, flow); };
    Sockets sockets = spec.tunnel ? std::visit(addThrough, m_tunnels.at(*spec.tunnel))
                                  : AddAppLeg(index, flow, 0, ChannelsOf(spec.route, spec));
    flow.first = &sockets.client;
    End sender = spec.sender;
    End receiver = Other(sender);
    flow.sender = std::make_unique<BulkSender>(sockets[sender],
                                               spec,
                                               sender == End::CLIENT,
                                               hosts[sender].application,
                                               spec.appPerByte[sender]);
    flow.receiver = std::make_unique<BulkReceiver>(sockets[receiver],
                                                   spec,
                                                   receiver == End::CLIENT,
                                                   hosts[receiver].application,
                                                   spec.appPerByte[receiver]);
}

/// Add the sockets of a flow of datagrams, and its receiver.
void
World::AddDatagrams(uint32_t index, Flow& flow)
{
    const FlowSpec& spec = m_spec.flows[index];
    flow.datagrams = std::make_unique<Datagrams>(spec.datagrams->playout);
    // A relay's sockets know those of the applications, so these come first.
    auto& leg = m_legs.emplace_back(Leg{LegRole::APP, std::nullopt, "none", {}});
    auto& ends = leg.ends.emplace<LegEnds<DatagramSocket>>();
    for (End end : ENDS)
    {
        ends[end] = std::make_unique<DatagramSocket>(spec.datagrams->header);
    }
    flow.legs.push_back(&leg);
    UdpParts parts{flow,
                   {ends.client.get(), ends.server.get()},
                   {ends.server.get(), ends.client.get()},
                   flow.datagrams->logs};
    auto through = [&](auto& tunnel) { return UdpThrough(tunnel, spec, parts); };
    PerEnd<Channel> channels = spec.tunnel ? std::visit(through, m_tunnels.at(*spec.tunnel))
                                           : ChannelsOf(spec.route, spec);
    for (End end : ENDS)
    {
        ends[end]->Connect(*parts.peers[end]);
    }
    if (m_capture)
    {
        const WireEnds wire{m_spec.routes[spec.route].hosts,
                            InterfaceOf(spec),
                            spec.tunnel.value_or(0),
                            spec.role == FlowRole::PING            ? PING_PORT
                            : spec.role == FlowRole::CROSS_TRAFFIC ? CROSS_TRAFFIC_PORT
                                                                   : APP_PORT};
        const PerEnd<Channel> tapped = m_capture->AddUdp(wire, 0, channels);
        for (End end : ENDS)
        {
            channels[end] = parts.areTapped[end] ? channels[end] : tapped[end];
        }
    }
    for (End end : ENDS)
    {
        ends[end]->SetChannel(channels[end]);
    }
    flow.datagrams->receiver = std::make_unique<DatagramReceiver>(*spec.datagrams,
                                                                  *ends[Other(spec.sender)],
                                                                  flow.datagrams->meter);
}

/// Start a flow of datagrams.
void
World::StartDatagrams(uint32_t index)
{
    const FlowSpec& spec = m_spec.flows[index];
    Flow& flow = *m_flows[index];
    const auto& sockets = flow.legs.front()->Udp();
    flow.datagrams->sender = std::make_unique<DatagramSender>(
        spec,
        *sockets[spec.sender],
        MakeRandomStream(m_spec.seed, RandomComponent::DATAGRAM_TIMES, index),
        flow.datagrams->meter);
    if (!flow.relays.empty() && spec.sender == End::SERVER)
    {
        m_starts.push_back(std::make_unique<DatagramHello>(*sockets.client,
                                                           spec.datagrams->header + UDP_HELLO,
                                                           spec.start));
    }
}

} // namespace tunnelcc
