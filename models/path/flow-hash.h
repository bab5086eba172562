/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FLOW_HASH_H
#define TUNNELCC_FLOW_HASH_H

#include "event/random-stream.h"

#include <cstdint>

namespace tunnelcc
{

/// The hosts at the ends of a flow, as numbers.
struct FlowHosts
{
    uint32_t source{0};
    uint32_t destination{0};
};

/// A hash of flows that depends on the seed: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), whose
/// state is the perturbation.
class FlowHash
{
  public:
    explicit FlowHash(RandomStream& stream)
    {
        constexpr double RANGE = 1ULL << 53;
        m_perturbation = static_cast<uint64_t>(stream.RandU01() * RANGE);
    }

    uint64_t operator()(uint64_t flow) const
    {
        uint64_t hash = m_perturbation + (flow + 1) * 0x9e3779b97f4a7c15ULL;
        hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ULL;
        hash = (hash ^ hash >> 27) * 0x94d049bb133111ebULL;
        return hash ^ hash >> 31;
    }

  private:
    uint64_t m_perturbation;
};

} // namespace tunnelcc

#endif // TUNNELCC_FLOW_HASH_H
