/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "host-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(HostSpec,
          FIELD(machine,
                "1",
                "the host on whose cores and memory it runs: its own number, or another"),
          FIELD(cores, "1", 1, 1024, "of its CPU"),
          FIELD(speed, "1", 1e-6, 1e6, "relative to the host on which costs were measured"),
          FIELD(switchCost, "ns", "CPU time of a core's change to another thread"),
          FIELD(tcpMemory,
                "bytes",
                "most bytes that all sockets hold together (tcp_mem[2]); 0: unlimited"),
          FIELD(tcpReserve,
                "bytes",
                "bytes that a socket keeps after it has released them; they still count"));

} // namespace tunnelcc
