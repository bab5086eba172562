/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "linux-tcp-socket-factory.h"

#include "ns3/abort.h"
#include "ns3/object-vector.h"

#include <algorithm>

namespace tunnelcc
{

NS_OBJECT_ENSURE_REGISTERED(LinuxTcpSocketFactory);

ns3::TypeId
LinuxTcpSocketFactory::GetTypeId()
{
    static ns3::TypeId tid =
        ns3::TypeId("tunnelcc::LinuxTcpSocketFactory")
            .SetParent<ns3::SocketFactory>()
            .SetGroupName("Tunnelcc")
            .AddConstructor<LinuxTcpSocketFactory>()
            .AddAttribute("SocketList",
                          "The sockets that are bound.",
                          ns3::ObjectVectorValue(),
                          ns3::MakeObjectVectorAccessor(&LinuxTcpSocketFactory::m_bound),
                          ns3::MakeObjectVectorChecker<LinuxTcpSocket>());
    return tid;
}

LinuxTcpSocketFactory::LinuxTcpSocketFactory()
    : m_sockets("tunnelcc::LinuxTcpSocket")
{
}

void
LinuxTcpSocketFactory::SetSockets(const ns3::ObjectFactory& sockets)
{
    m_sockets = sockets;
}

ns3::Ptr<ns3::Socket>
LinuxTcpSocketFactory::CreateSocket()
{
    auto socket = m_sockets.Create<LinuxTcpSocket>();
    socket->SetFactory(this);
    return socket;
}

ns3::Ptr<ns3::Node>
LinuxTcpSocketFactory::GetNode() const
{
    return GetObject<ns3::Node>();
}

void
LinuxTcpSocketFactory::Add(ns3::Ptr<LinuxTcpSocket> socket)
{
    m_bound.push_back(std::move(socket));
}

void
LinuxTcpSocketFactory::Remove(ns3::Ptr<LinuxTcpSocket> socket)
{
    const auto found = std::find(m_bound.begin(), m_bound.end(), socket);
    if (found != m_bound.end())
    {
        *found = m_bound.back();
        m_bound.pop_back();
    }
}

void
LinuxTcpSocketFactory::DoDispose()
{
    m_bound.clear();
    SocketFactory::DoDispose();
}

LinuxTcpHelper::LinuxTcpHelper()
    : m_sockets("tunnelcc::LinuxTcpSocket")
{
}

void
LinuxTcpHelper::SetAttribute(const std::string& name, const ns3::AttributeValue& value)
{
    // A factory of ns-3 would keep a value that is refused, and say so only by what sockets do.
    const auto socket = ns3::CreateObject<LinuxTcpSocket>();
    NS_ABORT_MSG_UNLESS(socket->SetAttributeFailSafe(name, value),
                        "tunnelcc::LinuxTcpSocket has no attribute " << name
                                                                     << ", or not with this value");
    m_sockets.Set(name, value);
}

void
LinuxTcpHelper::Install(ns3::Ptr<ns3::Node> node) const
{
    auto factory = node->GetObject<LinuxTcpSocketFactory>();
    if (!factory)
    {
        factory = ns3::CreateObject<LinuxTcpSocketFactory>();
        node->AggregateObject(factory);
    }
    factory->SetSockets(m_sockets);
}

void
LinuxTcpHelper::Install(const ns3::NodeContainer& nodes) const
{
    std::for_each(nodes.Begin(), nodes.End(), [this](const auto& node) { Install(node); });
}

void
LinuxTcpHelper::InstallAll() const
{
    Install(ns3::NodeContainer::GetGlobal());
}

} // namespace tunnelcc
