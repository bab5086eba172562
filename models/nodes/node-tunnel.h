/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_TUNNEL_H
#define TUNNELCC_NODE_TUNNEL_H

#include "ns3/application.h"
#include "ns3/net-device-container.h"
#include "ns3/node.h"
#include "ns3/type-id.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tunnelcc
{

class NodeTunnelParts;
class TunnelPlace;
struct NodeTunnelSpec;

/**
 * A tunnel of the catalogue between two nodes of ns-3: an application of its client's node, from
 * StartTime to StopTime. TunnelHelper makes it.
 *
 * A tunnel that carries packets has a device on each node, with addresses and routes as any other.
 * A relay listens on its client's node; each connection to it goes on, behind the server, to a
 * target. Its packets go over ordinary sockets, devices and routes of the nodes: sizes,
 * handshakes, windows, layers and costs are those of the models.
 *
 * This header includes headers of ns-3 only, so that programs need no others.
 */
class [[gnu::visibility("default")]] NodeTunnel final : public ns3::Application
{
  public:
    /// Attributes Protocol, CongestionControl.
    static ns3::TypeId GetTypeId();

    NodeTunnel();
    ~NodeTunnel() override;

    /**
     * Say what it is; once, before it starts.
     * \param spec the tunnel  \param client,server its nodes
     * \param address of the server, to which the client connects; a port of 0 stands for that
     *        at which the tunnel's program listens
     * \throws std::invalid_argument
     */
    void Set(const NodeTunnelSpec& spec,
             ns3::Ptr<ns3::Node> client,
             ns3::Ptr<ns3::Node> server,
             const ns3::Address& address);

    /// Whether it is a relay; else it carries packets.
    bool IsRelay() const;

    /// The client's device and the server's. \throws std::invalid_argument if it is a relay
    ns3::NetDeviceContainer GetDevices() const;

    /**
     * Let a relay listen on its client's node, for LinuxTcpSockets.
     * \param port that applications of this node connect to, at any of its addresses
     * \param target where connections go to from the server, as IPv4 or IPv6 address and port
     * \throws std::invalid_argument if the port is taken, or if this is no relay
     */
    void Forward(uint16_t port, const ns3::Address& target);

  protected:
    void DoDispose() override;

  private:
    void StartApplication() override;
    void StopApplication() override;
    /// \throws std::invalid_argument if Set() was not called
    const TunnelPlace& Place() const;

    ns3::TypeId m_protocol;
    std::string m_congestionControl;
    std::unique_ptr<TunnelPlace> m_place;
    std::unique_ptr<NodeTunnelParts> m_parts;
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_TUNNEL_H
