/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "world.h"

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
    explicit EarlyDial(MuxSession& session)
        : m_session(session)
    {
        m_loop.Insert(0, m_rank, this);
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
      m_relaySpec(m_spec.TunnelAs<RelaySpec>()),
      m_hops(m_relaySpec ? m_relaySpec->hops : std::vector<HopSpec>()),
      m_dataSender(spec.download ? End::SERVER : End::CLIENT),
      m_path(spec.path, spec.seed, 0, m_dataSender),
      m_machines{Machine(spec.client), Machine(spec.server)},
      m_hosts{Host(m_machines.client, spec.client),
              Host(spec.oneMachine ? m_machines.client : m_machines.server, spec.server)},
      m_applications{{CpuThread(m_hosts.client.cpu), spec.client.appPerByte},
                     {CpuThread(m_hosts.server.cpu), spec.server.appPerByte}},
      m_carriers(1 + m_hops.size())
{
    if (const auto* tunnel = m_spec.TunnelAs<DatagramTunnelSpec>())
    {
        AddDatagramTunnel(*tunnel);
    }
    if (const auto* tunnel = m_spec.TunnelAs<StreamTunnelSpec>())
    {
        AddStreamTunnel(*tunnel);
    }
    for (const HopSpec& hop : m_hops)
    {
        auto number = 1 + static_cast<uint32_t>(m_relayHosts.size());
        m_relayHosts.emplace_back(hop, spec.seed, number, m_dataSender);
    }
    for (uint32_t index = 0; index < spec.flows.size(); ++index)
    {
        AddFlow(index);
    }
}

void
World::Start()
{
    for (uint32_t index = 0; index < m_flows.size(); ++index)
    {
        TcpEndpoint& first = *m_flows[index]->legs.front()->ends.client;
        m_starts.push_back(std::make_unique<FlowStart>(first, m_spec.flows[index].start));
    }
    if (m_streamCarrier)
    {
        m_starts.push_back(std::make_unique<FlowStart>(*m_streamCarrier->ends.client, 0));
    }
    if (m_relaySpec && m_relaySpec->dialsEarly)
    {
        for (auto& carriers : m_carriers)
        {
            for (Carrier& carrier : carriers)
            {
                m_starts.push_back(std::make_unique<EarlyDial>(*carrier.sessions.client));
            }
        }
    }
    for (const DatagramSpec& spec : m_spec.crossTraffic)
    {
        Channel channel = m_path.ChannelFrom(m_dataSender, m_spec.path.rtt);
        m_crossTraffic.push_back(std::make_unique<DatagramSource>(spec, channel));
    }
}

HopPath&
World::PathOf(size_t hop)
{
    return hop == 0 ? m_path : m_relayHosts[hop - 1].path;
}

/// \param place 0: the client; then the relays between hops; the last: the server
World::Host&
World::HostAt(size_t place)
{
    if (place == 0)
    {
        return m_hosts.client;
    }
    return place > m_relayHosts.size() ? m_hosts.server : m_relayHosts[place - 1].host;
}

PerEnd<World::Host&>
World::HostsOf(size_t hop)
{
    return {HostAt(hop), HostAt(hop + 1)};
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
    Leg& leg = m_legs.emplace_back(Leg{parts.role,
                                       parts.hop,
                                       parts.cc.name,
                                       m_dataSender,
                                       MakePerEnd(End::CLIENT, makeEndpoint)});
    TcpEndpoint::Join(*leg.ends.client, *leg.ends.server);
    for (End end : ENDS)
    {
        TcpMemory& memory = parts.hosts[end].memory;
        if (memory.IsLimited())
        {
            leg.ends[end]->SetMemory(memory);
        }
    }
    return leg;
}

void
World::AddFlow(uint32_t index)
{
    auto& flow = *m_flows.emplace_back(std::make_unique<Flow>());
    const FlowSpec& spec = m_spec.flows[index];
    if (m_relaySpec)
    {
        AddRelayedLegs(index, flow);
        AddRelays(index, flow);
    }
    else if (m_datagramTunnel)
    {
        flow.legs.push_back(&AddDatagramLeg(index));
    }
    else if (m_streamTunnel)
    {
        flow.legs.push_back(&AddLegInStream(index));
    }
    else
    {
        flow.legs.push_back(&AddLeg(
            {LegRole::APP, 0, index, m_spec.tcp, spec.cc, m_path.Channels(spec.rtt), HostsOf(0)}));
    }
    PerEnd<TcpEndpoint&> sockets{*flow.legs.front()->ends.client, *flow.legs.back()->ends.server};
    End sender = m_dataSender;
    End receiver = Other(sender);
    flow.sender = std::make_unique<BulkSender>(sockets[sender],
                                               spec,
                                               sender == End::CLIENT,
                                               m_applications[sender].thread,
                                               m_applications[sender].costPerByte);
    flow.receiver = std::make_unique<BulkReceiver>(sockets[receiver],
                                                   spec,
                                                   receiver == End::CLIENT,
                                                   m_applications[receiver].thread,
                                                   m_applications[receiver].costPerByte);
    if (m_streamTunnel)
    {
        flow.legs.push_back(m_streamCarrier);
    }
}

} // namespace tunnelcc
