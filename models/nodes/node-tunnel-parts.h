/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_TUNNEL_PARTS_H
#define TUNNELCC_NODE_TUNNEL_PARTS_H

#include "spec/node-tunnel-spec.h"

#include "ns3/address.h"
#include "ns3/net-device-container.h"
#include "ns3/node.h"
#include "ns3/socket.h"
#include "ns3/type-id.h"

#include <cstdint>
#include <string>
#include <utility>

namespace tunnelcc
{

/// A tunnel, and the nodes that it is between.
class TunnelPlace
{
  public:
    /// \param spec,client,server,address as of NodeTunnel::Set()
    TunnelPlace(NodeTunnelSpec spec,
                ns3::Ptr<ns3::Node> client,
                ns3::Ptr<ns3::Node> server,
                const ns3::Address& address);

    const NodeTunnelSpec& Spec() const
    {
        return m_spec;
    }

    const ns3::Ptr<ns3::Node>& NodeOf(End end) const
    {
        return m_nodes[end];
    }

    /// Where the server's program listens: address and port.
    const ns3::Address& ServerAddress() const
    {
        return m_address;
    }

    /// Any address of that version of IP. \param hasPort with the server's port, or else with 0
    ns3::Address AnyAddress(bool hasPort) const;

    /// The client's address on the route to the server; not valid: there is no route yet.
    ns3::Address ClientAddress() const;

    /// Bytes of IP's header in the sizes of packets.
    uint32_t IpHeaderBytes() const
    {
        return m_spec.ip == 4 ? 20 : 40;
    }

    /// Set what carriers over TCP are. \param protocol,cc the attributes of NodeTunnel
    void SetCarriers(ns3::TypeId protocol, std::string cc)
    {
        m_protocol = protocol;
        m_congestionControl = std::move(cc);
    }

    /// A socket for an end of a carrier over TCP.
    ns3::Ptr<ns3::Socket> MakeCarrierSocket(End end) const;

  private:
    const NodeTunnelSpec m_spec;
    const PerEnd<ns3::Ptr<ns3::Node>> m_nodes;
    ns3::Address m_address;
    ns3::TypeId m_protocol;
    std::string m_congestionControl;
};

/// What a tunnel of some kind is made of.
class NodeTunnelParts
{
  public:
    virtual ~NodeTunnelParts() = default;

    virtual ns3::NetDeviceContainer Devices() const;
    virtual void Forward(uint16_t port, const ns3::Address& target);

    /// The simulation has come to the tunnel's start, or stop. \param now ns
    virtual void Start(int64_t now) = 0;
    virtual void Stop(int64_t now) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_TUNNEL_PARTS_H
