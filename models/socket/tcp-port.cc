/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-port.h"

#include "ns3/inet-socket-address.h"
#include "ns3/inet6-socket-address.h"
#include "ns3/ipv4-end-point.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-protocol.h"
#include "ns3/ipv4.h"
#include "ns3/ipv6-end-point.h"
#include "ns3/ipv6-header.h"
#include "ns3/ipv6-interface.h"
#include "ns3/ipv6-route.h"
#include "ns3/ipv6-routing-protocol.h"
#include "ns3/ipv6.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

template <class Ip, class Header, class EndPoint>
uint32_t
RouteOf(const ns3::Ptr<ns3::Node>& node,
        EndPoint& endPoint,
        const ns3::Ptr<ns3::NetDevice>& device,
        bool setsLocal,
        ns3::Socket::SocketErrno& why)
{
    const auto ip = node->GetObject<Ip>();
    if (!ip || !ip->GetRoutingProtocol())
    {
        why = ns3::Socket::ERROR_AFNOSUPPORT;
        return 0;
    }
    Header header;
    header.SetDestination(endPoint.GetPeerAddress());
    const auto route = ip->GetRoutingProtocol()->RouteOutput(nullptr, header, device, why);
    if (!route)
    {
        return 0;
    }
    if (setsLocal)
    {
        endPoint.SetLocalAddress(route->GetSource());
    }
    const int32_t interface = ip->GetInterfaceForDevice(route->GetOutputDevice());
    return std::min<uint32_t>(ip->GetMtu(static_cast<uint32_t>(interface)), LARGEST_IP_PACKET);
}

} // namespace

ns3::Socket::SocketErrno
TcpPort::Open(ns3::TcpL4Protocol& tcp,
              const ns3::Ptr<ns3::NetDevice>& device,
              const ns3::Address& local)
{
    uint16_t port = 0;
    if (ns3::InetSocketAddress::IsMatchingType(local))
    {
        const auto own = ns3::InetSocketAddress::ConvertFrom(local);
        port = own.GetPort();
        const bool isAny = own.GetIpv4() == ns3::Ipv4Address::GetAny();
        m_endPoint = port    ? tcp.Allocate(device, own.GetIpv4(), port)
                     : isAny ? tcp.Allocate()
                             : tcp.Allocate(own.GetIpv4());
    }
    else if (ns3::Inet6SocketAddress::IsMatchingType(local))
    {
        const auto own = ns3::Inet6SocketAddress::ConvertFrom(local);
        port = own.GetPort();
        const bool isAny = own.GetIpv6() == ns3::Ipv6Address::GetAny();
        m_endPoint6 = port    ? tcp.Allocate6(device, own.GetIpv6(), port)
                      : isAny ? tcp.Allocate6()
                              : tcp.Allocate6(own.GetIpv6());
    }
    else
    {
        return ns3::Socket::ERROR_INVAL;
    }
    return IsOpen() ? ns3::Socket::ERROR_NOTERROR
           : port   ? ns3::Socket::ERROR_ADDRINUSE
                    : ns3::Socket::ERROR_ADDRNOTAVAIL;
}

bool
TcpPort::OpenTo(ns3::TcpL4Protocol& tcp,
                const ns3::Ptr<ns3::NetDevice>& device,
                const ns3::Address& local,
                const ns3::Address& peer)
{
    if (ns3::InetSocketAddress::IsMatchingType(peer))
    {
        const auto own = ns3::InetSocketAddress::ConvertFrom(local);
        const auto other = ns3::InetSocketAddress::ConvertFrom(peer);
        m_endPoint =
            tcp.Allocate(device, own.GetIpv4(), own.GetPort(), other.GetIpv4(), other.GetPort());
    }
    else
    {
        const auto own = ns3::Inet6SocketAddress::ConvertFrom(local);
        const auto other = ns3::Inet6SocketAddress::ConvertFrom(peer);
        m_endPoint6 =
            tcp.Allocate6(device, own.GetIpv6(), own.GetPort(), other.GetIpv6(), other.GetPort());
    }
    return IsOpen();
}

void
TcpPort::Close(ns3::TcpL4Protocol& tcp)
{
    if (m_endPoint)
    {
        tcp.DeAllocate(m_endPoint);
    }
    if (m_endPoint6)
    {
        tcp.DeAllocate(m_endPoint6);
    }
}

void
TcpPort::SetCallbacks(const Receiver& receiver, const ns3::Callback<void>& destroyed)
{
    const auto end = [this, destroyed] {
        m_endPoint = nullptr;
        m_endPoint6 = nullptr;
        destroyed();
    };
    if (m_endPoint)
    {
        m_endPoint->SetDestroyCallback(end);
        m_endPoint->SetRxCallback([this, receiver](ns3::Ptr<ns3::Packet> packet,
                                                   ns3::Ipv4Header header,
                                                   uint16_t port,
                                                   ns3::Ptr<ns3::Ipv4Interface>) {
            receiver(packet,
                     ns3::InetSocketAddress(header.GetSource(), port),
                     ns3::InetSocketAddress(header.GetDestination(), m_endPoint->GetLocalPort()),
                     header.GetEcn());
        });
    }
    else
    {
        m_endPoint6->SetDestroyCallback(end);
        m_endPoint6->SetRxCallback([this, receiver](ns3::Ptr<ns3::Packet> packet,
                                                    ns3::Ipv6Header header,
                                                    uint16_t port,
                                                    ns3::Ptr<ns3::Ipv6Interface>) {
            receiver(packet,
                     ns3::Inet6SocketAddress(header.GetSource(), port),
                     ns3::Inet6SocketAddress(header.GetDestination(), m_endPoint6->GetLocalPort()),
                     header.GetEcn());
        });
    }
}

bool
TcpPort::SetPeer(const ns3::Address& peer)
{
    const bool is4 = ns3::InetSocketAddress::IsMatchingType(peer);
    if (is4 == IsIpv6())
    {
        return false;
    }
    if (is4)
    {
        const auto to = ns3::InetSocketAddress::ConvertFrom(peer);
        m_endPoint->SetPeer(to.GetIpv4(), to.GetPort());
    }
    else
    {
        const auto to = ns3::Inet6SocketAddress::ConvertFrom(peer);
        m_endPoint6->SetPeer(to.GetIpv6(), to.GetPort());
    }
    return true;
}

void
TcpPort::SetDevice(const ns3::Ptr<ns3::NetDevice>& device)
{
    if (m_endPoint)
    {
        m_endPoint->BindToNetDevice(device);
    }
    if (m_endPoint6)
    {
        m_endPoint6->BindToNetDevice(device);
    }
}

ns3::Address
TcpPort::Local() const
{
    if (IsIpv6())
    {
        return ns3::Inet6SocketAddress(m_endPoint6->GetLocalAddress(), m_endPoint6->GetLocalPort());
    }
    return ns3::InetSocketAddress(m_endPoint->GetLocalAddress(), m_endPoint->GetLocalPort());
}

ns3::Address
TcpPort::Peer() const
{
    if (IsIpv6())
    {
        return ns3::Inet6SocketAddress(m_endPoint6->GetPeerAddress(), m_endPoint6->GetPeerPort());
    }
    return ns3::InetSocketAddress(m_endPoint->GetPeerAddress(), m_endPoint->GetPeerPort());
}

uint32_t
TcpPort::FindRoute(const ns3::Ptr<ns3::Node>& node,
                   const ns3::Ptr<ns3::NetDevice>& device,
                   bool setsLocal,
                   ns3::Socket::SocketErrno& why)
{
    using namespace ns3;
    return IsIpv6() ? RouteOf<Ipv6, Ipv6Header>(node, *m_endPoint6, device, setsLocal, why)
                    : RouteOf<Ipv4, Ipv4Header>(node, *m_endPoint, device, setsLocal, why);
}

void
TcpPort::WritePorts(ns3::TcpHeader& header) const
{
    header.SetSourcePort(IsIpv6() ? m_endPoint6->GetLocalPort() : m_endPoint->GetLocalPort());
    header.SetDestinationPort(IsIpv6() ? m_endPoint6->GetPeerPort() : m_endPoint->GetPeerPort());
}

void
TcpPort::Send(ns3::TcpL4Protocol& tcp,
              const ns3::Ptr<ns3::Packet>& payload,
              const ns3::TcpHeader& header,
              const ns3::Ptr<ns3::NetDevice>& device) const
{
    const auto send = [&](auto& endPoint) {
        tcp.SendPacket(payload,
                       header,
                       endPoint.GetLocalAddress(),
                       endPoint.GetPeerAddress(),
                       device);
    };
    IsIpv6() ? send(*m_endPoint6) : send(*m_endPoint);
}

} // namespace tunnelcc
