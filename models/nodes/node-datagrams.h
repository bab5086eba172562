/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_DATAGRAMS_H
#define TUNNELCC_NODE_DATAGRAMS_H

#include "datagram-gate.h"
#include "node-tunnel-parts.h"
#include "packet-port.h"
#include "tunnel/datagram-tunnel.h"

#include <memory>
#include <optional>

namespace tunnelcc
{

/// A tunnel between two nodes in which each packet becomes a datagram. What does not fit into the
/// MTU of a device on the way is fragmented by IP of ns-3.
class NodeDatagrams final : public NodeTunnelParts
{
  public:
    /// \param place of the tunnel; outlives them
    NodeDatagrams(const TunnelPlace& place, DatagramTunnelSpec spec);

    ns3::NetDeviceContainer Devices() const override;
    void Start(int64_t now) override;
    void Stop(int64_t now) override;

  private:
    ns3::Ptr<ns3::Packet> Write(End sender, const DatagramWay::Sent& sent);

    const TunnelPlace& m_place;
    const DatagramTunnelSpec m_spec;
    const uint32_t m_header; //!< of IP and UDP, bytes
    PerEnd<std::unique_ptr<PacketPort>> m_ports;
    PerEnd<PacketsInside> m_inside;
    PerEnd<std::unique_ptr<DatagramGate>> m_gates;
    PerEnd<std::unique_ptr<DatagramWay>> m_ways;
    std::unique_ptr<DatagramTunnel> m_packets;
    PerEnd<uint32_t> m_sent{0, 0}; //!< datagrams of each end
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_DATAGRAMS_H
