/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FLOW_RANDOM_H
#define TUNNELCC_FLOW_RANDOM_H

#include <cstdint>

/**
 * \file
 * Random numbers of one sender, for phases and waits: SplitMix64 (Steele, Lea, Flood, "Fast
 * Splittable Pseudorandom Number Generators", OOPSLA 2014). The same stream gives the same numbers,
 * whatever other senders draw.
 */

namespace tunnelcc
{

/// Uniform random numbers, a sequence for each stream.
class FlowRandom
{
  public:
    explicit FlowRandom(int64_t stream)
        : m_state(static_cast<uint64_t>(stream))
    {
    }

    /// A whole number from 0 to `bound` − 1. \pre bound > 0
    uint32_t DrawBelow(uint32_t bound)
    {
        return static_cast<uint32_t>(((Draw() >> 32) * bound) >> 32);
    }

    /// A number in [0, 1).
    double DrawFraction()
    {
        return static_cast<double>(Draw() >> 11) * 0x1p-53; // a double has 53 bits
    }

  private:
    uint64_t Draw()
    {
        m_state += 0x9e3779b97f4a7c15ULL;
        uint64_t z = m_state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    uint64_t m_state;
};

} // namespace tunnelcc

#endif // TUNNELCC_FLOW_RANDOM_H
