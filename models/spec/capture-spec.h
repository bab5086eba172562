/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CAPTURE_SPEC_H
#define TUNNELCC_CAPTURE_SPEC_H

#include "path-spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/**
 * \file
 * Which packets of a run to write to a file. No part of ExperimentSpec, because a capture changes
 * nothing in a run. Sizes in bytes.
 */
namespace tunnelcc
{

/// Where packets are captured: at a link, where they arrive at its queues, or at a host, where they
/// leave or arrive.
struct CapturePlaceSpec
{
    std::string name;
    std::optional<uint32_t> link;
    std::optional<uint32_t> host;
    std::vector<RouteStepSpec> arrivals;

    static const class Fields& GetFields();
};

/// A layer of a packet tunnel, as a capture shows it.
struct CaptureLayerSpec
{
    std::string layer;
    uint32_t header{0};
    bool isPlain{false};

    static const class Fields& GetFields();
};

/// What a capture needs to know of a tunnel to write its packets.
struct CaptureTunnelSpec
{
    std::string name;
    uint32_t ip{0};
    uint16_t port{0};
    std::vector<CaptureLayerSpec> layers;
    bool hasUdp{true};
    bool splits{false};

    bool hasSmux{false};

    static const class Fields& GetFields();
};

/// A capture.
struct CaptureSpec
{
    std::string file;
    std::string qlog;
    std::string program;
    uint32_t snap{0};
    uint64_t limit{UINT64_MAX};
    uint32_t ip{0};
    std::vector<CapturePlaceSpec> places;
    std::vector<CaptureTunnelSpec> tunnels;

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_CAPTURE_SPEC_H
