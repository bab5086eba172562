/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_STREAM_H
#define TUNNELCC_NODE_STREAM_H

#include "carrier-bytes.h"
#include "carrier-door.h"
#include "node-tunnel-parts.h"
#include "packet-port.h"
#include "tunnel/stream-tunnel.h"

#include <memory>

namespace tunnelcc
{

/// A tunnel between two nodes that writes packets into one TCP connection.
class NodeStream final : public NodeTunnelParts
{
  public:
    /// \param place of the tunnel  \param spec of it. Both outlive them
    NodeStream(const TunnelPlace& place, const StreamTunnelSpec& spec);

    ns3::NetDeviceContainer Devices() const override;
    void Start(int64_t now) override;
    void Stop(int64_t now) override;

  private:
    const TunnelPlace& m_place;
    const StreamTunnelSpec& m_spec;
    PerEnd<std::unique_ptr<PacketPort>> m_ports;
    PerEnd<PacketsInside> m_inside;
    PerEnd<NodeSocket> m_streams;
    PerEnd<std::unique_ptr<CarrierBytes>> m_bytes;
    PacketLogs m_logs;
    PerEnd<std::unique_ptr<StreamTunnelEnd>> m_ends;
    CarrierDoor m_door;
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_STREAM_H
