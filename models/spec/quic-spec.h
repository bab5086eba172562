/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_SPEC_H
#define TUNNELCC_QUIC_SPEC_H

#include "end.h"

#include <cstdint>
#include <optional>
#include <vector>

/**
 * \file
 * QUIC (RFC 9000, RFC 9002). Times in ns, sizes in bytes; a packet's size is its UDP payload.
 */
namespace tunnelcc
{

/// Sizes of packets, and the search for larger ones (RFC 8899).
struct QuicPacketsSpec
{
    PerEnd<uint32_t> overhead{0, 0};
    uint32_t header{0};
    PerEnd<uint32_t> first{0, 0};
    uint32_t most{0};
    uint32_t step{0};
    double wait{0};
    uint32_t mtu{0};
    uint32_t pathId{0};

    static const class Fields& GetFields();
};

/// When packets are acknowledged (RFC 9000, section 13.2).
struct QuicAcksSpec
{
    uint32_t every{0};
    int64_t delay{0};
    uint32_t ranges{0};
    uint32_t alone{0};

    static const class Fields& GetFields();
};

/// When packets count as lost (RFC 9002, section 6).
struct QuicLossSpec
{
    uint32_t packets{0};
    double time{0};
    int64_t granularity{0};
    int64_t firstTimeout{0};
    uint32_t persistent{0};
    bool probedLose{false};

    static const class Fields& GetFields();
};

/// Pacing where the congestion control sets no rate, and the length of bursts.
struct QuicPacingSpec
{
    double gain{0};
    int64_t burst{0};
    uint32_t packets{0};
    int64_t least{0};
    bool countsAcks{false};

    static const class Fields& GetFields();
};

/// The congestion window, in packets.
struct QuicWindowSpec
{
    uint32_t first{0};
    uint32_t most{0};

    static const class Fields& GetFields();
};

/// Constants of Chromium's BBR that Linux's has not.
struct QuicBbrSpec
{
    double startupWindow{0};
    uint32_t lossEvents{0};
    double lossShare{0};
    double leastRate{0};

    static const class Fields& GetFields();
};

/// Flow control by a receiver (RFC 9000, section 4).
struct QuicFlowSpec
{
    uint64_t first{0};
    uint64_t most{0};
    double update{0};

    static const class Fields& GetFields();
};

/// The delay until a waiting thread reads a packet that has arrived.
struct QuicThreadsSpec
{
    int64_t wakeDelay{0};
    int64_t wakeLeast{0};

    static const class Fields& GetFields();
};

/// A QUIC connection.
struct QuicSpec
{
    QuicPacketsSpec packets;
    QuicAcksSpec acks;
    QuicLossSpec loss;
    QuicPacingSpec pacing;
    QuicWindowSpec window;
    std::optional<QuicBbrSpec> bbr;
    QuicFlowSpec stream;
    QuicFlowSpec connection;
    QuicThreadsSpec threads;
    uint64_t sendBuffer{0};
    bool isOneFrame{false};
    std::vector<PerEnd<std::vector<uint32_t>>> handshake;

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_SPEC_H
