/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "world.h"

namespace tunnelcc
{

namespace
{

/// Opens a flow's first connection at its start time.
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
      m_forward(spec.path.forward,
                MakeRandomStream(spec.seed, RandomComponent::FORWARD_LOSS),
                MakeRandomStream(spec.seed, RandomComponent::FORWARD_REORDERING)),
      m_reverse(spec.path.reverse,
                MakeRandomStream(spec.seed, RandomComponent::REVERSE_LOSS),
                MakeRandomStream(spec.seed, RandomComponent::REVERSE_REORDERING)),
      m_clientMemory(spec.client.tcpMemory, spec.client.tcpReserve),
      m_serverMemory(spec.server.tcpMemory, spec.server.tcpReserve),
      m_clientCores(spec.client.cores, spec.client.switchCost),
      m_serverCores(spec.server.cores, spec.server.switchCost),
      m_clientCpu(m_clientCores, spec.client.speed),
      m_serverCpu(spec.oneMachine ? m_clientCores : m_serverCores, spec.server.speed),
      m_clientApp(m_clientCpu),
      m_serverApp(m_serverCpu)
{
    if (spec.hasDatagramTunnel)
    {
        m_datagramTunnel.emplace(spec.datagramTunnel, m_clientCpu, m_serverCpu);
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
        TcpEndpoint& first = *m_flows[index]->legs.front().client;
        m_starts.push_back(std::make_unique<FlowStart>(first, m_spec.flows[index].start));
    }
    for (const DatagramSpec& spec : m_spec.crossTraffic)
    {
        Channel channel(m_forward, m_spec.path.rtt / 2);
        m_crossTraffic.push_back(std::make_unique<DatagramSource>(spec, channel));
    }
}

World::Connection
World::MakeConnection(const char* name,
                      RandomComponent component,
                      uint32_t flow,
                      const TcpSpec& tcp,
                      const CongestionSpec& congestion,
                      const Channel& toServer,
                      const Channel& toClient) const
{
    auto makeEnd = [&](const Channel& channel, bool isServer) {
        int64_t stream = CongestionStream(m_spec.seed, component, flow, isServer);
        return std::make_unique<TcpEndpoint>(
            tcp,
            channel,
            MakeCongestionControl(congestion.name, congestion.parameters, stream));
    };
    Connection connection{name, congestion.name, makeEnd(toServer, false), makeEnd(toClient, true)};
    TcpEndpoint::Join(*connection.client, *connection.server);
    return connection;
}

World::Connection
World::MakeLoopbackLeg(const char* name,
                       RandomComponent component,
                       uint32_t flow,
                       const TcpSpec& tcp,
                       Loopback& loopback) const
{
    int64_t delay = m_spec.relay.loopbackRtt / 2;
    return MakeConnection(name,
                          component,
                          flow,
                          tcp,
                          m_spec.flows[flow].cc,
                          Channel(loopback.toServer, delay),
                          Channel(loopback.toClient, delay));
}

World::Connection
World::MakePathLeg(const char* name,
                   RandomComponent component,
                   uint32_t flow,
                   const CongestionSpec& congestion)
{
    PathChannels channels = ChannelsFor(flow);
    return MakeConnection(name,
                          component,
                          flow,
                          m_spec.tcp,
                          congestion,
                          channels.toServer,
                          channels.toClient);
}

World::PathChannels
World::ChannelsFor(uint32_t flow)
{
    int64_t rtt = m_spec.flows[flow].rtt;
    int64_t delay = rtt / 2;
    Channel forward(m_forward, delay);
    Channel reverse(m_reverse, rtt - delay);
    return {m_spec.download ? reverse : forward, m_spec.download ? forward : reverse};
}

World::Connection
World::MakeDatagramLeg(uint32_t flow)
{
    PathChannels path = ChannelsFor(flow);
    DatagramWay& toServer = m_datagramTunnel->MakeWay(true, path.toServer, m_spec.tcp);
    DatagramWay& toClient = m_datagramTunnel->MakeWay(false, path.toClient, m_spec.tcp);
    return MakeConnection("app",
                          RandomComponent::APP_CONGESTION,
                          flow,
                          m_spec.tcp,
                          m_spec.flows[flow].cc,
                          Channel(toServer),
                          Channel(toClient));
}

void
World::AddFlow(uint32_t index)
{
    auto& flow = *m_flows.emplace_back(std::make_unique<Flow>());
    const FlowSpec& spec = m_spec.flows[index];
    const RelaySpec& relay = m_spec.relay;
    if (m_spec.hasRelay)
    {
        flow.legs.push_back(MakeLoopbackLeg("app",
                                            RandomComponent::APP_CONGESTION,
                                            index,
                                            relay.appTcp,
                                            m_clientLoopback));
        flow.legs.push_back(
            MakePathLeg("carrier", RandomComponent::CARRIER_CONGESTION, index, spec.carrierCc));
        flow.legs.push_back(MakeLoopbackLeg("target",
                                            RandomComponent::TARGET_CONGESTION,
                                            index,
                                            relay.targetTcp,
                                            m_serverLoopback));
        flow.clientRelay = std::make_unique<Relay>(Relay::Role::CLIENT,
                                                   relay,
                                                   *flow.legs[0].server,
                                                   *flow.legs[1].client,
                                                   m_clientCpu,
                                                   flow.logs);
        flow.serverRelay = std::make_unique<Relay>(Relay::Role::SERVER,
                                                   relay,
                                                   *flow.legs[2].client,
                                                   *flow.legs[1].server,
                                                   m_serverCpu,
                                                   flow.logs);
    }
    else if (m_datagramTunnel)
    {
        flow.legs.push_back(MakeDatagramLeg(index));
    }
    else
    {
        flow.legs.push_back(MakePathLeg("app", RandomComponent::APP_CONGESTION, index, spec.cc));
    }
    ShareMemory(flow);
    bool isDownload = m_spec.download;
    TcpEndpoint& client = *flow.legs.front().client;
    TcpEndpoint& server = *flow.legs.back().server;
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
}

void
World::ShareMemory(Flow& flow)
{
    auto share = [](TcpEndpoint& endpoint, TcpMemory& memory) {
        if (memory.IsLimited())
        {
            endpoint.SetMemory(memory);
        }
    };
    TcpMemory& server = m_spec.oneMachine ? m_clientMemory : m_serverMemory;
    for (Connection& leg : flow.legs)
    {
        bool isOnClient = m_spec.hasRelay && leg.name == "app";
        bool isOnServer = leg.name == "target";
        share(*leg.client, isOnServer ? server : m_clientMemory);
        share(*leg.server, isOnClient ? m_clientMemory : server);
    }
}

} // namespace tunnelcc
