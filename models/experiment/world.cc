/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "world.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Opens a flow's first connection, or a tunnel's carrier, at its start time.
class FlowStart final : public EventSource
{
  public:
    FlowStart(TcpEndpoint& endpoint, int64_t start)
        : m_endpoint(endpoint)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_endpoint.Connect(now);
    }

  private:
    TcpEndpoint& m_endpoint;
};

/// Dials a shared carrier before any flow wants it.
class EarlyDial final : public EventSource
{
  public:
    EarlyDial(MuxSession& session, int64_t start)
        : m_session(session)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_session.Dial(now);
    }

  private:
    MuxSession& m_session;
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
    ns3::RngStream stream =
        MakeRandomStream(seed, CongestionDraws(role), 2 * number + (end == End::SERVER));
    constexpr double RANGE = 1ULL << 53;
    return static_cast<int64_t>(stream.RandU01() * RANGE);
}

} // namespace

World::World(const ExperimentSpec& spec)
    : m_spec(spec),
      m_network(m_spec)
{
    for (uint32_t number = 0; number < m_spec.tunnels.size(); ++number)
    {
        AddTunnel(number);
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
        TcpEndpoint& first = *m_flows[index]->legs.front()->Tcp().client;
        m_starts.push_back(std::make_unique<FlowStart>(first, m_spec.flows[index].start));
    }
    for (uint32_t number = 0; number < m_tunnels.size(); ++number)
    {
        Tunnel& tunnel = m_tunnels[number];
        if (const auto* stream = std::get_if<StreamTunnelSpec>(&m_spec.tunnels[number]))
        {
            TcpEndpoint& client = *tunnel.streamCarrier->Tcp().client;
            m_starts.push_back(std::make_unique<FlowStart>(client, stream->start));
        }
        const auto* relay = std::get_if<RelaySpec>(&m_spec.tunnels[number]);
        if (!relay || !relay->dialsEarly)
        {
            continue;
        }
        for (auto& carriers : tunnel.carriers)
        {
            for (Carrier& carrier : carriers)
            {
                m_starts.push_back(
                    std::make_unique<EarlyDial>(*carrier.sessions.client, relay->start));
            }
        }
    }
    for (const DatagramSpec& spec : m_spec.crossTraffic)
    {
        Channel channel = m_network.ChannelFrom(spec.route, spec.sender, 0);
        m_crossTraffic.push_back(std::make_unique<DatagramSource>(spec, channel));
    }
}

/// What both ends of a flow's connection across a route send into.
PerEnd<Channel>
World::ChannelsOf(uint32_t route, const FlowSpec& flow)
{
    return MakePerEnd(flow.sender, [&](End sender) {
        return m_network.ChannelFrom(route, sender, flow.extraDelay[sender]);
    });
}

std::unique_ptr<TcpEndpoint>
World::MakeEndpoint(const LegParts& parts, End end) const
{
    int64_t stream = CongestionStream(m_spec.seed, parts.role, parts.number, end);
    TcpSpec tcp = parts.tcp;
    tcp.nodelay = tcp.nodelay && !(end == End::SERVER && tcp.listenerDelays);
    return std::make_unique<TcpEndpoint>(
        tcp,
        parts.channels[end],
        MakeCongestionControl(parts.cc.name, parts.cc.parameters, stream));
}

Leg&
World::AddLeg(const LegParts& parts)
{
    auto makeEndpoint = [&](End end) { return MakeEndpoint(parts, end); };
    LegEnds<TcpEndpoint> ends = MakePerEnd(End::CLIENT, makeEndpoint);
    TcpEndpoint::Join(*ends.client, *ends.server);
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
    Tunnel& tunnel = m_tunnels.emplace_back();
    for (const FlowSpec& flow : m_spec.flows)
    {
        if (flow.tunnel && *flow.tunnel < number)
        {
            tunnel.firstCarrier = std::max(tunnel.firstCarrier,
                                           m_tunnels[*flow.tunnel].firstCarrier + flow.carrier + 1);
        }
    }
    const TunnelSpec& spec = m_spec.tunnels[number];
    if (const auto* relay = std::get_if<RelaySpec>(&spec))
    {
        tunnel.carriers.resize(relay->hops.size());
        tunnel.rudp.resize(relay->hops.size());
    }
    else if (const auto* datagram = std::get_if<DatagramTunnelSpec>(&spec))
    {
        AddDatagramTunnel(number, *datagram);
    }
    else if (const auto* stream = std::get_if<StreamTunnelSpec>(&spec))
    {
        AddStreamTunnel(number, *stream);
    }
}

void
World::AddFlow(uint32_t index)
{
    auto& flow = *m_flows.emplace_back(std::make_unique<Flow>());
    const FlowSpec& spec = m_spec.flows[index];
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    Tunnel* tunnel = spec.tunnel ? &m_tunnels.at(*spec.tunnel) : nullptr;
    if (!tunnel)
    {
        flow.legs.push_back(&AddLeg({LegRole::APP,
                                     0,
                                     index,
                                     m_spec.tcp.at(spec.tcp),
                                     spec.cc,
                                     ChannelsOf(spec.route, spec),
                                     hosts}));
    }
    else if (tunnel->datagram)
    {
        AddDatagramLeg(index, flow);
    }
    else if (tunnel->stream)
    {
        AddLegInStream(index, flow);
    }
    else
    {
        AddRelayedLegs(index, flow);
        AddRelays(index, flow);
    }
    PerEnd<TcpEndpoint&> sockets{*flow.legs.front()->Tcp().client, *flow.legs.back()->Tcp().server};
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
    if (tunnel && tunnel->stream)
    {
        flow.legs.push_back(tunnel->streamCarrier);
    }
}

} // namespace tunnelcc
