/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-tunnel-builder.h"

namespace tunnelcc
{

namespace
{

/// Opens the carrier at its time.
class CarrierStart final : public EventSource
{
  public:
    CarrierStart(EventLoop& loop, QuicConnection& carrier, int64_t start)
        : EventSource(loop),
          m_carrier(carrier)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_carrier.Connect(now);
    }

  private:
    QuicConnection& m_carrier;
};

} // namespace

QuicTunnelBuilder::QuicTunnelBuilder(const Site& site,
                                     const QuicTunnelSpec& spec,
                                     uint32_t number,
                                     uint32_t firstCarrier)
    : PacketTunnelBuilder(site),
      m_spec(spec),
      m_number(number),
      m_firstCarrier(firstCarrier)
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
    FlowSpec crossing = first;
    crossing.sender = first.access.Near(first.sender);
    crossing.extraDelay = DelaysInTunnel(first);
    const auto& under = m_spec.under;
    m_carrier = &m_site.legs.AddQuic({LegRole::CARRIER,
                                      0,
                                      m_firstCarrier,
                                      m_site.spec.tcp.at(first.tcp),
                                      m_spec.carrierCc,
                                      under ? m_site.ChannelsThrough(*under->tunnel, *under)
                                            : m_site.ChannelsOf(m_spec.route, crossing),
                                      hosts,
                                      m_number,
                                      under ? InsideOf(*under) : PerEnd<std::optional<uint32_t>>{},
                                      false,
                                      0,
                                      &m_spec.sockets},
                                     m_spec.quic);
    m_packets = std::make_unique<QuicTunnel>(m_spec,
                                             *m_carrier->Quic().client,
                                             *m_carrier->Quic().server,
                                             hosts.client.cpu,
                                             hosts.server.cpu);
}

PerEnd<Channel>
QuicTunnelBuilder::ChannelsFor(const FlowSpec& flow)
{
    Begin();
    return MakePerEnd(End::CLIENT, [&](End sender) {
        const Channel inside(m_packets->Device(flow.access.Near(sender)));
        return BetweenGateways(flow, sender, inside);
    });
}

Sockets
QuicTunnelBuilder::AddFlow(uint32_t index, Flow& flow)
{
    const PerEnd<Channel> channels = ChannelsFor(m_site.spec.flows[index]);
    Sockets sockets = m_site.legs.AddApp(index, flow, std::nullopt, channels);
    flow.legs.push_back(m_carrier);
    return sockets;
}

PerEnd<Channel>
QuicTunnelBuilder::AddDatagrams(const FlowSpec& spec, UdpParts& parts)
{
    const PerEnd<Channel> channels = ChannelsFor(spec);
    parts.flow.legs.push_back(m_carrier);
    return channels;
}

EventSources
QuicTunnelBuilder::Dial()
{
    EventSources dials;
    dials.push_back(
        std::make_unique<CarrierStart>(m_site.loop, *m_carrier->Quic().client, m_spec.start));
    return dials;
}

} // namespace tunnelcc
