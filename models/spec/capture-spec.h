/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_CAPTURE_SPEC_H
#define TUNNELCC_CAPTURE_SPEC_H

#include "fields.h"
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
    std::optional<uint32_t> link;        //!< the link, by its number in the experiment's list
    std::optional<uint32_t> host;        //!< the host, by its number in the experiment's list
    std::vector<RouteStepSpec> arrivals; //!< directions of links that lead to the host

    TUNNELCC_FIELDS(name, link, host, arrivals)
};

/// A layer of a packet tunnel, as a capture shows it.
struct CaptureLayerSpec
{
    std::string layer;   //!< its name in the catalogue
    uint32_t header{0};  //!< bytes before the packet
    bool isPlain{false}; //!< the packet inside is not encrypted

    TUNNELCC_FIELDS(layer, header, isPlain)
};

/// What a capture needs to know of a tunnel to write its packets.
struct CaptureTunnelSpec
{
    std::string name;
    uint32_t ip{0};   //!< version of IP inside
    uint16_t port{0}; //!< port at which its server listens
    std::vector<CaptureLayerSpec>
        layers;        //!< layers of a packet, innermost first, without UDP and IP
    bool hasUdp{true}; //!< datagrams have UDP headers; else they are of IP protocol 50 (ESP)
    bool splits{
        false}; //!< a packet that does not fit leaves in several datagrams, not in fragments

    bool hasSmux{false}; //!< streams share a carrier by smux

    TUNNELCC_FIELDS(name, ip, port, layers, hasUdp, splits, hasSmux)
};

/// A capture.
struct CaptureSpec
{
    std::string file;           //!< file for the packets
    std::string qlog;           //!< directory for logs of connections; empty: there are none
    std::string program;        //!< name and version of the program, for the file
    uint32_t snap{0};           //!< most bytes stored of a packet; 0: its headers
    uint64_t limit{UINT64_MAX}; //!< most bytes of the file
    uint32_t ip{0};             //!< version of IP on links
    std::vector<CapturePlaceSpec> places;
    std::vector<CaptureTunnelSpec> tunnels; //!< as many as the experiment has

    TUNNELCC_FIELDS(file, qlog, program, snap, limit, ip, places, tunnels)
};

} // namespace tunnelcc

#endif // TUNNELCC_CAPTURE_SPEC_H
