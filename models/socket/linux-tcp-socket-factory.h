/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_LINUX_TCP_SOCKET_FACTORY_H
#define TUNNELCC_LINUX_TCP_SOCKET_FACTORY_H

#include "linux-tcp-socket.h"

#include "ns3/node-container.h"
#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/socket-factory.h"

#include <string>
#include <vector>

namespace tunnelcc
{

/// Makes the LinuxTcpSockets of a node, with the attributes that were set for it.
class [[gnu::visibility("default")]] LinuxTcpSocketFactory final : public ns3::SocketFactory
{
  public:
    /// Attribute SocketList: the sockets that are bound.
    static ns3::TypeId GetTypeId();

    LinuxTcpSocketFactory();

    /// Set what makes the sockets. \param sockets its TypeId is LinuxTcpSocket's
    void SetSockets(const ns3::ObjectFactory& sockets);

    ns3::Ptr<ns3::Socket> CreateSocket() override;

    ns3::Ptr<ns3::Node> GetNode() const;

    /// A socket is bound, or not any more.
    void Add(ns3::Ptr<LinuxTcpSocket> socket);
    void Remove(ns3::Ptr<LinuxTcpSocket> socket);

  protected:
    void DoDispose() override;

  private:
    ns3::ObjectFactory m_sockets;
    std::vector<ns3::Ptr<LinuxTcpSocket>> m_bound;
};

/**
 * Gives nodes the factory, so that an application whose Protocol is
 * `tunnelcc::LinuxTcpSocketFactory` runs on them.
 */
class [[gnu::visibility("default")]] LinuxTcpHelper
{
  public:
    LinuxTcpHelper();

    /// Set an attribute of the sockets, such as CongestionControl, for nodes to come.
    void SetAttribute(const std::string& name, const ns3::AttributeValue& value);

    /// Give a node the factory; if it has one, that gets these attributes.
    void Install(ns3::Ptr<ns3::Node> node) const;
    void Install(const ns3::NodeContainer& nodes) const;
    /// The same for all nodes that there are.
    void InstallAll() const;

  private:
    ns3::ObjectFactory m_sockets;
};

} // namespace tunnelcc

#endif // TUNNELCC_LINUX_TCP_SOCKET_FACTORY_H
