/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TCP_SPEC_H
#define TUNNELCC_TCP_SPEC_H

#include "fields.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tunnelcc
{

/// A congestion control and the values of its parameters.
struct CongestionSpec
{
    std::string name;
    std::map<std::string, std::variant<bool, int64_t, double, std::string>> parameters;
    std::string code; //!< hash of its source file; empty: it is part of this project

    TUNNELCC_FIELDS(name, parameters, code)
};

/// How the receive buffer of a Linux kernel grows.
enum class ReceiveGrowth
{
    CUSHION,     //!< before 6.16: 16 segments beyond twice of what was read
    OUT_OF_ORDER //!< since 6.16: the span of the data out of order instead
};

template <>
inline constexpr auto ENUM_NAMES<ReceiveGrowth> =
    std::to_array<std::string_view>({"cushion", "out-of-order"});

/// The ACKs that let PRR slow-start in a Linux kernel.
enum class PrrSlowStart
{
    REPAIR,  //!< before 5.11: ACKs of retransmissions that show none of them lost
    PROGRESS //!< since 5.11: ACKs of new data that bring no new loss (RFC 9937)
};

template <>
inline constexpr auto ENUM_NAMES<PrrSlowStart> =
    std::to_array<std::string_view>({"repair", "progress"});

/// How a program writes to its socket, which decides when a write that found no room goes on.
enum class WriteMode
{
    NONBLOCKING, //!< until the buffer is full, then again once a third of it is free
    POLLED,      //!< after poll(2), which agrees while a third is free
    BLOCKING     //!< until the buffer is full; that third or arriving data wakes it
};

template <>
inline constexpr auto ENUM_NAMES<WriteMode> =
    std::to_array<std::string_view>({"nonblocking", "polled", "blocking"});

/**
 * TCP settings of one kind of connection (over the path, or on a host's loopback). Times in ns,
 * sizes in bytes. Members that differ between kernels have the names of `tunnelcc show kernels`.
 */
struct TcpSpec
{
    uint32_t mss{0};           //!< payload bytes of a full segment
    uint32_t headerBytes{0};   //!< IP + TCP headers of a segment and of a pure ACK
    uint32_t synBytes{0};      //!< SYN and SYN-ACK, IP bytes
    uint64_t receiveWindow{0}; //!< largest window advertised
    uint64_t initialReceiveWindow{
        0};                         //!< first window, then adjusted to what is read; 0: the largest
    uint64_t initialReceiveRoom{0}; //!< the first window grows to this as segments arrive
    ReceiveGrowth receiveGrowth{};
    uint32_t windowScale{0};        //!< RFC 7323: windows are told in units of 2^windowScale bytes
    uint64_t sendBuffer{0};         //!< payload bytes that the send buffer holds
    double sendBufferPerSegment{0}; //!< the buffer grows with cwnd: bytes a segment, times the
                                    //!< factor of the algorithm; 0: full size at once
    uint32_t initialWindow{0};      //!< segments
    uint32_t synLinearTimeouts{0};  //!< time-outs of a SYN before they double
    int64_t minRto{0};
    int64_t delayedAck{0}; //!< least time that an ACK waits for a second segment
    int64_t jiffy{0};      //!< unit of the kernel's timers; 0: they are exact
    uint32_t ackEvery{0};  //!< segments per ACK
    int64_t gro{0}; //!< time in which the host merges segments that come in order; 0: it does not
    uint32_t pingPongAnswers{0}; //!< after so many writes in answer to data, ACKs wait for answers
    bool pushedAcks{false}; //!< once all is read, a full segment with PSH is acknowledged at once
    int64_t pacingQuantum{
        0};                //!< duration of a paced burst at the pacing rate; 0: a burst is a packet
    int64_t tsoRttStep{0}; //!< a burst has up to 64 KiB more, halved for each of these times in the
                           //!< least RTT; 0: none
    int64_t tsoDeferralLimit{0}; //!< new data waits to fill a burst while the next ACK is
                                 //!< expected within this, and within half of SRTT
    PrrSlowStart prrSlowStart{};
    bool nodelay{false};       //!< TCP_NODELAY: no Nagle's rule
    bool serverNodelay{false}; //!< `nodelay` holds for the end that listens, too
    WriteMode writes{};
    bool ecn{false};        //!< data may be marked instead of dropped (RFC 3168)
    uint32_t mtuProbing{0}; //!< packetization layer path MTU discovery (RFC 4821): 0: none; 1:
                            //!< after a black hole; 2: always (Linux sysctl tcp_mtu_probing)
    uint32_t baseMss{0};    //!< payload that it begins with

    TUNNELCC_FIELDS(mss,
                    headerBytes,
                    synBytes,
                    receiveWindow,
                    initialReceiveWindow,
                    initialReceiveRoom,
                    receiveGrowth,
                    windowScale,
                    sendBuffer,
                    sendBufferPerSegment,
                    initialWindow,
                    synLinearTimeouts,
                    minRto,
                    delayedAck,
                    jiffy,
                    ackEvery,
                    gro,
                    pingPongAnswers,
                    pushedAcks,
                    pacingQuantum,
                    tsoRttStep,
                    tsoDeferralLimit,
                    prrSlowStart,
                    nodelay,
                    serverNodelay,
                    writes,
                    ecn,
                    mtuProbing,
                    baseMss)
    TUNNELCC_RANGES({"mss", 16, 65535},
                    {"headerBytes", 20, 1024},
                    {"synBytes", 20, 1024},
                    {"receiveWindow", 1, 0x1p40},
                    {"initialReceiveWindow", 0, 0x1p40},
                    {"initialReceiveRoom", 0, 0x1p40},
                    {"windowScale", 0, 14},
                    {"sendBuffer", 1, 0x1p40},
                    {"sendBufferPerSegment", 0, 1e9},
                    {"initialWindow", 1, 65535},
                    {"synLinearTimeouts", 0, 255},
                    {"minRto", 1e3, 1e12},
                    {"ackEvery", 1, 65535},
                    {"mtuProbing", 0, 2},
                    {"baseMss", 16, 65535, true});

    /// Whether segments carry timestamps (RFC 7323), which shows in their headers.
    bool HasTimestamps() const
    {
        constexpr uint32_t PLAIN_OVER_IPV4 = 40; // IP and TCP without options
        constexpr uint32_t PLAIN_OVER_IPV6 = 60;
        return headerBytes != PLAIN_OVER_IPV4 && headerBytes != PLAIN_OVER_IPV6;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_TCP_SPEC_H
