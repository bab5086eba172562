/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HOST_SPEC_H
#define TUNNELCC_HOST_SPEC_H

#include <cstdint>

namespace tunnelcc
{

/// A host: its kernel's memory, and a CPU with `cores` servers and one run queue. Times in ns,
/// sizes in bytes.
struct HostSpec
{
    uint32_t machine{0};
    uint32_t cores{0};
    double speed{0};
    int64_t switchCost{0};
    uint64_t tcpMemory{0};
    uint64_t tcpReserve{0};

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_HOST_SPEC_H
