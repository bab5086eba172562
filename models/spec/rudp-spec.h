/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_SPEC_H
#define TUNNELCC_RUDP_SPEC_H

#include "end.h"

#include <cstdint>

/**
 * \file
 * FinalSpeed's RUDP. Times in ns, sizes in bytes.
 */
namespace tunnelcc
{

/// Sizes and numbers of packets.
struct RudpPacketsSpec
{
    uint32_t data{0};
    uint32_t header{0};
    uint32_t window{0};
    uint32_t doubled{0};
    uint32_t close{0};

    static const class Fields& GetFields();
};

/// ACKs, which are lists of packet numbers.
struct RudpAcksSpec
{
    int64_t interval{0};
    uint32_t most{0};
    uint32_t header{0};
    uint32_t number{0};

    static const class Fields& GetFields();
};

/// When an end sends a packet again.
struct RudpResendsSpec
{
    double extra{0};
    int64_t least{0};
    uint32_t most{0};

    static const class Fields& GetFields();
};

/// Pings, by which each end checks that the other is there.
struct RudpPingsSpec
{
    uint32_t bytes{0};
    uint32_t reply{0};
    int64_t interval{0};
    int64_t limit{0};
    int64_t first{0};

    static const class Fields& GetFields();
};

/// A connection of RUDP, and what all connections between two hosts share.
struct RudpSpec
{
    RudpPacketsSpec packets;
    RudpAcksSpec acks;
    PerEnd<double> rate{0, 0};
    PerEnd<double> firstRate{0, 0};
    uint32_t burst{0};
    RudpResendsSpec resends;
    RudpPingsSpec pings;
    int64_t wakeDelay{0};

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_SPEC_H
