/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ZEROS_H
#define TUNNELCC_ZEROS_H

#include "ns3/packet.h"
#include "ns3/ptr.h"

#include <cstdint>

namespace tunnelcc
{

/// Lengthen a packet by zeros. ns3::Packet::AddPaddingAtEnd() would leave there what the memory
/// held.
inline void
AddZeros(const ns3::Ptr<ns3::Packet>& packet, uint32_t bytes)
{
    if (bytes > 0)
    {
        packet->AddAtEnd(ns3::Create<ns3::Packet>(bytes)); // of which ns-3 allocates nothing
    }
}

} // namespace tunnelcc

#endif // TUNNELCC_ZEROS_H
