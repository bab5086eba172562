/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_VARIABLE_LENGTH_H
#define TUNNELCC_VARIABLE_LENGTH_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tunnelcc
{

/// What VariableLength() is for values of so many bits. A table, because each packet asks for many.
inline constexpr auto BYTES_OF_BITS = [] {
    std::array<uint8_t, 65> bytes{};
    for (size_t bits = 0; bits < bytes.size(); ++bits)
    {
        bytes[bits] = bits <= 6 ? 1 : bits <= 14 ? 2 : bits <= 30 ? 4 : 8;
    }
    return bytes;
}();

/// Bytes of an integer of variable length (RFC 9000, section 16).
constexpr uint32_t
VariableLength(uint64_t value)
{
    return BYTES_OF_BITS[std::bit_width(value | 1)]; // 0 takes as many as 1
}

} // namespace tunnelcc

#endif // TUNNELCC_VARIABLE_LENGTH_H
