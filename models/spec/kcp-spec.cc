/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "kcp-spec.h"

#include "fields.h"

namespace tunnelcc
{

NAMES_OF(KcpGeneration, "2017", "2020", "2025");

FIELDS_OF(
    KcpSpec,
    FIELD(generation, "as which kcp-go it behaves"),
    FIELD(room, "bytes", 32, 65535, "most bytes of the segments in a datagram, with their headers"),
    FIELD(header, "bytes", 0, 1024, "IP bytes of a datagram around its segments"),
    FIELD(nodelay, "time-outs are at least 30 ms, and grow by half instead of doubling"),
    FIELD(interval, "ns", 1e6, 6e10, "time between flushes by the clock"),
    FIELD(resend,
          "1",
          0,
          255,
          "a segment counts as lost after so many ACKs of higher numbers; 0: never"),
    FIELD(congestion, "a congestion window on top of the others (nc = 0)"),
    FIELD(sendWindow, "segments", 1, 65535, "most segments that are not acknowledged"),
    FIELD(receiveWindow, "segments", 1, 65535, "most segments that are not read"),
    FIELD(fec, "FEC over datagrams, each of which is a shard"));

} // namespace tunnelcc
