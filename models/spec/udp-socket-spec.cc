/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "udp-socket-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(PacketCostSpec,
          FIELD(perPacket, "ns", 0, 1e12, "for each packet"),
          FIELD(perByte, "ns/byte", 0, 1e9, "for each inner IP byte"));

FIELDS_OF(UdpSocketSpec,
          FIELD(buffer, "bytes", "its receive buffer, as Linux counts (skb->truesize)"),
          FIELD(read, "by IP bytes; none: what the program does with datagrams costs nothing"));

} // namespace tunnelcc
