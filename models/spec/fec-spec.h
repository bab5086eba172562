/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_SPEC_H
#define TUNNELCC_FEC_SPEC_H

#include "fields.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

/**
 * \file
 * Forward error correction. Times in ns, sizes in bytes.
 */
namespace tunnelcc
{

/// How packets become the data shards of a group.
enum class FecPacking : uint8_t
{
    PACKETS, //!< each is a shard, which leaves at once
    BLOB     //!< joined, then cut into shards of equal size, which leave when the group is closed
};

template <>
inline constexpr auto ENUM_NAMES<FecPacking> = std::to_array<std::string_view>({"packets", "blob"});

/// A block code over groups of shards: any `data` of them give back all packets of the group. This
/// is so for Reed–Solomon codes, and for XOR with its one parity shard.
struct FecSpec
{
    FecPacking packing{FecPacking::PACKETS};
    uint32_t data{0};             //!< most data shards of a group
    std::vector<uint32_t> parity; //!< parity shards of a group of 1, 2, … data shards
    int64_t timeout{0};           //!< a group is closed so long after its first packet; 0: never
    int64_t gap{0};           //!< PACKETS: no parity where the last packet of a group comes so long
                              //!< after the one before; 0: always
    uint32_t memory{0};       //!< groups before the newest that can still be decoded
    uint32_t maxPackets{0};   //!< BLOB: of a group
    uint32_t maxShard{0};     //!< BLOB: of a shard
    uint32_t blobHeader{0};   //!< BLOB: before the packets of a group
    uint32_t packetHeader{0}; //!< BLOB: before each packet
    uint32_t shardCost{0};    //!< BLOB: of a shard beside its bytes, when their number is chosen
    std::vector<uint32_t> inner; //!< of what a packet is when it comes to FEC, by its IP bytes;
                                 //!< empty: these

    TUNNELCC_FIELDS(packing,
                    data,
                    parity,
                    timeout,
                    gap,
                    memory,
                    maxPackets,
                    maxShard,
                    blobHeader,
                    packetHeader,
                    shardCost,
                    inner)
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_SPEC_H
