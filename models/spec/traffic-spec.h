/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TRAFFIC_SPEC_H
#define TUNNELCC_TRAFFIC_SPEC_H

#include "end.h"
#include "multipath-spec.h"
#include "path-spec.h"
#include "tcp-spec.h"
#include "udp-socket-spec.h"

#include <cstdint>
#include <optional>
#include <span>
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
    double rate{0};
    uint32_t packet{0};
    uint32_t full{0};
    uint32_t last{0};
    uint32_t header{0};
    int64_t on{0};
    int64_t off{0};
    bool drawsPeriods{false};
    bool drawsGaps{false};
    uint32_t answer{0};
    int64_t timeout{0};
    uint32_t attempts{0};
    int64_t playout{0};

    static const class Fields& GetFields();
};

/// What a flow is to the experiment.
enum class FlowRole : uint8_t
{
    FLOW,
    CROSS_TRAFFIC, //!< datagrams, which are no part of goodput and fairness
    PING           //!< echo requests
};

std::span<const std::string_view> NamesOf(FlowRole value);

/// A byte stream between applications, or a flow of datagrams. Routes, tunnels and settings of TCP
/// and QUIC are given by their numbers in the experiment's lists.
struct FlowSpec
{
    uint32_t route{0};
    PerEnd<int64_t> extraDelay{0, 0};
    End sender{};
    std::optional<uint32_t> tunnel;
    AccessSpec access;
    uint32_t tcp{0};
    uint32_t appTcp{0};
    uint32_t targetTcp{0};
    std::optional<uint32_t> quic;
    std::optional<MultipathSpec> multipath;
    PerEnd<double> appPerByte{0, 0};
    PerEnd<UdpSocketSpec> sockets;
    CongestionSpec cc;
    CongestionSpec carrierCc;
    uint32_t carrier{0};
    int64_t start{0};
    int64_t dataStart{0};
    uint32_t preamble{0};
    int64_t stop{0};
    uint64_t bytes{0};
    double rate{0};
    uint32_t writeSize{0};
    WriteMode writes{};
    std::optional<DatagramSpec> datagrams;
    FlowRole role{};

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_TRAFFIC_SPEC_H
