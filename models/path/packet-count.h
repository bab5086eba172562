/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_COUNT_H
#define TUNNELCC_PACKET_COUNT_H

#include <cstdint>

namespace tunnelcc
{

/// A count of packets, and of those among them that are measured: the packets that arrived at the
/// link after measuring began.
struct PacketCount
{
    void Add(bool isMeasured, uint32_t packets = 1)
    {
        all += packets;
        measured += isMeasured ? packets : 0;
    }

    uint64_t all{0};
    uint64_t measured{0};
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_COUNT_H
