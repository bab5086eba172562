/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-tunnel-parts.h"

#include "socket/congestion-text.h"
#include "socket/linux-tcp-socket-factory.h"
#include "spec/refuse.h"

#include "ns3/boolean.h"
#include "ns3/inet-socket-address.h"
#include "ns3/inet6-socket-address.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-protocol.h"
#include "ns3/ipv4.h"
#include "ns3/ipv6-route.h"
#include "ns3/ipv6-routing-protocol.h"
#include "ns3/ipv6.h"
#include "ns3/string.h"

namespace tunnelcc
{

namespace
{

using namespace ns3; // names of ours come first

/// The address of a node on the way to another; not valid: there is no way.
template <class Ip, class Header, class SocketAddressOf>
Address
SourceOf(const Ptr<Node>& node, const SocketAddressOf& to, const auto& destination)
{
    const auto ip = node->GetObject<Ip>();
    if (!ip || !ip->GetRoutingProtocol())
    {
        return {};
    }
    Header header;
    header.SetDestination(destination);
    Socket::SocketErrno error;
    const auto route = ip->GetRoutingProtocol()->RouteOutput(nullptr, header, nullptr, error);
    return route ? SocketAddressOf(route->GetSource(), to.GetPort()) : Address();
}

/// An address with a port. \param port if it has none
Address
WithPort(const Address& address, uint16_t port)
{
    if (InetSocketAddress::IsMatchingType(address))
    {
        const auto to = InetSocketAddress::ConvertFrom(address);
        return InetSocketAddress(to.GetIpv4(), to.GetPort() > 0 ? to.GetPort() : port);
    }
    if (Inet6SocketAddress::IsMatchingType(address))
    {
        const auto to = Inet6SocketAddress::ConvertFrom(address);
        return Inet6SocketAddress(to.GetIpv6(), to.GetPort() > 0 ? to.GetPort() : port);
    }
    if (Ipv4Address::IsMatchingType(address))
    {
        return InetSocketAddress(Ipv4Address::ConvertFrom(address), port);
    }
    if (Ipv6Address::IsMatchingType(address))
    {
        return Inet6SocketAddress(Ipv6Address::ConvertFrom(address), port);
    }
    Refuse("a tunnel: expected an address of IPv4 or IPv6 of the server");
}

} // namespace

TunnelPlace::TunnelPlace(NodeTunnelSpec spec,
                         ns3::Ptr<ns3::Node> client,
                         ns3::Ptr<ns3::Node> server,
                         const ns3::Address& address)
    : m_spec(std::move(spec)),
      m_nodes{std::move(client), std::move(server)},
      m_address(WithPort(address, m_spec.packets.port))
{
    for (End end : ENDS)
    {
        if (!m_nodes[end]->GetObject<LinuxTcpSocketFactory>())
        {
            LinuxTcpHelper().Install(m_nodes[end]);
        }
    }
}

ns3::Address
TunnelPlace::AnyAddress(bool hasPort) const
{
    if (InetSocketAddress::IsMatchingType(m_address))
    {
        const auto port = InetSocketAddress::ConvertFrom(m_address).GetPort();
        return InetSocketAddress(Ipv4Address::GetAny(), hasPort ? port : 0);
    }
    const auto port = Inet6SocketAddress::ConvertFrom(m_address).GetPort();
    return Inet6SocketAddress(Ipv6Address::GetAny(), hasPort ? port : 0);
}

ns3::Address
TunnelPlace::ClientAddress() const
{
    if (InetSocketAddress::IsMatchingType(m_address))
    {
        const auto to = InetSocketAddress::ConvertFrom(m_address);
        return SourceOf<Ipv4, Ipv4Header>(m_nodes.client, to, to.GetIpv4());
    }
    const auto to = Inet6SocketAddress::ConvertFrom(m_address);
    return SourceOf<Ipv6, Ipv6Header>(m_nodes.client, to, to.GetIpv6());
}

ns3::Ptr<ns3::Socket>
TunnelPlace::MakeCarrierSocket(End end) const
{
    if (m_protocol != LinuxTcpSocketFactory::GetTypeId() &&
        !m_nodes[end]->GetObject<SocketFactory>(m_protocol))
    {
        Refuse("a tunnel " + m_spec.name + ": expected a node with a " + m_protocol.GetName());
    }
    auto socket = Socket::CreateSocket(m_nodes[end], m_protocol);
    const std::string cc =
        m_congestionControl.empty() ? FormatCongestionText(m_spec.cc) : m_congestionControl;
    if (m_protocol == LinuxTcpSocketFactory::GetTypeId() && !cc.empty())
    {
        socket->SetAttribute("CongestionControl", StringValue(cc));
    }
    socket->SetAttributeFailSafe("TcpNoDelay", BooleanValue(m_spec.nodelay[end]));
    return socket;
}

ns3::NetDeviceContainer
NodeTunnelParts::Devices() const
{
    Refuse("tunnelcc::NodeTunnel::GetDevices(): expected a tunnel that carries packets, got a "
           "relay");
}

void
NodeTunnelParts::Forward(uint16_t /* port */, const ns3::Address& /* target */)
{
    Refuse("tunnelcc::NodeTunnel::Forward(): expected a relay, got a tunnel that carries packets");
}

} // namespace tunnelcc
