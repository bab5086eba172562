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

Lookahead
World::LookaheadOf(const DatagramTunnelSpec& tunnel, End sender)
{
    const std::vector<FlowSpec>& flows = m_spec.flows;
    int64_t rtt = flows.front().rtt;
    bool isClocked = m_path.From(sender).IsClocked();
    bool isAlone = sender != m_dataSender || m_spec.crossTraffic.empty();
    bool isInOrder = std::all_of(flows.begin(), flows.end(), [=](const FlowSpec& flow) {
        return flow.rtt == rtt;
    });
    bool isPrompt = HasCores(m_spec) && !tunnel.end.sharesThread;
    if (!isClocked || !isAlone || !isInOrder || !isPrompt)
    {
        return std::nullopt;
    }
    return m_path.Delay(sender, rtt);
}

void
World::AddDatagramTunnel(const DatagramTunnelSpec& spec)
{
    m_lookaheads = MakePerEnd(End::CLIENT, [&](End sender) { return LookaheadOf(spec, sender); });
    m_datagramTunnel.emplace(spec, m_hosts.client.cpu, m_hosts.server.cpu, m_lookaheads);
}

Channel
World::TunnelChannel(End sender, int64_t rtt)
{
    if (!m_lookaheads[sender])
    {
        return m_path.ChannelFrom(sender, rtt);
    }
    Link& link = *m_path.From(sender).GetLink();
    return Channel(m_clockedPaths.emplace_back(link, m_path.Delay(sender, rtt)));
}

const PerEnd<Channel>&
World::TunnelChannels(int64_t rtt)
{
    // The path sees one sender in each direction, the tunnel, whatever it carries.
    auto channels = m_tunnelChannels.find(rtt);
    if (channels == m_tunnelChannels.end())
    {
        auto makeChannel = [=, this](End sender) { return TunnelChannel(sender, rtt); };
        channels = m_tunnelChannels.emplace(rtt, MakePerEnd(m_dataSender, makeChannel)).first;
    }
    return channels->second;
}

Leg&
World::AddDatagramLeg(uint32_t flow)
{
    const PerEnd<Channel>& path = TunnelChannels(m_spec.flows[flow].rtt);
    auto makeChannel = [&](End sender) {
        return Channel(m_datagramTunnel->AddChannel(sender, path[sender], m_spec.tcp));
    };
    return AddLeg({LegRole::APP,
                   0,
                   flow,
                   m_spec.tcp,
                   m_spec.flows[flow].cc,
                   MakePerEnd(End::CLIENT, makeChannel),
                   HostsOf(0)});
}

void
World::AddStreamTunnel(const StreamTunnelSpec& spec)
{
    m_streamCarrier = &AddLeg({LegRole::CARRIER,
                               0,
                               0,
                               spec.carrierTcp,
                               spec.carrierCc,
                               m_path.Channels(m_spec.path.rtt),
                               HostsOf(0)});
    m_streamTunnel = std::make_unique<StreamTunnel>(spec,
                                                    *m_streamCarrier->ends.client,
                                                    *m_streamCarrier->ends.server,
                                                    m_hosts.client.cpu,
                                                    m_hosts.server.cpu);
}

Leg&
World::AddLegInStream(uint32_t flow)
{
    auto makeChannel = [&](End sender) { return Channel(m_streamTunnel->Device(sender)); };
    return AddLeg({LegRole::APP,
                   std::nullopt,
                   flow,
                   m_spec.tcp,
                   m_spec.flows[flow].cc,
                   MakePerEnd(End::CLIENT, makeChannel),
                   HostsOf(0)});
}

} // namespace tunnelcc
