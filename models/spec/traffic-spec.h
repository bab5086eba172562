/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TRAFFIC_SPEC_H
#define TUNNELCC_TRAFFIC_SPEC_H

#include "fields.h"
#include "tcp-spec.h"

#include <cstdint>

/**
 * \file
 * What hosts send. Times in ns, rates in bit/s, sizes in bytes.
 */
namespace tunnelcc
{

struct FlowSpec
{
    CongestionSpec cc;
    CongestionSpec carrierCc;   //!< of the tunnel's connection for this flow
    uint32_t carrier{0};        //!< number of that connection, from 0 without gaps
    int64_t start{0};           //!< connect
    int64_t dataStart{0};       //!< first byte of bulk data; not before `start`
    uint32_t preamble{0};       //!< bytes written on connecting (iperf3's cookie)
    int64_t stop{0};            //!< the application closes; 0: never
    uint64_t bytes{0};          //!< bulk bytes to send; 0: until the end
    double rate{0};             //!< bit/s that the application writes at most; 0: as fast as it can
    uint32_t writeSize{131072}; //!< bytes per application write
    int64_t rtt{0};             //!< base RTT of this flow

    TUNNELCC_FIELDS(cc,
                    carrierCc,
                    carrier,
                    start,
                    dataStart,
                    preamble,
                    stop,
                    bytes,
                    rate,
                    writeSize,
                    rtt)
};

/// UDP cross traffic in the direction of the data.
struct DatagramSpec
{
    double rate{0};        //!< bit/s of IP bytes while sending
    uint32_t packet{1500}; //!< IP bytes of a datagram
    int64_t start{0};
    int64_t stop{0}; //!< 0: never
    int64_t on{0};   //!< length of a period of sending; 0: sends all the time
    int64_t off{0};  //!< length of the silence after it

    TUNNELCC_FIELDS(rate, packet, start, stop, on, off)
};

} // namespace tunnelcc

#endif // TUNNELCC_TRAFFIC_SPEC_H
