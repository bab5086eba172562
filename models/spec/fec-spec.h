/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_SPEC_H
#define TUNNELCC_FEC_SPEC_H

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
    uint32_t mtu{0};
    uint32_t packets{0};
    uint32_t header{0};
    uint32_t packetHeader{0};
    uint32_t cost{0};

    static const class Fields& GetFields();
};

/// A block code over groups of shards: any `data` shards of a group restore all its packets, as
/// with Reed–Solomon codes, and with XOR, which has one parity shard.
struct FecSpec
{
    uint32_t data{0};
    std::vector<uint32_t> parity;
    int64_t timeout{0};
    int64_t gap{0};
    uint32_t memory{0};
    std::optional<FecBlobSpec> blob;
    std::vector<uint32_t> inner;

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_SPEC_H
