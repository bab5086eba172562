/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "world.h"

#include "datagram-tunnel-builder.h"
#include "event/random-stream.h"
#include "quic-tunnel-builder.h"
#include "relay-builder.h"
#include "stream-tunnel-builder.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tunnelcc
{

namespace
{

// Where servers listen in a capture: discard (RFC 863) and echo (RFC 862).
constexpr uint16_t CROSS_TRAFFIC_PORT = 9;
constexpr uint16_t PING_PORT = 7;

// Payload of what iperf3's client sends so that a server begins to send datagrams (its
// UDP_CONNECT_MSG has 4 bytes).
constexpr uint32_t UDP_HELLO = 4;

/// A client's first datagram, so that a relay and a server behind it know of the flow.
class DatagramHello final : public EventSource
{
  public:
    DatagramHello(EventLoop& loop, DatagramSocket& socket, uint32_t ipBytes, int64_t start)
        : EventSource(loop),
          m_socket(socket),
          m_ipBytes(ipBytes)
    {
        m_loop.Insert(start, m_rank, this);
    }

    void Fire(int64_t now) override
    {
        m_socket.Send(now, 0, now, m_ipBytes);
    }

  private:
    DatagramSocket& m_socket;
    const uint32_t m_ipBytes;
};

/// Of each tunnel, the number of its first carrier among those of all tunnels.
std::vector<uint32_t>
FirstCarriers(const ExperimentSpec& spec)
{
    std::vector<uint32_t> first;
    for (uint32_t number = 0; number < spec.tunnels.size(); ++number)
    {
        uint32_t carriers = 0;
        auto count = [&](const FlowSpec& flow) {
            if (flow.tunnel && *flow.tunnel < number)
            {
                carriers = std::max(carriers, first[*flow.tunnel] + flow.carrier + 1);
            }
        };
        std::ranges::for_each(spec.flows, count);
        for (const TunnelSpec& tunnel : spec.tunnels)
        {
            if (const FlowSpec* under = UnderOf(tunnel))
            {
                count(*under);
            }
        }
        first.push_back(carriers);
    }
    return first;
}

} // namespace

World::World(EventLoop& loop, const ExperimentSpec& spec, Capture* capture, AlgorithmWrapper wrap)
    : m_spec(spec),
      m_network(loop, m_spec, capture),
      m_legs(loop, m_spec, m_network, capture, std::move(wrap)),
      m_site{loop, m_spec, m_network, capture, m_legs, m_tunnels}
{
    AddTunnels();
    for (uint32_t index = 0; index < m_spec.flows.size(); ++index)
    {
        Flow& flow = m_flows.emplace_back();
        m_spec.flows[index].datagrams ? AddDatagrams(index, flow) : AddStream(index, flow);
    }
}

void
World::AddTunnels()
{
    const std::vector<uint32_t> carriers = FirstCarriers(m_spec);
    for (uint32_t number = 0; number < m_spec.tunnels.size(); ++number)
    {
        const TunnelSpec& spec = m_spec.tunnels[number];
        if (const auto* relay = std::get_if<RelaySpec>(&spec))
        {
            m_tunnels.push_back(std::make_unique<RelayBuilder>(m_site, *relay, carriers[number]));
        }
        else if (const auto* datagrams = std::get_if<DatagramTunnelSpec>(&spec))
        {
            m_tunnels.push_back(
                std::make_unique<DatagramTunnelBuilder>(m_site, *datagrams, number));
        }
        else if (const auto* quic = std::get_if<QuicTunnelSpec>(&spec))
        {
            m_tunnels.push_back(
                std::make_unique<QuicTunnelBuilder>(m_site, *quic, number, carriers[number]));
        }
        else
        {
            m_tunnels.push_back(
                std::make_unique<StreamTunnelBuilder>(m_site,
                                                      std::get<StreamTunnelSpec>(spec),
                                                      number,
                                                      carriers[number]));
        }
    }
    for (const auto& tunnel : m_tunnels)
    {
        tunnel->Begin();
    }
}

void
World::Start()
{
    for (uint32_t index = 0; index < m_flows.size(); ++index)
    {
        if (ByteStream* first = m_flows[index].first)
        {
            m_starts.push_back(std::make_unique<DialStart<ByteStream>>(m_site.loop,
                                                                       *first,
                                                                       m_spec.flows[index].start));
        }
    }
    for (const auto& tunnel : m_tunnels)
    {
        std::ranges::move(tunnel->Dial(), std::back_inserter(m_starts));
    }
    for (uint32_t index = 0; index < m_flows.size(); ++index)
    {
        if (m_flows[index].datagrams)
        {
            StartDatagrams(index);
        }
    }
}

/// Add the connections of a flow, and its applications.
void
World::AddStream(uint32_t index, Flow& flow)
{
    const FlowSpec& spec = m_spec.flows[index];
    PerEnd<Host&> hosts = m_network.HostsOf(spec.route);
    Sockets sockets =
        spec.tunnel      ? m_tunnels.at(*spec.tunnel)->AddFlow(index, flow)
        : spec.multipath ? m_legs.AddMptcpApp(index, flow, m_site.ChannelsOf(*spec.multipath, spec))
                         : m_legs.AddApp(index, flow, 0, m_site.ChannelsOf(spec.route, spec));
    flow.first = &sockets.client;
    End sender = spec.sender;
    End receiver = Other(sender);
    flow.sender = std::make_unique<BulkSender>(sockets[sender],
                                               spec,
                                               sender == End::CLIENT,
                                               hosts[sender].application,
                                               spec.appPerByte[sender]);
    flow.receiver = std::make_unique<BulkReceiver>(sockets[receiver],
                                                   spec,
                                                   receiver == End::CLIENT,
                                                   hosts[receiver].application,
                                                   spec.appPerByte[receiver]);
}

/// Add the sockets of a flow of datagrams, and its receiver.
void
World::AddDatagrams(uint32_t index, Flow& flow)
{
    const FlowSpec& spec = m_spec.flows[index];
    flow.datagrams = std::make_unique<Datagrams>(spec.datagrams->playout);
    // A relay's sockets know those of the applications, so these come first.
    Leg& leg = m_legs.AddUdp(spec.datagrams->header);
    const LegEnds<DatagramSocket>& ends = leg.Udp();
    flow.legs.push_back(&leg);
    UdpParts parts{flow,
                   {ends.client.get(), ends.server.get()},
                   {ends.server.get(), ends.client.get()},
                   flow.datagrams->logs};
    PerEnd<Channel> channels = spec.tunnel ? m_tunnels.at(*spec.tunnel)->AddDatagrams(spec, parts)
                                           : m_site.ChannelsOf(spec.route, spec);
    for (End end : ENDS)
    {
        ends[end]->Connect(*parts.peers[end]);
    }
    if (Capture* capture = m_site.capture)
    {
        const WireEnds wire{m_spec.routes[spec.route].hosts,
                            m_site.InterfacesOf(spec),
                            spec.tunnel.value_or(0),
                            spec.role == FlowRole::PING            ? PING_PORT
                            : spec.role == FlowRole::CROSS_TRAFFIC ? CROSS_TRAFFIC_PORT
                                                                   : APP_PORT};
        const PerEnd<Channel> tapped = capture->AddUdp(wire, 0, channels);
        for (End end : ENDS)
        {
            channels[end] = parts.areTapped[end] ? channels[end] : tapped[end];
        }
    }
    for (End end : ENDS)
    {
        ends[end]->SetChannel(channels[end]);
    }
    flow.datagrams->receiver = std::make_unique<DatagramReceiver>(*spec.datagrams,
                                                                  *ends[Other(spec.sender)],
                                                                  flow.datagrams->meter);
}

/// Start a flow of datagrams.
void
World::StartDatagrams(uint32_t index)
{
    const FlowSpec& spec = m_spec.flows[index];
    Flow& flow = m_flows[index];
    const auto& sockets = flow.legs.front()->Udp();
    flow.datagrams->sender = std::make_unique<DatagramSender>(
        m_site.loop,
        spec,
        *sockets[spec.sender],
        MakeRandomStream(m_spec.seed, RandomComponent::DATAGRAM_TIMES, index),
        flow.datagrams->meter);
    if (!flow.relays.empty() && spec.sender == End::SERVER)
    {
        m_starts.push_back(std::make_unique<DatagramHello>(m_site.loop,
                                                           *sockets.client,
                                                           spec.datagrams->header + UDP_HELLO,
                                                           spec.start));
    }
}

} // namespace tunnelcc
