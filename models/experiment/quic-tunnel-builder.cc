/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-tunnel-builder.h"

namespace tunnelcc
{

QuicTunnelBuilder::QuicTunnelBuilder(const Site& site,
                                     const QuicTunnelSpec& spec,
                                     uint32_t number,
                                     uint32_t firstCarrier)
    : CarriedTunnelBuilder(site, number, firstCarrier),
      m_spec(spec)
{
}

void
QuicTunnelBuilder::Begin()
{
    if (m_carrier)
    {
        return; // another tunnel goes through it
    }
    PerEnd<Host&> hosts = m_site.network.HostsOf(m_spec.route);
    const FlowSpec& first = FirstThrough(m_site.spec, m_number);
    LegParts parts =
        CarrierParts(m_site.spec.tcp.at(first.tcp), m_spec.carrierCc, m_spec.route, m_spec.under);
    parts.sockets = &m_spec.sockets;
    if (m_spec.multipath)
    {
        m_paths = &m_site.legs.AddQuicPaths(parts,
                                            m_spec.quic,
                                            *m_spec.multipath,
                                            m_site.ChannelsOf(*m_spec.multipath, Crossing()));
    }
    m_carrier = m_paths ? m_paths->legs.front() : &m_site.legs.AddQuic(parts, m_spec.quic);
    m_packets = std::make_unique<QuicTunnel>(m_spec,
                                             *Ends().client,
                                             *Ends().server,
                                             hosts.client.cpu,
                                             hosts.server.cpu);
}

EventSources
QuicTunnelBuilder::Dial()
{
    EventSources dials;
    dials.push_back(
        std::make_unique<DialStart<QuicConnection>>(m_site.loop, *Ends().client, m_spec.start));
    return dials;
}

const LegEnds<QuicConnection>&
QuicTunnelBuilder::Ends() const
{
    return m_paths ? m_paths->quic : m_carrier->Quic();
}

} // namespace tunnelcc
