/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RANDOM_STREAM_H
#define TUNNELCC_RANDOM_STREAM_H

#include "ns3/rng-stream.h"

#include <cstdint>

namespace tunnelcc
{

/// Components that draw random numbers. Results depend on these values: append, never renumber.
enum class RandomComponent : uint32_t
{
    FORWARD_LOSS = 1,
    REVERSE_LOSS = 2,
    APP_CONGESTION = 3,
    CARRIER_CONGESTION = 4,
    TARGET_CONGESTION = 5,
    FORWARD_REORDERING = 6,
    REVERSE_REORDERING = 7,
    FORWARD_JITTER = 8,
    REVERSE_JITTER = 9,
    FORWARD_QUEUE = 10,
    REVERSE_QUEUE = 11,
    ARQ_CLOCK = 12,
    APP_THREADS = 13,
    CARRIER_THREADS = 14,
};

/// Number of the random stream of a component and a flow. Each has its own, so the draws of one
/// flow do not change those of another.
constexpr uint64_t
StreamNumber(RandomComponent component, uint32_t flow = 0)
{
    return (static_cast<uint64_t>(component) << 32) + flow;
}

/// The random numbers of a component and a flow: substream `seed` of its stream, from ns-3's
/// generator MRG32k3a.
inline ns3::RngStream
MakeRandomStream(uint64_t seed, RandomComponent component, uint32_t flow = 0)
{
    constexpr uint32_t GENERATOR_SEED = 1; // ns-3's own default
    return ns3::RngStream(GENERATOR_SEED, StreamNumber(component, flow), seed);
}

} // namespace tunnelcc

#endif // TUNNELCC_RANDOM_STREAM_H
