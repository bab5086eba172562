/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_UDP_SOCKET_SPEC_H
#define TUNNELCC_UDP_SOCKET_SPEC_H

#include <cstdint>

/**
 * \file
 * What programs do with packets. Times in ns, sizes in bytes.
 */
namespace tunnelcc
{

/// CPU time of handling one packet.
struct PacketCostSpec
{
    double perPacket{0};
    double perByte{0};

    static const class Fields& GetFields();

    /// Whether it takes any.
    bool IsFree() const
    {
        return perPacket == 0 && perByte == 0;
    }
};

/// The UDP socket that a program reads, and what reading costs.
struct UdpSocketSpec
{
    uint64_t buffer{0};
    PacketCostSpec read;

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_UDP_SOCKET_SPEC_H
