/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WRITTEN_H
#define TUNNELCC_WRITTEN_H

#include "spec/layer-spec.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tunnelcc
{

/// Bytes at a place that are not filler.
struct KnownBytes
{
    uint64_t offset;
    std::vector<uint8_t> bytes;
};

/// A write to a byte stream: how long it is, and what is known of it.
struct Written
{
    uint32_t size{0};
    std::vector<KnownBytes> known; //!< in order
};

/// Writes what a Layer computes the sizes of.
class LayerContents
{
  public:
    virtual ~LayerContents() = default;

    /// Encapsulate a write. \param writes where to append those that it becomes
    virtual void Wrap(const Written& write, std::vector<Written>& writes) = 0;
};

/// Make what writes a layer.
std::unique_ptr<LayerContents> MakeLayerContents(const LayerSpec& spec);

/// A part of a write. \param begin,size of it
Written PartOf(const Written& write, uint32_t begin, uint32_t size);

} // namespace tunnelcc

#endif // TUNNELCC_WRITTEN_H
