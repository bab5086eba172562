/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CAPTURE_SPEC_H
#define TUNNELCC_CAPTURE_SPEC_H

#include "fields.h"

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

/// Where packets are captured: at a link, as they come to its queues, or at a host, as they leave
/// it and arrive.
struct CapturePlaceSpec
{
    std::string name;
    std::optional<uint32_t> link; //!< number of it in the experiment's list
    std::optional<uint32_t> host; //!< likewise

    TUNNELCC_FIELDS(name, link, host)
};

/// What a layer of a packet tunnel puts around a packet.
struct CaptureLayerSpec
{
    std::string layer;   //!< its name in the catalogue
    uint32_t header{0};  //!< bytes before the packet
    bool isPlain{false}; //!< what is inside can be read

    TUNNELCC_FIELDS(layer, header, isPlain)
};

/// How what a tunnel sends looks on the wire.
struct CaptureTunnelSpec
{
    std::string name;
    uint16_t port{0};                     //!< that its server listens at
    std::vector<CaptureLayerSpec> layers; //!< of packets, innermost first, without UDP and IP
    bool hasUdp{true};                    //!< else IP protocol 50
    bool splits{false}; //!< what does not fit leaves in datagrams of their own, not in fragments

    bool hasSmux{false}; //!< streams share a carrier by smux

    TUNNELCC_FIELDS(name, port, layers, hasUdp, splits, hasSmux)
};

/// A capture.
struct CaptureSpec
{
    std::string file;           //!< for packets
    std::string qlog;           //!< directory for logs of QUIC connections; empty: there are none
    std::string program;        //!< that writes the file, with its version
    uint32_t snap{0};           //!< most bytes of a packet; 0: its headers
    uint64_t limit{UINT64_MAX}; //!< of the file
    std::vector<CapturePlaceSpec> places;
    std::vector<CaptureTunnelSpec> tunnels; //!< as many as the experiment has

    TUNNELCC_FIELDS(file, qlog, program, snap, limit, places, tunnels)
};

} // namespace tunnelcc

#endif // TUNNELCC_CAPTURE_SPEC_H
