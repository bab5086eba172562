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
    : CarriedTunnelBuilder(site, number, firstCarrier),
      m_spec(spec)
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
    const LegParts parts =
        CarrierParts(m_spec.carrierTcp, m_spec.carrierCc, m_spec.route, m_spec.under);
    const PerEnd<StreamContents*> streams = AddCarrier(parts);
    const std::vector<Leg*> legs = m_paths ? m_paths->legs : std::vector{m_carrier};
    m_packets = std::make_unique<StreamTunnel>(
        m_spec,
        PerEnd<ByteStream&>{Carrier(End::CLIENT), Carrier(End::SERVER)},
        MakePerEnd(End::CLIENT,
                   [&](End end) {
                       std::vector<const TcpEndpoint*> sockets;
                       for (const Leg* leg : legs)
                       {
                           sockets.push_back(leg->Tcp()[end].get());
                       }
                       return sockets;
                   }),
        PerEnd<Cpu&>{hosts.client.cpu, hosts.server.cpu});
    const auto contents = m_site.legs.ContentsOf(streams,
                                                 m_number,
                                                 m_spec.handshake,
                                                 {&m_spec.layers.client, &m_spec.layers.server});
    for (End end : ENDS)
    {
        m_packets->SetWatcher(end, contents[end]);
    }
}

/// Make the carrier, which may have several paths. \returns what is captured of it
PerEnd<StreamContents*>
StreamTunnelBuilder::AddCarrier(const LegParts& parts)
{
    if (!m_spec.multipath)
    {
        const TcpLeg tcp = m_site.legs.AddTcp(parts);
        m_carrier = &tcp.leg;
        return tcp.Contents();
    }
    m_paths = &m_site.legs.AddMptcp(parts,
                                    *m_spec.multipath,
                                    m_site.ChannelsOf(*m_spec.multipath, Crossing()));
    m_carrier = m_paths->legs.front();
    return m_paths->contents;
}

ByteStream&
StreamTunnelBuilder::Carrier(End end) const
{
    return m_paths ? m_paths->Stream(end) : m_carrier->Stream(end);
}

EventSources
StreamTunnelBuilder::Dial()
{
    EventSources dials;
    dials.push_back(
        std::make_unique<DialStart<ByteStream>>(m_site.loop, Carrier(End::CLIENT), m_spec.start));
    return dials;
}

} // namespace tunnelcc
