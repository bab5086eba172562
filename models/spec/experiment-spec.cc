/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "experiment-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(ExperimentSpec,
          FIELD(hosts, "the hosts"),
          FIELD(links, "the links between them"),
          FIELD(routes, "the ways between hosts, over links"),
          FIELD(tcp, "settings of TCP, which flows and tunnels name by number"),
          FIELD(quic, "settings of QUIC, the same"),
          FIELD(tunnels, "the tunnels"),
          FIELD(flows, "flows, then cross traffic, then pings"),
          FIELD(duration, "ns", 1e3, 1e14, "length of the run, warm-up included"),
          FIELD(until, "1", 0, 1, "end once goodput is known to this part of it; 0: at duration"),
          FIELD(warmup, "ns", "measuring begins after it"),
          FIELD(probeInterval, "ns", 1e5, 1e14, "time between samples"),
          FIELD(probeCongestion, "sample each congestion control's state, too"),
          FIELD(seed, "1", 0, 0x1p64, "of random numbers"));

} // namespace tunnelcc
