/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXPERIMENT_SPEC_H
#define TUNNELCC_EXPERIMENT_SPEC_H

#include "host-spec.h"
#include "path-spec.h"
#include "quic-spec.h"
#include "tcp-spec.h"
#include "traffic-spec.h"
#include "tunnel-spec.h"

#include <cstdint>
#include <vector>

/**
 * \file
 * One experiment as plain numbers: times in nanoseconds, rates in bit/s, sizes in bytes,
 * probabilities in [0, 1]. The Python package checks what users write and fills this in; here are
 * no units to parse, and no defaults: a member that nobody sets is 0, false, empty, or the first of
 * its enumeration.
 */
namespace tunnelcc
{

struct ExperimentSpec
{
    std::vector<HostSpec> hosts;
    std::vector<DuplexLinkSpec> links;
    std::vector<RouteSpec> routes;
    std::vector<TcpSpec> tcp;
    std::vector<QuicSpec> quic;
    std::vector<TunnelSpec> tunnels;
    std::vector<FlowSpec> flows;
    int64_t duration{0};
    double until{0};
    int64_t warmup{0};
    int64_t probeInterval{0};
    bool probeCongestion{false};
    uint64_t seed{0};

    static const class Fields& GetFields();
};

} // namespace tunnelcc

#endif // TUNNELCC_EXPERIMENT_SPEC_H
