/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sha256.h"

#include <bit>
#include <cmath>

namespace tunnelcc
{

namespace
{

constexpr size_t ROUNDS = 64;

/// The first 32 bits of the fraction of each prime's root. \param power of the root: 2 or 3
template <size_t N>
std::array<uint32_t, N>
FractionsOfRoots(int power)
{
    std::array<uint32_t, N> found{};
    size_t count = 0;
    for (uint32_t number = 2; count < N; ++number)
    {
        bool isPrime = true;
        for (uint32_t factor = 2; factor * factor <= number; ++factor)
        {
            isPrime &= number % factor != 0;
        }
        if (isPrime)
        {
            const long double root = power == 2 ? std::sqrt(static_cast<long double>(number))
                                                : std::cbrt(static_cast<long double>(number));
            found[count++] = static_cast<uint32_t>(std::ldexp(root - std::floor(root), 32));
        }
    }
    return found;
}

} // namespace

std::array<uint32_t, 8>
Sha256(uint64_t number)
{
    static const auto CONSTANTS = FractionsOfRoots<ROUNDS>(3);
    static const auto INITIAL = FractionsOfRoots<8>(2);
    std::array<uint32_t, ROUNDS> words{}; // one block: the number, a bit, and its length in bits
    words[0] = static_cast<uint32_t>(number >> 32);
    words[1] = static_cast<uint32_t>(number);
    words[2] = 0x80000000;
    words[15] = 64;
    for (size_t i = 16; i < ROUNDS; ++i)
    {
        const uint32_t a = words[i - 15];
        const uint32_t b = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
                   (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    std::array<uint32_t, 8> state = INITIAL;
    auto& [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < ROUNDS; ++i)
    {
        const uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + CONSTANTS[i] + words[i];
        const uint32_t two =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        state = {one + two, a, b, c, d + one, e, f, g};
    }
    for (size_t i = 0; i < state.size(); ++i)
    {
        state[i] += INITIAL[i];
    }
    return state;
}

} // namespace tunnelcc
