/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_EXPERIMENT_SPEC_H
#define TUNNELCC_EXPERIMENT_SPEC_H

#include "fields.h"
#include "host-spec.h"
#include "path-spec.h"
#include "tcp-spec.h"
#include "traffic-spec.h"
#include "tunnel-spec.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

/**
 * \file
 * One experiment as plain numbers: times in nanoseconds, rates in bit/s, sizes in bytes,
 * probabilities in [0, 1]. The Python package checks what users write and fills this in; nothing
 * here has units to parse or defaults to guess.
 */
namespace tunnelcc
{

struct ExperimentSpec
{
    PathSpec path;
    TcpSpec tcp; //!< connections across the path, or of the applications in a tunnel of packets
    HostSpec client;
    HostSpec server;
    bool oneMachine{false}; //!< both hosts run on the client's cores
    std::vector<FlowSpec> flows;
    std::vector<DatagramSpec> crossTraffic;
    bool download{false};             //!< data flows from server to client
    std::optional<TunnelSpec> tunnel; //!< of all flows
    int64_t duration{0};              //!< warm-up included
    int64_t warmup{0};
    int64_t probeInterval{100'000'000};
    uint64_t seed{1};

    TUNNELCC_FIELDS(path,
                    tcp,
                    client,
                    server,
                    oneMachine,
                    flows,
                    crossTraffic,
                    download,
                    tunnel,
                    duration,
                    warmup,
                    probeInterval,
                    seed)

    /// The tunnel if it is of this kind, else null.
    template <class Kind>
    const Kind* TunnelAs() const
    {
        return tunnel ? std::get_if<Kind>(&*tunnel) : nullptr;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_EXPERIMENT_SPEC_H
