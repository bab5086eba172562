/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_SPEC_H
#define TUNNELCC_FEC_SPEC_H

#include "fields.h"

#include <cstdint>
#include <optional>
#include <vector>

/**
 * \file
 * Forward error correction. Times in ns, sizes in bytes.
 */
namespace tunnelcc
{

/// Packets of a group are joined and cut into shards of equal size, which leave when the group is
/// closed.
struct FecBlobSpec
{
    uint32_t mtu{0};          //!< largest shard
    uint32_t packets{0};      //!< most packets of a group
    uint32_t header{0};       //!< bytes before the packets of a group
    uint32_t packetHeader{0}; //!< bytes before each packet
    uint32_t cost{
        0}; //!< bytes by which a shard counts as longer when the number of shards is chosen

    TUNNELCC_FIELDS(mtu, packets, header, packetHeader, cost)
    TUNNELCC_RANGES({"mtu", 1, 65535},
                    {"packets", 1, 65535},
                    {"header", 0, 65535},
                    {"packetHeader", 0, 65535},
                    {"cost", 0, 65535});
};

/// A block code over groups of shards: any `data` shards of a group restore all its packets, as
/// with Reed–Solomon codes, and with XOR, which has one parity shard.
struct FecSpec
{
    uint32_t data{0};             //!< most data shards of a group
    std::vector<uint32_t> parity; //!< parity shards of a group of 1, 2, … data shards
    int64_t timeout{0}; //!< a group is closed at this time after its first packet; 0: never
    int64_t gap{0}; //!< without a blob: a group has no parity if its last packet comes later than
                    //!< this after the one before; 0: it always has
    uint32_t memory{0};              //!< groups before the newest that can still be decoded
    std::optional<FecBlobSpec> blob; //!< none: each packet is a shard, which leaves at once
    std::vector<uint32_t> inner; //!< bytes of a packet before FEC, by its IP bytes; empty: the same

    TUNNELCC_FIELDS(data, parity, timeout, gap, memory, blob, inner)
    TUNNELCC_RANGES({"data", 1, 255},
                    {"parity", 0, 255},
                    {"memory", 0, 65535},
                    {"inner", 0, 65535});
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_SPEC_H
