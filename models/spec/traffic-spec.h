/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TRAFFIC_SPEC_H
#define TUNNELCC_TRAFFIC_SPEC_H

#include "end.h"
#include "fields.h"
#include "path-spec.h"
#include "tcp-spec.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/**
 * \file
 * What hosts send. Times in ns, rates in bit/s, sizes in bytes.
 */
namespace tunnelcc
{

/// Datagrams of an application over UDP. It sends some at once, and some time later again.
struct DatagramSpec
{
    double rate{0};           //!< bit/s of IP bytes while sending
    uint32_t packet{0};       //!< IP bytes of each datagram but the last of those sent at once
    uint32_t full{0};         //!< number of these
    uint32_t last{0};         //!< IP bytes of the last one, or only one
    uint32_t header{0};       //!< IP bytes of a datagram that are no payload
    int64_t on{0};            //!< length of a period of sending; 0: sends all the time
    int64_t off{0};           //!< length of the silence after it
    bool drawsPeriods{false}; //!< these lengths are means of exponential distributions
    bool drawsGaps{false};    //!< so are the times between what is sent at once
    uint32_t answer{0};       //!< IP bytes of an answer to each datagram; 0: there is none
    int64_t timeout{0};       //!< when a request without an answer is sent again; 0: never
    uint32_t attempts{0};     //!< how often it is sent at most, with `timeout`
    int64_t playout{0};       //!< length of the receiver's playout buffer; 0: there is none

    TUNNELCC_FIELDS(rate,
                    packet,
                    full,
                    last,
                    header,
                    on,
                    off,
                    drawsPeriods,
                    drawsGaps,
                    answer,
                    timeout,
                    attempts,
                    playout)
    TUNNELCC_RANGES({"rate", 1, 1e12, true},
                    {"packet", 0, 1 << 17},
                    {"full", 0, 65535},
                    {"last", 0, 1 << 17},
                    {"header", 0, 65535},
                    {"on", 1e3, 1e15, true},
                    {"answer", 0, 1 << 17},
                    {"timeout", 1e3, 1e15, true});
};

/// What a flow is to the experiment.
enum class FlowRole : uint8_t
{
    FLOW,
    CROSS_TRAFFIC, //!< datagrams, which are no part of goodput and fairness
    PING           //!< echo requests
};

template <>
inline constexpr auto ENUM_NAMES<FlowRole> =
    std::to_array<std::string_view>({"flow", "cross_traffic", "ping"});

/// A byte stream between applications, or a flow of datagrams. Routes, tunnels and settings of TCP
/// and QUIC are given by their numbers in the experiment's lists.
struct FlowSpec
{
    uint32_t route{0};
    PerEnd<int64_t> extraDelay{0, 0}; //!< delay behind the route's last link of what each end
                                      //!< sends; negative: less than the link's own
    End sender{};                     //!< the end that sends the data
    std::optional<uint32_t> tunnel;
    AccessSpec access;            //!< of the tunnel
    uint32_t tcp{0};              //!< settings of TCP across the route, or inside a packet tunnel
    uint32_t appTcp{0};           //!< settings of application ↔ relay
    uint32_t targetTcp{0};        //!< settings of relay ↔ target
    std::optional<uint32_t> quic; //!< settings of QUIC, if the applications' connection is of it
    PerEnd<double> appPerByte{0, 0}; //!< CPU ns of the applications (one thread on each host)
    CongestionSpec cc;
    CongestionSpec carrierCc; //!< congestion control of the tunnel's connection for this flow
    uint32_t carrier{0};      //!< number of that connection in its tunnel, from 0 without gaps
    int64_t start{0};         //!< when the client connects
    int64_t dataStart{0};     //!< when bulk data begins; not before `start`
    uint32_t preamble{0};     //!< bytes written on connecting (iperf3's cookie)
    int64_t stop{0};          //!< when the application closes; 0: never
    uint64_t bytes{0};        //!< bulk bytes to send; 0: until the end
    double rate{0};           //!< bit/s that the application writes at most; 0: as fast as it can
    uint32_t writeSize{0};    //!< bytes per application write
    std::optional<DatagramSpec> datagrams; //!< over UDP, in place of a byte stream
    FlowRole role{};

    TUNNELCC_FIELDS(route,
                    extraDelay,
                    sender,
                    tunnel,
                    access,
                    tcp,
                    appTcp,
                    targetTcp,
                    quic,
                    appPerByte,
                    cc,
                    carrierCc,
                    carrier,
                    start,
                    dataStart,
                    preamble,
                    stop,
                    bytes,
                    rate,
                    writeSize,
                    datagrams,
                    role)
    TUNNELCC_RANGES({"extraDelay", -1e15, 1e15},
                    {"appPerByte", 0, 1e9},
                    {"carrier", 0, 65535},
                    {"preamble", 0, 1 << 30},
                    {"rate", 1, 1e12, true},
                    {"writeSize", 1, 1 << 30, true});
};

} // namespace tunnelcc

#endif // TUNNELCC_TRAFFIC_SPEC_H
