/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-tunnel-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(NodeTunnelSpec,
          FIELD(name, "of the tunnel"),
          FIELD(tunnel, "the tunnel itself"),
          FIELD(packets, "what its packets look like"),
          FIELD(ip, "1", "version of IP of the packets whose sizes it tells"),
          FIELD(cc, "of its carriers; no name: that of the node's sockets"),
          FIELD(nodelay, "of carriers over TCP"),
          FIELD(carriers, "1", "that flows take in turn; 0: each flow has one"));

} // namespace tunnelcc
