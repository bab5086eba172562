/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "relay-builder.h"

#include "tunnel/plain-side.h"

#include <utility>

namespace tunnelcc
{

namespace
{

/// Dials a shared carrier before any flow wants it.
class EarlyDial final : public EventSource
{
  public:
    EarlyDial(EventLoop& loop, RelayCarrier& carrier, int64_t start)
        : EventSource(loop),
          m_carrier(carrier)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_carrier.Dial(now);
    }

  private:
    RelayCarrier& m_carrier;
};

} // namespace

RelayBuilder::RelayBuilder(const Site& site, const RelaySpec& spec, uint32_t firstCarrier)
    : m_site(site),
      m_spec(spec),
      m_firstCarrier(firstCarrier),
      m_hops(spec.hops.size())
{
}

/// The hosts of the connection between one end's application and the relay on its side.
PerEnd<Host&>
RelayBuilder::HostsBeside(const FlowSpec& flow, End end) const
{
    if (const auto& route = flow.access.routes[end])
    {
        return m_site.network.HostsOf(*route);
    }
    Host& host = m_site.network.HostsOf(flow.route)[end];
    return {host, host};
}

/// What one end of that connection sends into: its host's loopback, or the links to a gateway.
Channel
RelayBuilder::BesideRelay(const FlowSpec& flow, End end, End sender) const
{
    if (const auto& route = flow.access.routes[end])
    {
        return m_site.network.ChannelFrom(*route, sender, 0);
    }
    return {HostsBeside(flow, end).client.loopback[sender], m_spec.loopbackRtt / 2};
}

/// Add the connection to the client's application, or from the last relay to the server's.
Leg&
RelayBuilder::AddAccessLeg(uint32_t index, End end)
{
    const FlowSpec& flow = m_site.spec.flows[index];
    bool isClient = end == End::CLIENT;
    auto makeChannel = [&](End sender) { return BesideRelay(flow, end, sender); };
    return m_site.legs
        .AddTcp({isClient ? LegRole::APP : LegRole::TARGET,
                 std::nullopt,
                 index,
                 m_site.spec.tcp.at(isClient ? flow.appTcp : flow.targetTcp),
                 flow.cc,
                 MakePerEnd(End::CLIENT, makeChannel),
                 HostsBeside(flow, end),
                 {},
                 {},
                 !flow.access.routes[end]})
        .leg;
}

PerEnd<CarrierContents*>
RelayBuilder::ContentsOf(const PerEnd<StreamContents*>& streams, uint32_t tunnel) const
{
    return m_site.legs.ContentsOf(streams,
                                  tunnel,
                                  m_spec.handshake,
                                  {&m_spec.sent.client.layers, &m_spec.sent.server.layers});
}

RelayBuilder::Carrier&
RelayBuilder::AddCarrier(size_t hop, const FlowSpec& flow)
{
    const HopSpec& hopSpec = m_spec.hops[hop];
    FlowSpec crossing = flow;
    crossing.access = {}; // that of the applications
    if (hop > 0)
    {
        crossing.extraDelay = {0, 0};
    }
    PerEnd<Host&> hosts = m_site.network.HostsOf(hopSpec.route);
    Carrier& carrier = m_hops[hop].carriers.emplace_back();
    const LegParts parts{LegRole::CARRIER,
                         static_cast<uint32_t>(hop),
                         static_cast<uint32_t>(hop) * MAX_CARRIERS + m_firstCarrier + flow.carrier,
                         m_site.spec.tcp.at(flow.tcp),
                         hopSpec.cc.name.empty() ? flow.carrierCc : hopSpec.cc,
                         hopSpec.under ? m_site.ChannelsThrough(*hopSpec.under, crossing)
                                       : m_site.ChannelsOf(hopSpec.route, crossing),
                         hosts,
                         flow.tunnel,
                         {hopSpec.under, hopSpec.under},
                         false,
                         0,
                         &m_spec.sockets};
    if (m_spec.kcp)
    {
        carrier.leg = &m_site.legs.AddKcp(parts, *m_spec.kcp);
    }
    else if (m_spec.rudp)
    {
        carrier.leg = &m_site.legs.AddRudp(parts, *m_spec.rudp, m_hops[hop].sessions);
    }
    else if (hopSpec.multipath)
    {
        const auto channels = m_site.ChannelsOf(*hopSpec.multipath, crossing);
        carrier.paths =
            m_spec.quic
                ? &m_site.legs.AddQuicPaths(parts, *m_spec.quic, *hopSpec.multipath, channels)
                : &m_site.legs.AddMptcp(parts, *hopSpec.multipath, channels);
        carrier.leg = carrier.paths->legs.front();
        carrier.contents = ContentsOf(carrier.paths->contents, *flow.tunnel);
    }
    else if (m_spec.quic)
    {
        carrier.leg = &m_site.legs.AddQuic(parts, *m_spec.quic);
    }
    else
    {
        const TcpLeg tcp = m_site.legs.AddTcp(parts);
        carrier.leg = &tcp.leg;
        carrier.contents = ContentsOf(tcp.Contents(), *flow.tunnel);
    }
    carrier.Share(m_spec, {hosts.client.cpu, hosts.server.cpu});
    return carrier;
}

/// Add the connections between the relays, for a flow.
void
RelayBuilder::AddCarriers(const FlowSpec& spec, Flow& flow)
{
    for (size_t hop = 0; hop < m_hops.size(); ++hop)
    {
        std::deque<Carrier>& carriers = m_hops[hop].carriers;
        bool isNew = spec.carrier == carriers.size();
        Carrier& carrier = isNew ? AddCarrier(hop, spec) : carriers.at(spec.carrier);
        flow.AddLegs(*carrier.leg, carrier.paths);
    }
}

Sockets
RelayBuilder::AddFlow(uint32_t index, Flow& flow)
{
    flow.legs.push_back(&AddAccessLeg(index, End::CLIENT));
    AddCarriers(m_site.spec.flows[index], flow);
    flow.legs.push_back(&AddAccessLeg(index, End::SERVER));
    AddRelays(m_site.spec.flows[index],
              flow,
              {std::make_unique<PlainSide>(*flow.legs.front()->Tcp().server),
               std::make_unique<PlainSide>(*flow.legs.back()->Tcp().client)});
    return {*flow.legs.front()->Tcp().client, *flow.legs.back()->Tcp().server};
}

PerEnd<Channel>
RelayBuilder::AddDatagrams(const FlowSpec& spec, UdpParts& parts)
{
    auto channelsAt = [&](End end) {
        const PerEnd<Channel> channels =
            MakePerEnd(End::CLIENT, [&](End sender) { return BesideRelay(spec, end, sender); });
        const auto& route = spec.access.routes[end];
        parts.areTapped[end] = m_site.capture && route;
        return parts.areTapped[end]
                   ? m_site.capture->AddUdp({m_site.spec.routes[*route].hosts, {}, 0, APP_PORT},
                                            0,
                                            channels)
                   : channels;
    };
    const PerEnd<PerEnd<Channel>> channels = MakePerEnd(End::CLIENT, channelsAt);
    auto makeSide = [&](End end) -> std::unique_ptr<RelaySide> {
        auto side = std::make_unique<DatagramSide>(m_spec.udp,
                                                   spec.datagrams->header,
                                                   end,
                                                   channels[end][Other(end)],
                                                   *parts.sockets[end],
                                                   parts.logs);
        parts.peers[end] = side.get();
        parts.flow.datagrams->relays[end] = side.get();
        return side;
    };
    AddCarriers(spec, parts.flow);
    AddRelays(spec, parts.flow, MakePerEnd(End::CLIENT, makeSide));
    return {channels.client.client, channels.server.server};
}

void
RelayBuilder::AddRelays(const FlowSpec& flowSpec,
                        Flow& flow,
                        PerEnd<std::unique_ptr<RelaySide>> toApplications)
{
    std::vector<std::unique_ptr<RelaySide>>& sides = flow.sides;
    sides.push_back(std::move(toApplications.client));
    for (Hop& hop : m_hops)
    {
        Carrier& carrier = hop.carriers[flowSpec.carrier];
        CarrierSide::Logs& logs = carrier.logs.emplace_back();
        for (End end : ENDS)
        {
            sides.push_back(carrier.MakeSide(m_spec, end, logs));
        }
    }
    sides.push_back(std::move(toApplications.server));
    flow.relays = MakeRelays(m_spec, sides, [&](size_t relay) -> Cpu& {
        return relay == 0 ? m_site.network.HostsOf(m_spec.hops.front().route).client.cpu
                          : m_site.network.HostsOf(m_spec.hops[relay - 1].route).server.cpu;
    });
}

EventSources
RelayBuilder::Dial()
{
    EventSources dials;
    if ((m_spec.mux || m_spec.quic) && m_spec.early)
    {
        for (Hop& hop : m_hops)
        {
            for (Carrier& carrier : hop.carriers)
            {
                dials.push_back(std::make_unique<EarlyDial>(m_site.loop, carrier, m_spec.start));
            }
        }
    }
    return dials;
}

} // namespace tunnelcc
