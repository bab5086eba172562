/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_VARIABLE_LENGTH_H
#define TUNNELCC_VARIABLE_LENGTH_H

#include <cstdint>

namespace tunnelcc
{

/// Bytes of an integer of variable length (RFC 9000, section 16).
constexpr uint32_t
VariableLength(uint64_t value)
{
    return value < (1 << 6) ? 1 : value < (1 << 14) ? 2 : value < (1 << 30) ? 4 : 8;
}

} // namespace tunnelcc

#endif // TUNNELCC_VARIABLE_LENGTH_H
