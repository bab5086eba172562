/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fec-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(FecBlobSpec,
          FIELD(mtu, "bytes", 1, 65535, "largest shard"),
          FIELD(packets, "1", 1, 65535, "most packets of a group"),
          FIELD(header, "bytes", 0, 65535, "bytes before the packets of a group"),
          FIELD(packetHeader, "bytes", 0, 65535, "bytes before each packet"),
          FIELD(cost,
                "bytes",
                0,
                65535,
                "bytes by which a shard counts as longer when the number of shards is chosen"));

FIELDS_OF(FecSpec,
          FIELD(data, "1", 1, 255, "most data shards of a group"),
          FIELD(parity, "1", 0, 255, "parity shards of a group of 1, 2, … data shards"),
          FIELD(timeout, "ns", "a group is closed at this time after its first packet; 0: never"),
          FIELD(gap,
                "ns",
                "without a blob: a group has no parity if its last packet comes later than this "
                "after the one before; 0: it always has"),
          FIELD(memory, "1", 0, 65535, "groups before the newest that can still be decoded"),
          FIELD(blob, "none: each packet is a shard, which leaves at once"),
          FIELD(inner,
                "bytes",
                0,
                65535,
                "bytes of a packet before FEC, by its IP bytes; empty: the same"));

} // namespace tunnelcc
