/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SHA256_H
#define TUNNELCC_SHA256_H

#include <array>
#include <cstdint>

namespace tunnelcc
{

/// SHA-256 (FIPS 180-4, section 6.2) of a number of eight bytes, the most significant first.
std::array<uint32_t, 8> Sha256(uint64_t number);

} // namespace tunnelcc

#endif // TUNNELCC_SHA256_H
