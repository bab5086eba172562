/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_SPEC_H
#define TUNNELCC_RUDP_SPEC_H

#include "end.h"
#include "fields.h"

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
    uint32_t data{0};    //!< most payload of a packet
    uint32_t header{0};  //!< IP bytes of a packet around its payload
    uint32_t window{0};  //!< packets that may be sent before the peer has read the first of them
    uint32_t doubled{0}; //!< number of first packets of a connection that are sent twice
    uint32_t close{0};   //!< IP bytes of the packet that ends a connection

    TUNNELCC_FIELDS(data, header, window, doubled, close)
    TUNNELCC_RANGES({"data", 1, 65535},
                    {"header", 0, 1024},
                    {"window", 1, 1 << 20},
                    {"close", 0, 65535});
};

/// ACKs, which are lists of packet numbers.
struct RudpAcksSpec
{
    int64_t interval{0}; //!< time between lists
    uint32_t most{0};    //!< most numbers in a list
    uint32_t header{0};  //!< IP bytes of a list beside its numbers
    uint32_t number{0};  //!< bytes of a number

    TUNNELCC_FIELDS(interval, most, header, number)
    TUNNELCC_RANGES({"interval", 1e6, 6e10},
                    {"most", 1, 65535},
                    {"header", 0, 1024},
                    {"number", 1, 1024});
};

/// When an end sends a packet again.
struct RudpResendsSpec
{
    double extra{0};  //!< it waits for the latest ping's RTT and this part of it more
    int64_t least{0}; //!< least time that it waits
    uint32_t most{0}; //!< most times that a packet is sent again

    TUNNELCC_FIELDS(extra, least, most)
    TUNNELCC_RANGES({"extra", 0, 1e3}, {"least", 1e6, 6e10});
};

/// Pings, by which each end checks that the other is there.
struct RudpPingsSpec
{
    uint32_t bytes{0};   //!< IP bytes of a ping
    uint32_t reply{0};   //!< IP bytes of its answer
    int64_t interval{0}; //!< time between the moments at which an end sends a ping, if the last
                         //!< one is older than this
    int64_t limit{0};    //!< without an answer for this time, an end closes all connections
    int64_t first{0};    //!< RTT that is assumed before the first answer

    TUNNELCC_FIELDS(bytes, reply, interval, limit, first)
    TUNNELCC_RANGES({"bytes", 0, 65535},
                    {"reply", 0, 65535},
                    {"interval", 1e6, 6e10},
                    {"limit", 1e6, 1e13},
                    {"first", 1e3, 6e10});
};

/// A connection of RUDP, and what all connections between two hosts share.
struct RudpSpec
{
    RudpPacketsSpec packets;
    RudpAcksSpec acks;
    PerEnd<double> rate{0, 0};      //!< payload that an end sends in all, bytes/s
    PerEnd<double> firstRate{0, 0}; //!< the rate before the peer's first ping; 0: as `rate`
    uint32_t burst{0};              //!< payload after which an end sleeps
    RudpResendsSpec resends;
    RudpPingsSpec pings;
    int64_t wakeDelay{0}; //!< mean time by which a thread sleeps too long

    TUNNELCC_FIELDS(packets, acks, rate, firstRate, burst, resends, pings, wakeDelay)
    TUNNELCC_RANGES({"rate", 1, 1e11}, {"firstRate", 1, 1e11, true}, {"burst", 1, 1 << 30});
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_SPEC_H
