/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "carrier-door.h"

#include "spec/refuse.h"

#include "ns3/inet-socket-address.h"
#include "ns3/inet6-socket-address.h"
#include "ns3/log.h"

#include <algorithm>
#include <string>

namespace tunnelcc
{

NS_LOG_COMPONENT_DEFINE("TunnelccCarrier");

namespace
{

using namespace ns3; // names of ours come first

bool
IsSame(const Address& a, const Address& b)
{
    if (InetSocketAddress::IsMatchingType(a) && InetSocketAddress::IsMatchingType(b))
    {
        const auto one = InetSocketAddress::ConvertFrom(a);
        const auto other = InetSocketAddress::ConvertFrom(b);
        return one.GetIpv4() == other.GetIpv4() && one.GetPort() == other.GetPort();
    }
    if (Inet6SocketAddress::IsMatchingType(a) && Inet6SocketAddress::IsMatchingType(b))
    {
        const auto one = Inet6SocketAddress::ConvertFrom(a);
        const auto other = Inet6SocketAddress::ConvertFrom(b);
        return one.GetIpv6() == other.GetIpv6() && one.GetPort() == other.GetPort();
    }
    return false;
}

} // namespace

CarrierDoor::~CarrierDoor()
{
    Close();
}

void
CarrierDoor::Open()
{
    m_listener = m_place.MakeCarrierSocket(End::SERVER);
    if (m_listener->Bind(m_place.AnyAddress(true)) < 0 || m_listener->Listen() < 0)
    {
        Refuse("a tunnel " + m_place.Spec().name + ": its server cannot listen (errno " +
               std::to_string(m_listener->GetErrno()) + ")");
    }
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&CarrierDoor::OnAccepted, this));
}

void
CarrierDoor::Close()
{
    if (m_listener)
    {
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeNullCallback<void, Ptr<Socket>, const Address&>());
        m_listener->Close();
        m_listener = nullptr;
    }
}

void
CarrierDoor::Expect(NodeSocket& client, NodeSocket& server)
{
    const auto socket = m_place.MakeCarrierSocket(End::CLIENT);
    client.SetSocket(socket, m_place.ServerAddress());
    m_expected.push_back({&client, &server});
}

void
CarrierDoor::OnAccepted(Ptr<Socket> socket, const Address& from)
{
    const auto found =
        std::find_if(m_expected.begin(), m_expected.end(), [&](const PerEnd<NodeSocket*>& it) {
            Address name;
            it.client->GetSocket()->GetSockName(name);
            return IsSame(name, from);
        });
    if (found == m_expected.end())
    {
        NS_LOG_ERROR("a connection that is no carrier of " << m_place.Spec().name);
        socket->Close();
        return;
    }
    NodeSocket& stream = *found->server;
    m_expected.erase(found);
    stream.SetConnected(socket);
}

} // namespace tunnelcc
