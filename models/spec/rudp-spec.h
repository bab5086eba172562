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

/// How data are cut into packets.
struct RudpPacketsSpec
{
    uint32_t data{0};    //!< of a packet at most
    uint32_t header{0};  //!< IP bytes of a packet beside its data
    uint32_t window{0};  //!< packets that may be sent before the peer has read the first of them
    uint32_t doubled{0}; //!< first packets of a connection, each of which is sent twice
    uint32_t close{0};   //!< what ends a connection, IP bytes

    TUNNELCC_FIELDS(data, header, window, doubled, close)
};

/// Lists of what arrived.
struct RudpAcksSpec
{
    int64_t interval{0}; //!< between them
    uint32_t most{0};    //!< numbers in a list at most
    uint32_t header{0};  //!< IP bytes of a list beside its numbers
    uint32_t number{0};  //!< bytes of a number

    TUNNELCC_FIELDS(interval, most, header, number)
};

/// When an end sends a packet again.
struct RudpResendsSpec
{
    double extra{0};  //!< it waits so much longer than the latest ping took, as a part of that
    int64_t least{0}; //!< but at least so long
    uint32_t most{0}; //!< times that a packet is sent again at most

    TUNNELCC_FIELDS(extra, least, most)
};

/// Pings, by which each end checks that the other is there.
struct RudpPingsSpec
{
    uint32_t bytes{0};   //!< of one, IP bytes
    uint32_t reply{0};   //!< of its answer, IP bytes
    int64_t interval{0}; //!< an end looks so often whether to send one, and sends it if the last
                         //!< one is older than that
    int64_t limit{0};    //!< after such a time without an answer it closes all connections
    int64_t first{0};    //!< what a ping is taken to need before one was answered

    TUNNELCC_FIELDS(bytes, reply, interval, limit, first)
};

/// What flows in a connection of RUDP, and what all connections between two hosts share.
struct RudpSpec
{
    RudpPacketsSpec packets;
    RudpAcksSpec acks;
    PerEnd<double> rate{0, 0};      //!< of all data that an end sends, bytes/s
    PerEnd<double> firstRate{0, 0}; //!< the same before the peer's first ping; 0: as `rate`
    uint32_t burst{0};              //!< once more data than this was sent, an end sleeps
    RudpResendsSpec resends;
    RudpPingsSpec pings;
    int64_t wakeDelay{0}; //!< so much longer than it should does a thread sleep on average

    TUNNELCC_FIELDS(packets, acks, rate, firstRate, burst, resends, pings, wakeDelay)
};

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_SPEC_H
