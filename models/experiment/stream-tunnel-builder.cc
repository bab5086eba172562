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
    const TcpLeg carrier = m_site.legs.AddTcp(
        CarrierParts(m_spec.carrierTcp, m_spec.carrierCc, m_spec.route, m_spec.under));
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

EventSources
StreamTunnelBuilder::Dial()
{
    EventSources dials;
    dials.push_back(std::make_unique<DialStart<ByteStream>>(m_site.loop,
                                                            *m_carrier->Tcp().client,
                                                            m_spec.start));
    return dials;
}

} // namespace tunnelcc
