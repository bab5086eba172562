/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_TUNNEL_SPEC_H
#define TUNNELCC_NODE_TUNNEL_SPEC_H

#include "capture-spec.h"
#include "tunnel-spec.h"

#include <cstdint>
#include <string>

namespace tunnelcc
{

/// A tunnel between two nodes of ns-3. Nodes, devices and routes stand in for its path.
struct NodeTunnelSpec
{
    std::string name;
    TunnelSpec tunnel;
    CaptureTunnelSpec packets;          //!< what its packets look like
    uint32_t ip{0};                     //!< version of IP of the packets whose sizes it tells
    CongestionSpec cc;                  //!< of its carriers; no name: that of the node's sockets
    PerEnd<bool> nodelay{false, false}; //!< of carriers over TCP
    uint32_t carriers{0};               //!< that flows take in turn; 0: each flow has one

    TUNNELCC_FIELDS(name, tunnel, packets, ip, cc, nodelay, carriers)
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_TUNNEL_SPEC_H
