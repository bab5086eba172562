/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUNNEL_HELPER_H
#define TUNNELCC_TUNNEL_HELPER_H

#include "node-tunnel.h"

#include "ns3/object-factory.h"

#include <memory>
#include <string>

namespace tunnelcc
{

/**
 * Puts tunnels of the catalogue between nodes of ns-3, for any application on them.
 *
 *     tunnelcc::TunnelHelper wireguard("wireguard");
 *     auto tunnel = wireguard.Install(client, server, address);
 *     Ipv4AddressHelper("10.8.0.0", "255.255.255.0").Assign(tunnel->GetDevices());
 *
 *     tunnelcc::TunnelHelper relay("gost-relay-wss");
 *     relay.Install(client, server, address)->Forward(1080, target);
 */
class [[gnu::visibility("default")]] TunnelHelper
{
  public:
    /**
     * \param tunnel a name of `tunnelcc list`; or a file that `tunnelcc run … --write-tunnel FILE`
     *        wrote, whose name has a "/" or ends with ".json"; or the text of such a file
     * \throws std::invalid_argument
     */
    explicit TunnelHelper(const std::string& tunnel);

    /// Set an attribute of NodeTunnel. \throws std::invalid_argument
    void SetAttribute(const std::string& name, const ns3::AttributeValue& value);

    /// Put a tunnel between two nodes. \param client,server,address as of NodeTunnel::Set()
    /// \returns the application of the client's node; it starts at 0
    ns3::Ptr<NodeTunnel> Install(ns3::Ptr<ns3::Node> client,
                                 ns3::Ptr<ns3::Node> server,
                                 const ns3::Address& address) const;

  private:
    std::shared_ptr<const NodeTunnelSpec> m_spec;
    ns3::ObjectFactory m_tunnels;
};

} // namespace tunnelcc

#endif // TUNNELCC_TUNNEL_HELPER_H
