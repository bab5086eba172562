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

/// Threads of a host with a datagram tunnel that has one for each direction.
uint32_t
ThreadsOf(const HostSpec& host)
{
    return 2 + (host.appPerByte > 0 ? 1 : 0);
}

/// Whether each of so many threads has a core to itself, and pays nothing for finding it.
bool
HasCores(const HostSpec& machine, uint32_t threads)
{
    return machine.switchCost == 0 && threads <= machine.cores;
}

bool
HasCores(const ExperimentSpec& spec)
{
    uint32_t client = ThreadsOf(spec.client);
    uint32_t server = ThreadsOf(spec.server);
    return spec.oneMachine ? HasCores(spec.client, client + server)
                           : HasCores(spec.client, client) && HasCores(spec.server, server);
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
World::LookaheadOf(const DatagramTunnelSpec& tunnel, bool isForward)
{
    const std::vector<FlowSpec>& flows = m_spec.flows;
    int64_t rtt = flows.front().rtt;
    bool isClocked = (isForward ? m_forward : m_reverse).IsClocked();
    bool isAlone = !isForward || m_spec.crossTraffic.empty();
    bool isInOrder = std::all_of(flows.begin(), flows.end(), [=](const FlowSpec& flow) {
        return flow.rtt == rtt;
    });
    bool isPrompt = HasCores(m_spec) && !tunnel.end.sharesThread;
    if (!isClocked || !isAlone || !isInOrder || !isPrompt)
    {
        return std::nullopt;
    }
    return isForward ? rtt / 2 : rtt - rtt / 2;
}

void
World::AddDatagramTunnel(const DatagramTunnelSpec& spec)
{
    m_forwardLookahead = LookaheadOf(spec, true);
    m_reverseLookahead = LookaheadOf(spec, false);
    m_datagramTunnel.emplace(spec,
                             m_clientCpu,
                             m_serverCpu,
                             m_spec.download ? m_reverseLookahead : m_forwardLookahead,
                             m_spec.download ? m_forwardLookahead : m_reverseLookahead);
}

Channel
World::TunnelChannel(bool isForward, int64_t delay)
{
    PathDirection& direction = isForward ? m_forward : m_reverse;
    const Lookahead& lookahead = isForward ? m_forwardLookahead : m_reverseLookahead;
    return lookahead ? Channel(m_clockedPaths.emplace_back(*direction.GetLink(), delay))
                     : Channel(direction, delay);
}

World::HopChannels
World::TunnelChannels(int64_t rtt)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    auto channels = m_tunnelChannels.find(rtt);
    if (channels == m_tunnelChannels.end())
    {
        int64_t delay = rtt / 2;
        Channel forward = TunnelChannel(true, delay);
        Channel reverse = TunnelChannel(false, rtt - delay);
        channels = m_tunnelChannels.emplace(rtt, Across(forward, reverse)).first;
    }
    return channels->second;
}

World::Connection&
World::AddDatagramLeg(uint32_t flow)
{
    HopChannels channels = TunnelChannels(m_spec.flows[flow].rtt);
    DatagramWay& toServer = m_datagramTunnel->MakeWay(true, channels.toServer, m_spec.tcp);
    DatagramWay& toClient = m_datagramTunnel->MakeWay(false, channels.toClient, m_spec.tcp);
    return AddLegInTunnel(flow, toServer, toClient);
}

void
World::AddStreamTunnel(const StreamTunnelSpec& spec)
{
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
