/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-relay.h"

#include "interop/ns3-simulator.h"
#include "node-cpu.h"
#include "quic/chromium-bbr.h"
#include "socket/linux-tcp-socket-factory.h"
#include "socket/ns3-turn.h"
#include "spec/refuse.h"
#include "tunnel/plain-side.h"
#include "zeros.h"

#include "ns3/inet-socket-address.h"
#include "ns3/inet6-socket-address.h"
#include "ns3/rng-seed-manager.h"

#include <string>
#include <utility>

namespace tunnelcc
{

namespace
{

using namespace ns3; // names of ours come first

constexpr uint32_t UDP_HEADERS = 8;

} // namespace

NodeRelay::NodeRelay(const TunnelPlace& place, const RelaySpec& spec)
    : m_place(place),
      m_spec(spec),
      m_door(place)
{
    if (spec.copyBuffer == 0)
    {
        Refuse("copy_buffer: expected 1 byte or more, got 0");
    }
}

NodeRelay::~NodeRelay() = default;

void
NodeRelay::Forward(uint16_t port, const ns3::Address& target)
{
    const bool is4 = InetSocketAddress::IsMatchingType(target);
    if (!is4 && !Inet6SocketAddress::IsMatchingType(target))
    {
        Refuse("tunnelcc::NodeTunnel::Forward(): expected a target of IPv4 or IPv6 with a port");
    }
    const auto& node = m_place.NodeOf(End::CLIENT);
    Port& added = m_ports.emplace_back(
        Port{*this, node->GetObject<LinuxTcpSocketFactory>()->CreateSocket(), target});
    const Address any = is4 ? Address(InetSocketAddress(Ipv4Address::GetAny(), port))
                            : Address(Inet6SocketAddress(Ipv6Address::GetAny(), port));
    if (added.listener->Bind(any) < 0 || added.listener->Listen() < 0)
    {
        const int error = added.listener->GetErrno();
        m_ports.pop_back();
        Refuse("tunnelcc::NodeTunnel::Forward(): node " + std::to_string(node->GetId()) +
               " cannot listen at port " + std::to_string(port) + " (errno " +
               std::to_string(error) + ")");
    }
    added.listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Port::OnAccepted, &added));
}

void
NodeRelay::Port::OnAccepted(Ptr<Socket> socket, const Address& /* from */)
{
    relay.AddFlow(socket, target);
}

void
NodeRelay::Start(int64_t now)
{
    m_isRunning = true;
    if (m_spec.kcp || m_spec.rudp || m_spec.quic)
    {
        m_gate = std::make_unique<DatagramGate>(m_place.NodeOf(End::SERVER),
                                                true,
                                                m_place.AnyAddress(true));
    }
    else
    {
        m_door.Open();
    }
    if (!m_spec.early || !(m_spec.mux || m_spec.quic))
    {
        return;
    }
    for (uint32_t number = 0; number < m_place.Spec().carriers; ++number)
    {
        AddCarrier().Dial(now);
    }
}

void
NodeRelay::Stop(int64_t /* now */)
{
    m_isRunning = false;
    m_door.Close();
    for (Port& port : m_ports)
    {
        port.listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                         MakeNullCallback<void, Ptr<Socket>, const Address&>());
        port.listener->Close();
    }
    for (Flow& flow : m_flows)
    {
        flow.sockets.client.Abandon();
        flow.sockets.server.Abandon();
    }
    for (Carrier& carrier : m_carriers)
    {
        if (auto* streams = std::get_if<PerEnd<NodeSocket>>(&carrier.ends))
        {
            streams->client.Abandon();
            streams->server.Abandon();
        }
        carrier.ways = {};
    }
    m_gate.reset();
}

// Carriers --------------------------------------------------------------------------------------

ByteStream&
NodeRelay::Carrier::Stream(End end)
{
    auto streamOf = [=](auto& it) -> ByteStream& {
        if constexpr (requires { it[end].GetSocket(); })
        {
            return it[end];
        }
        else if constexpr (requires { it[end]->AddStream(); })
        {
            return it[end]->AddStream();
        }
        else
        {
            return *it[end];
        }
    };
    return std::visit(streamOf, ends);
}

NodeRelay::Ways
NodeRelay::MakeWays()
{
    const Address& to = m_place.ServerAddress();
    const uint32_t header = m_place.IpHeaderBytes() + UDP_HEADERS;
    Ways ways;
    ways.gate = std::make_unique<DatagramGate>(m_place.NodeOf(End::CLIENT),
                                               true,
                                               m_place.AnyAddress(false));
    ways.sent.client = std::make_unique<DatagramWay>(*ways.gate, *m_gate, to, header);
    // The server learns from the first datagram where its client is.
    ways.sent.server = std::make_unique<DatagramWay>(*m_gate, *ways.gate, Address(), header);
    DatagramWay::Join(*ways.sent.client, *ways.sent.server);
    return ways;
}

MakerForEnd<RandomStream>
NodeRelay::DrawsOf(RandomComponent component) const
{
    const uint64_t node = m_place.NodeOf(End::CLIENT)->GetId();
    const uint64_t seed = (RngSeedManager::GetRun() << 16) + node;
    const auto first = static_cast<uint32_t>(2 * m_carriers.size());
    return [=](End end) { return MakeRandomStream(seed, component, first + (end == End::SERVER)); };
}

void
NodeRelay::AddKcp(Carrier& carrier)
{
    carrier.ways = MakeWays();
    carrier.ends = MakeKcpEnds(Ns3Simulator::Loop(),
                               *m_spec.kcp,
                               carrier.ways.Channels(),
                               DrawsOf(RandomComponent::ARQ_CLOCK));
}

void
NodeRelay::AddRudp(Carrier& carrier)
{
    if (!m_rudpSessions.client)
    {
        m_rudpWays = MakeWays();
    }
    carrier.ends = MakeRudpEnds(Ns3Simulator::Loop(),
                                *m_spec.rudp,
                                m_rudpSessions,
                                m_rudpWays.Channels(),
                                DrawsOf(RandomComponent::ARQ_CLOCK));
}

void
NodeRelay::AddQuic(Carrier& carrier)
{
    const QuicSpec& quic = *m_spec.quic;
    const CongestionSpec& cc = m_place.Spec().cc;
    carrier.ways = MakeWays();
    const auto congestionDraws = DrawsOf(RandomComponent::CARRIER_CONGESTION);
    auto makeAlgorithm = [&](End end) {
        RandomStream draws = congestionDraws(end);
        const int64_t stream = DrawTime(draws, INT64_MAX >> 10);
        auto own = MakeChromiumBbr(quic, end, cc, stream);
        return own ? std::move(own) : MakeCongestionControl(cc.name, cc.parameters, stream);
    };
    auto ends = MakeQuicEnds(Ns3Simulator::Loop(),
                             quic,
                             carrier.ways.Channels(),
                             makeAlgorithm,
                             DrawsOf(RandomComponent::CARRIER_THREADS));
    auto makeFormat = [&](End end) {
        auto format = std::make_unique<QuicFormat>(quic,
                                                   end,
                                                   SocketAddress{},
                                                   SocketAddress{},
                                                   m_carriers.size());
        format->SetSender(ends[end]->GetSender());
        return format;
    };
    carrier.formats = MakePerEnd(End::CLIENT, makeFormat);
    QuicFormat::Join(*carrier.formats.client, *carrier.formats.server);
    for (End end : ENDS)
    {
        carrier.ways.sent[end]->SetWriter([&carrier, end](const DatagramWay::Sent& sent) {
            const auto& [now, packet, ipBytes, extras, payload] = sent;
            carrier.formats[end]->Write({now, packet, ipBytes, extras}, 0, carrier.image);
            constexpr uint32_t headers = 20 + UDP_HEADERS; // of IPv4, in the image
            const auto known =
                std::max(static_cast<uint32_t>(carrier.image.bytes.size()), headers) - headers;
            auto datagram =
                Create<ns3::Packet>(carrier.image.bytes.data() + headers, std::min(known, payload));
            AddZeros(datagram, payload - datagram->GetSize());
            return datagram;
        });
    }
    carrier.ends = std::move(ends);
}

NodeRelay::Carrier&
NodeRelay::AddCarrier()
{
    Carrier& carrier = m_carriers.emplace_back();
    if (m_spec.kcp)
    {
        AddKcp(carrier);
    }
    else if (m_spec.rudp)
    {
        AddRudp(carrier);
    }
    else if (m_spec.quic)
    {
        AddQuic(carrier);
    }
    else
    {
        auto& streams = std::get<PerEnd<NodeSocket>>(carrier.ends);
        m_door.Expect(streams.client, streams.server);
        for (End end : ENDS)
        {
            carrier.bytes[end] = std::make_unique<CarrierBytes>(streams[end],
                                                                m_spec.handshake,
                                                                end,
                                                                m_spec.sent[end].layers,
                                                                m_place.Spec().packets);
            carrier.contents[end] = &carrier.bytes[end]->Contents();
        }
    }
    carrier.Share(
        m_spec,
        {NodeCpu::Of(m_place.NodeOf(End::CLIENT)), NodeCpu::Of(m_place.NodeOf(End::SERVER))});
    return carrier;
}

NodeRelay::Carrier&
NodeRelay::CarrierOfNext()
{
    const uint32_t shared = m_place.Spec().carriers;
    if (shared == 0 || m_carriers.size() < std::min<size_t>(shared, m_flows.size()))
    {
        return AddCarrier();
    }
    return m_carriers[(m_flows.size() - 1) % shared];
}

// Connections through the relay -----------------------------------------------------------------

void
NodeRelay::AddFlow(Ptr<Socket> socket, const Address& target)
{
    if (!m_isRunning)
    {
        socket->Close();
        return;
    }
    const Ns3Turn turn;
    Flow& flow = m_flows.emplace_back();
    Carrier& carrier = CarrierOfNext();
    auto& streams = flow.sockets;
    for (End end : ENDS)
    {
        streams[end].SetContents(
            [&flow, end](uint32_t bytes) { return flow.bytes[Other(end)].Read(bytes); },
            [&flow, end](const Ptr<ns3::Packet>& bytes) {
                flow.bytes[end].Add(flow.read[end], bytes);
                flow.read[end] += bytes->GetSize();
            });
        streams[end].SetFailed([&flow, end] { flow.sockets[Other(end)].Abandon(); });
    }
    const auto& server = m_place.NodeOf(End::SERVER);
    streams.server.SetSocket(server->GetObject<LinuxTcpSocketFactory>()->CreateSocket(), target);
    flow.sides.push_back(std::make_unique<PlainSide>(streams.client));
    flow.sides.push_back(carrier.MakeSide(m_spec, End::CLIENT, flow.logs));
    flow.sides.push_back(carrier.MakeSide(m_spec, End::SERVER, flow.logs));
    flow.sides.push_back(std::make_unique<PlainSide>(streams.server));
    flow.relays = MakeRelays(m_spec, flow.sides, [&](size_t relay) -> Cpu& {
        return NodeCpu::Of(m_place.NodeOf(relay == 0 ? End::CLIENT : End::SERVER));
    });
    streams.client.SetConnected(std::move(socket));
}

} // namespace tunnelcc
