/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SPREAD_H
#define TUNNELCC_SPREAD_H

#include <cstdint>

namespace tunnelcc
{

/// Spread a number over 64 bits (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
/// generators", SplitMix64).
inline uint64_t
Spread(uint64_t number)
{
    number = (number + 1) * 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

} // namespace tunnelcc

#endif // TUNNELCC_SPREAD_H
