/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * How a world builds tunnels that carry packets: connections from end to end, whose packets enter
 * and leave through the tunnel's devices.
 */
#include "world.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Whether every thread of a tunnel with two at each end has a core to itself.
bool
HasCores(const ExperimentSpec& spec)
{
    auto threads = [](const HostSpec& host) { return host.appPerByte > 0 ? 3 : 2; };
    auto hasRoom = [](const HostSpec& host, uint32_t threads) {
        return host.switchCost == 0 && threads <= host.cores;
    };
    uint32_t client = threads(spec.client);
    uint32_t server = threads(spec.server);
    return spec.oneMachine ? hasRoom(spec.client, client + server)
                           : hasRoom(spec.client, client) && hasRoom(spec.server, server);
}

} // namespace

World::Connection&
World::AddLegInTunnel(uint32_t flow, PacketDevice& toServer, PacketDevice& toClient)
{
    return AddConnection("app",
                         {RandomComponent::APP_CONGESTION, flow},
                         m_spec.tcp,
                         m_spec.flows[flow].cc,
                         Channel(toServer),
                         Channel(toClient),
                         m_clientMemory,
                         ServerMemory());
}

Lookahead
World::LookaheadOf(bool toServer)
{
    bool isForward = toServer != m_spec.download;
    int64_t rtt = m_spec.flows.front().rtt;
    bool isShared = isForward && !m_spec.crossTraffic.empty();
    bool isClocked = (isForward ? m_forward : m_reverse).IsClocked() &&
                     std::all_of(m_spec.flows.begin(), m_spec.flows.end(), [=](const FlowSpec& flow) {
                         return flow.rtt == rtt;
                     });
    if (isShared || !isClocked || m_spec.datagramTunnel.end.sharesThread || !HasCores(m_spec))
    {
        return std::nullopt;
    }
    return isForward ? rtt / 2 : rtt - rtt / 2;
}

void
World::AddDatagramTunnel()
{
    Lookahead toServer = LookaheadOf(true);
    Lookahead toClient = LookaheadOf(false);
    m_datagramTunnel.emplace(m_spec.datagramTunnel, m_clientCpu, m_serverCpu, toServer, toClient);
}

Channel
World::TunnelChannel(bool toServer, const Channel& path)
{
    bool isForward = toServer != m_spec.download;
    Lookahead lookahead = LookaheadOf(toServer);
    if (!lookahead)
    {
        return path;
    }
    return Channel((isForward ? m_forward : m_reverse).NewClockedPath(*lookahead));
}

World::Connection&
World::AddDatagramLeg(uint32_t flow)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    int64_t rtt = m_spec.flows[flow].rtt;
    auto path = m_datagramChannels.find(rtt);
    if (path == m_datagramChannels.end())
    {
        HopChannels channels = ChannelsFor(0, rtt);
        path = m_datagramChannels
                   .emplace(rtt,
                            HopChannels{TunnelChannel(true, channels.toServer),
                                        TunnelChannel(false, channels.toClient)})
                   .first;
    }
    const HopChannels& channels = path->second;
    DatagramWay& toServer = m_datagramTunnel->MakeWay(true, channels.toServer, m_spec.tcp);
    DatagramWay& toClient = m_datagramTunnel->MakeWay(false, channels.toClient, m_spec.tcp);
    return AddLegInTunnel(flow, toServer, toClient);
}

void
World::AddStreamTunnel()
{
    const StreamTunnelSpec& spec = m_spec.streamTunnel;
    HopChannels path = ChannelsFor(0, m_spec.path.rtt);
    m_streamCarrier = &AddConnection("carrier",
                                     {RandomComponent::CARRIER_CONGESTION, 0},
                                     spec.carrierTcp,
                                     spec.carrierCc,
                                     path.toServer,
                                     path.toClient,
                                     m_clientMemory,
                                     ServerMemory());
    m_streamTunnel = std::make_unique<StreamTunnel>(spec,
                                                    *m_streamCarrier->client,
                                                    *m_streamCarrier->server,
                                                    m_clientCpu,
                                                    m_serverCpu);
}

World::Connection&
World::AddLegInStream(uint32_t flow)
{
    return AddLegInTunnel(flow, m_streamTunnel->Entrance(true), m_streamTunnel->Entrance(false));
}

} // namespace tunnelcc
