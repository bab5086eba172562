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

/// Seed of an algorithm's own random numbers: experiment's seed, leg, flow and end of the leg.
int64_t
CongestionStream(uint64_t seed, RandomComponent component, uint32_t flow, bool isServer)
{
    ns3::RngStream stream = MakeRandomStream(seed, component, 2 * flow + isServer);
    constexpr double RANGE = 1ULL << 53;
    return static_cast<int64_t>(stream.RandU01() * RANGE);
}

} // namespace

World::World(const ExperimentSpec& spec)
    : m_spec(spec),
      m_relaySpec(m_spec.TunnelAs<RelaySpec>()),
      m_hops(m_relaySpec ? m_relaySpec->hops : std::vector<HopSpec>()),
      m_forward(spec.path.forward, PathStreams::Forward(spec.seed)),
      m_reverse(spec.path.reverse, PathStreams::Reverse(spec.seed)),
      m_clientMemory(spec.client.tcpMemory, spec.client.tcpReserve),
      m_serverMemory(spec.server.tcpMemory, spec.server.tcpReserve),
      m_clientCores(spec.client.cores, spec.client.switchCost),
      m_serverCores(spec.server.cores, spec.server.switchCost),
      m_clientCpu(m_clientCores, spec.client.speed),
      m_serverCpu(spec.oneMachine ? m_clientCores : m_serverCores, spec.server.speed),
      m_clientApp(m_clientCpu),
      m_serverApp(m_serverCpu),
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
        m_relayHosts.emplace_back(hop, spec.seed, 1 + static_cast<uint32_t>(m_relayHosts.size()));
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
        TcpEndpoint& first = *m_flows[index]->legs.front()->client;
        m_starts.push_back(std::make_unique<FlowStart>(first, m_spec.flows[index].start));
    }
    if (m_streamCarrier)
    {
        m_starts.push_back(std::make_unique<FlowStart>(*m_streamCarrier->client, 0));
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
        Channel channel(m_forward, m_spec.path.rtt / 2);
        m_crossTraffic.push_back(std::make_unique<DatagramSource>(spec, channel));
    }
}

World::Connection&
World::AddConnection(const std::string& name,
                     const CongestionDraws& draws,
                     const TcpSpec& tcp,
                     const CongestionSpec& congestion,
                     const Channel& toServer,
                     const Channel& toClient,
                     TcpMemory& clientMemory,
                     TcpMemory& serverMemory)
{
    auto makeEnd = [&](const Channel& channel, bool isServer) {
        int64_t stream = CongestionStream(m_spec.seed, draws.component, draws.number, isServer);
        TcpSpec own = tcp;
        own.nodelay = tcp.nodelay && !(isServer && tcp.listenerDelays);
        return std::make_unique<TcpEndpoint>(
            own,
            channel,
            MakeCongestionControl(congestion.name, congestion.parameters, stream));
    };
    auto share = [](TcpEndpoint& endpoint, TcpMemory& memory) {
        if (memory.IsLimited())
        {
            endpoint.SetMemory(memory);
        }
    };
    Connection& connection = m_connections.emplace_back(
        Connection{name, congestion.name, makeEnd(toServer, false), makeEnd(toClient, true)});
    TcpEndpoint::Join(*connection.client, *connection.server);
    share(*connection.client, clientMemory);
    share(*connection.server, serverMemory);
    return connection;
}

World::Connection&
World::AddPathLeg(const std::string& name,
                  const CongestionDraws& draws,
                  const CongestionSpec& congestion,
                  size_t hop,
                  int64_t rtt)
{
    HopChannels channels = ChannelsFor(hop, rtt);
    return AddConnection(name,
                         draws,
                         m_spec.tcp,
                         congestion,
                         channels.toServer,
                         channels.toClient,
                         ClientEnd(hop).memory,
                         ServerEnd(hop).memory);
}

World::HopChannels
World::ChannelsFor(size_t hop, int64_t rtt)
{
    int64_t delay = rtt / 2;
    Channel forward(hop == 0 ? m_forward : m_relayHosts[hop - 1].forward, delay);
    Channel reverse(hop == 0 ? m_reverse : m_relayHosts[hop - 1].reverse, rtt - delay);
    return Across(forward, reverse);
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
        flow.legs.push_back(
            &AddPathLeg("app", {RandomComponent::APP_CONGESTION, index}, spec.cc, 0, spec.rtt));
    }
    bool isDownload = m_spec.download;
    TcpEndpoint& client = *flow.legs.front()->client;
    TcpEndpoint& server = *flow.legs.back()->server;
    flow.sender = std::make_unique<BulkSender>(isDownload ? server : client,
                                               spec,
                                               !isDownload,
                                               isDownload ? m_serverApp : m_clientApp,
                                               isDownload ? m_spec.server.appPerByte
                                                          : m_spec.client.appPerByte);
    flow.receiver = std::make_unique<BulkReceiver>(isDownload ? client : server,
                                                   spec,
                                                   isDownload,
                                                   isDownload ? m_clientApp : m_serverApp,
                                                   isDownload ? m_spec.client.appPerByte
                                                              : m_spec.server.appPerByte);
    if (m_streamTunnel)
    {
        flow.legs.push_back(m_streamCarrier);
    }
}

} // namespace tunnelcc
