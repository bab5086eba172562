/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-tunnel.h"

#include "node-datagrams.h"
#include "node-relay.h"
#include "node-stream.h"
#include "node-tunnel-parts.h"
#include "socket/linux-tcp-socket-factory.h"
#include "socket/ns3-turn.h"
#include "spec/refuse.h"

#include "ns3/string.h"

#include <utility>

namespace tunnelcc
{

NS_OBJECT_ENSURE_REGISTERED(NodeTunnel);

namespace
{

using namespace ns3; // names of ours come first

std::unique_ptr<NodeTunnelParts>
MakeParts(const TunnelPlace& place, const RelaySpec& spec)
{
    return std::make_unique<NodeRelay>(place, spec);
}

std::unique_ptr<NodeTunnelParts>
MakeParts(const TunnelPlace& place, const DatagramTunnelSpec& spec)
{
    return std::make_unique<NodeDatagrams>(place, spec);
}

std::unique_ptr<NodeTunnelParts>
MakeParts(const TunnelPlace& place, const StreamTunnelSpec& spec)
{
    return std::make_unique<NodeStream>(place, spec);
}

std::unique_ptr<NodeTunnelParts>
MakeParts(const TunnelPlace& place, const QuicTunnelSpec& /* spec */)
{
    Refuse("a tunnel " + place.Spec().name +
           ": expected one of another kind than quic-datagram, "
           "which nodes do not have");
}

} // namespace

ns3::TypeId
NodeTunnel::GetTypeId()
{
    static TypeId tid =
        TypeId("tunnelcc::NodeTunnel")
            .SetParent<Application>()
            .SetGroupName("Tunnelcc")
            .AddConstructor<NodeTunnel>()
            .AddAttribute("Protocol",
                          "Socket factory of carriers over TCP.",
                          TypeIdValue(LinuxTcpSocketFactory::GetTypeId()),
                          MakeTypeIdAccessor(&NodeTunnel::m_protocol),
                          MakeTypeIdChecker())
            .AddAttribute("CongestionControl",
                          "Of carriers over TCP, if they are LinuxTcpSockets; empty: the tunnel's "
                          "own, or else that of the node's sockets.",
                          StringValue(""),
                          MakeStringAccessor(&NodeTunnel::m_congestionControl),
                          MakeStringChecker());
    return tid;
}

NodeTunnel::NodeTunnel() = default;
NodeTunnel::~NodeTunnel() = default;

void
NodeTunnel::Set(const NodeTunnelSpec& spec,
                ns3::Ptr<ns3::Node> client,
                ns3::Ptr<ns3::Node> server,
                const ns3::Address& address)
{
    if (m_parts)
    {
        Refuse("tunnelcc::NodeTunnel::Set(): expected one call");
    }
    if (!client || !server || client == server)
    {
        Refuse("a tunnel " + spec.name + ": expected two nodes");
    }
    m_place = std::make_unique<TunnelPlace>(spec, std::move(client), std::move(server), address);
    m_parts = std::visit([this](const auto& it) { return MakeParts(*m_place, it); },
                         m_place->Spec().tunnel);
}

const TunnelPlace&
NodeTunnel::Place() const
{
    if (!m_place)
    {
        Refuse("tunnelcc::NodeTunnel: expected one that TunnelHelper::Install() made, or a call of "
               "Set() before");
    }
    return *m_place;
}

bool
NodeTunnel::IsRelay() const
{
    return std::holds_alternative<RelaySpec>(Place().Spec().tunnel);
}

ns3::NetDeviceContainer
NodeTunnel::GetDevices() const
{
    Place();
    return m_parts->Devices();
}

void
NodeTunnel::Forward(uint16_t port, const ns3::Address& target)
{
    Place();
    m_parts->Forward(port, target);
}

void
NodeTunnel::StartApplication()
{
    Place();
    const Ns3Turn turn;
    m_place->SetCarriers(m_protocol, m_congestionControl);
    m_parts->Start(turn.Now());
}

void
NodeTunnel::StopApplication()
{
    Place();
    const Ns3Turn turn;
    m_parts->Stop(turn.Now());
}

void
NodeTunnel::DoDispose()
{
    m_parts.reset();
    m_place.reset();
    Application::DoDispose();
}

} // namespace tunnelcc
