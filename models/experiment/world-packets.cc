/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * How a world builds tunnels that carry packets: connections from end to end, whose packets enter
 * and leave through the tunnel's devices.
 */
#include "world.h"

namespace tunnelcc
{

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

World::Connection&
World::AddDatagramLeg(uint32_t flow)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    int64_t rtt = m_spec.flows[flow].rtt;
    auto path = m_datagramChannels.find(rtt);
    if (path == m_datagramChannels.end())
    {
        path = m_datagramChannels.emplace(rtt, ChannelsFor(0, rtt)).first;
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
