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

/// Packets are joined, then cut into shards of equal size, which leave when the group is closed.
struct FecBlobSpec
{
    uint32_t mtu{0};          //!< of a shard
    uint32_t packets{0};      //!< most of a group
    uint32_t header{0};       //!< before the packets of a group
    uint32_t packetHeader{0}; //!< before each packet
    uint32_t cost{0};         //!< of a shard beside its bytes, when their number is chosen

    TUNNELCC_FIELDS(mtu, packets, header, packetHeader, cost)
};

/// A block code over groups of shards: any `data` of them give back all packets of the group. This
/// is so for Reed–Solomon codes, and for XOR with its one parity shard.
struct FecSpec
{
    uint32_t data{0};             //!< most data shards of a group
    std::vector<uint32_t> parity; //!< parity shards of a group of 1, 2, … data shards
    int64_t timeout{0};           //!< a group is closed so long after its first packet; 0: never
    int64_t gap{0};     //!< without a blob: no parity where the last packet of a group comes so
                        //!< long after the one before; 0: always
    uint32_t memory{0}; //!< groups before the newest that can still be decoded
    std::optional<FecBlobSpec> blob; //!< none: each packet is a shard, which leaves at once
    std::vector<uint32_t> inner;     //!< of what a packet is when it comes to FEC, by its IP bytes;
                                     //!< empty: these

    TUNNELCC_FIELDS(data, parity, timeout, gap, memory, blob, inner)
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_SPEC_H
