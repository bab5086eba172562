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
    CaptureTunnelSpec packets;
    uint32_t ip{0};
    CongestionSpec cc;
    PerEnd<bool> nodelay{false, false};
    uint32_t carriers{0};

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_TUNNEL_SPEC_H
