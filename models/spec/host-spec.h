/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_HOST_SPEC_H
#define TUNNELCC_HOST_SPEC_H

#include "fields.h"

#include <cstdint>

namespace tunnelcc
{

/// A host: its kernel's memory, and a CPU with `cores` servers and one run queue. Times in ns,
/// sizes in bytes.
struct HostSpec
{
    uint32_t machine{0}; //!< the host on whose cores and memory it runs: its own number, or another
    uint32_t cores{0};
    double speed{0};       //!< relative to the host on which costs were measured
    int64_t switchCost{0}; //!< CPU time of a core's change to another thread
    uint64_t tcpMemory{0}; //!< most bytes that all sockets hold together (tcp_mem[2]); 0: unlimited
    uint64_t tcpReserve{
        0}; //!< bytes that a socket keeps after it has released them; they still count

    TUNNELCC_FIELDS(machine, cores, speed, switchCost, tcpMemory, tcpReserve)
    TUNNELCC_RANGES({"cores", 1, 1024}, {"speed", 1e-6, 1e6});
};

} // namespace tunnelcc

#endif // TUNNELCC_HOST_SPEC_H
