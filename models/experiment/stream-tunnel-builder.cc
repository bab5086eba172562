/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stream-tunnel-builder.h"

namespace tunnelcc
{

StreamTunnelBuilder::StreamTunnelBuilder(const Site& site,
                                         const StreamTunnelSpec& spec,
                                         uint32_t number,
                                         uint32_t firstCarrier)
    : PacketTunnelBuilder(site),
      m_spec(spec),
      m_number(number),
      m_firstCarrier(firstCarrier)
{
}

void
StreamTunnelBuilder::Begin()
{
    if (m_carrier)
    {
        return; // another tunnel goes through it
    }
    PerEnd<Host&> hosts = m_site.network.HostsOf(m_spec.route);
    const FlowSpec& first = FirstThrough(m_site.spec, m_number);
    FlowSpec crossing = first;
    crossing.sender = first.access.Near(first.sender);
    crossing.extraDelay = DelaysInTunnel(first);
    const auto& under = m_spec.under;
    const TcpLeg carrier =
        m_site.legs.AddTcp({LegRole::CARRIER,
                            0,
                            m_firstCarrier,
                            m_spec.carrierTcp,
                            m_spec.carrierCc,
                            under ? m_site.ChannelsThrough(*under->tunnel, *under)
                                  : m_site.ChannelsOf(m_spec.route, crossing),
                            hosts,
                            m_number,
                            under ? InsideOf(*under) : PerEnd<std::optional<uint32_t>>{}});
    m_carrier = &carrier.leg;
    m_packets = std::make_unique<StreamTunnel>(m_spec,
                                               *m_carrier->Tcp().client,
                                               *m_carrier->Tcp().server,
                                               hosts.client.cpu,
                                               hosts.server.cpu);
    const auto contents = m_site.legs.ContentsOf(carrier,
                                                 m_number,
                                                 m_spec.handshake,
                                                 {&m_spec.layers.client, &m_spec.layers.server});
    for (End end : ENDS)
    {
        m_packets->SetWatcher(end, contents[end]);
    }
}

PerEnd<Channel>
StreamTunnelBuilder::ChannelsFor(const FlowSpec& flow)
{
    Begin();
    return MakePerEnd(End::CLIENT, [&](End sender) {
        const Channel inside(m_packets->Device(flow.access.Near(sender)));
        return BetweenGateways(flow, sender, inside);
    });
}

Sockets
StreamTunnelBuilder::AddFlow(uint32_t index, Flow& flow)
{
    const PerEnd<Channel> channels = ChannelsFor(m_site.spec.flows[index]);
    Sockets sockets = m_site.legs.AddApp(index, flow, std::nullopt, channels);
    flow.legs.push_back(m_carrier);
    return sockets;
}

PerEnd<Channel>
StreamTunnelBuilder::AddDatagrams(const FlowSpec& spec, UdpParts& parts)
{
    const PerEnd<Channel> channels = ChannelsFor(spec);
    parts.flow.legs.push_back(m_carrier);
    return channels;
}

EventSources
StreamTunnelBuilder::Dial()
{
    EventSources dials;
    dials.push_back(
        std::make_unique<DialStart>(m_site.loop, *m_carrier->Tcp().client, m_spec.start));
    return dials;
}

} // namespace tunnelcc
