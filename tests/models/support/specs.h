/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SPECS_H
#define TUNNELCC_SPECS_H

#include "spec/experiment-spec.h"
#include "support/tcp-specs.h"

#include <cstdint>

/**
 * \file
 * Experiments for the tests: a path of 100 Mbit/s and 100 ms, and GOST's relays as they were
 * captured (gost c7d793c with x v0.15.2, relay v0.7.0, gorilla/websocket v1.5.3, Go 1.26; Linux
 * 6.18, MTU 1500, TCP timestamps). Sizes are TCP payload.
 */
namespace tunnelcc
{

constexpr uint32_t COPY_BUFFER = 32'768;

/// Where data cross the first link.
inline LinkSpec&
Forward(ExperimentSpec& spec)
{
    return spec.links.front().forward;
}

inline const LinkSpec&
Forward(const ExperimentSpec& spec)
{
    return spec.links.front().forward;
}

/// Where ACKs do.
inline LinkSpec&
Reverse(ExperimentSpec& spec)
{
    return spec.links.front().reverse;
}

inline const LinkSpec&
Reverse(const ExperimentSpec& spec)
{
    return spec.links.front().reverse;
}

/// Give a link half of `rtt` ns in each direction.
inline void
SetRtt(DuplexLinkSpec& link, int64_t rtt)
{
    link.forward.delay = rtt / 2;
    link.reverse.delay = rtt - rtt / 2;
}

/// Add a host of two cores. \returns its number
inline uint32_t
AddHost(ExperimentSpec& spec)
{
    auto number = static_cast<uint32_t>(spec.hosts.size());
    spec.hosts.push_back({.machine = number, .cores = 2, .speed = 1});
    return number;
}

/// A bulk transfer from the client, in writes of iperf3's size.
inline FlowSpec
MakeFlowSpec()
{
    FlowSpec flow;
    flow.writeSize = 131'072;
    flow.writes = WriteMode::BLOCKING;
    return flow;
}

/// Add a route over links that are crossed forwards, and back over the same. \returns its number
inline uint32_t
AddRoute(ExperimentSpec& spec, uint32_t client, uint32_t server, std::vector<uint32_t> links)
{
    RouteSpec route{.hosts = {client, server}, .sent = {}};
    for (uint32_t link : links)
    {
        route.sent.client.push_back({link, false});
        route.sent.server.insert(route.sent.server.begin(), {link, true});
    }
    spec.routes.push_back(route);
    return static_cast<uint32_t>(spec.routes.size() - 1);
}

/// Let the servers send the data, and links' forward directions be theirs.
inline void
MakeDownload(ExperimentSpec& spec)
{
    for (FlowSpec& flow : spec.flows)
    {
        flow.sender = End::SERVER;
    }
    for (RouteSpec& route : spec.routes)
    {
        for (End end : ENDS)
        {
            for (RouteStepSpec& step : route.sent[end])
            {
                step.isReverse = !step.isReverse;
            }
        }
    }
}

/// One flow of CUBIC for 10 s, without loss, behind a buffer of one bandwidth-delay product.
inline ExperimentSpec
MakePlainSpec()
{
    ExperimentSpec spec;
    uint32_t client = AddHost(spec);
    uint32_t server = AddHost(spec);
    DuplexLinkSpec& duplex = spec.links.emplace_back();
    SetRtt(duplex, 100'000'000);
    for (LinkSpec* link : {&duplex.forward, &duplex.reverse})
    {
        link->rate = 100e6;
        link->bufferBytes = 1'250'000;
        link->lossPosition = LinkPosition::AFTER;
    }
    AddRoute(spec, client, server, {0});
    spec.tcp.push_back(MakeTcpSpec());
    spec.tcp[0].receiveWindow = 64 << 20;
    spec.tcp[0].sendBuffer = 64 << 20;
    FlowSpec flow = MakeFlowSpec();
    flow.cc.name = flow.carrierCc.name = "cubic";
    flow.preamble = 37; // iperf3's cookie
    spec.flows.push_back(flow);
    spec.duration = 10'000'000'000;
    spec.probeInterval = 100'000'000;
    spec.seed = 1;
    return spec;
}

inline LayerSpec
MakeWebSocket(bool isMasked, uint32_t maxPayload, uint32_t firstWrite = 0)
{
    return WebSocketLayerSpec{.maxPayload = maxPayload,
                              .masked = isMasked,
                              .firstWrite = firstWrite};
}

/// TLS 1.3 with Go's dynamic record sizes.
inline LayerSpec
MakeTls()
{
    return TlsLayerSpec{.maxPayload = 16'384,
                        .overhead = 22,
                        .rampBytes = 1'186,
                        .rampUntil = 131'072,
                        .recordsBefore = 1}; // the upgrade to WebSocket
}

/// GOST's relay+ws or relay+wss. Buffers on the loopbacks are what each stage absorbed towards a
/// target that never reads.
inline RelaySpec
MakeRelay(bool isTls)
{
    RelaySpec relay;
    relay.copyBuffer = COPY_BUFFER;
    relay.sent.client.prefix = 11;
    relay.sent.server.prefix = 4;
    relay.sent.client.layers = {MakeWebSocket(true, 4'096)};
    relay.sent.server.layers = {MakeWebSocket(false, 0, isTls ? 4'086 : 0)};
    relay.handshake = {{{186}, {129}}};
    if (isTls)
    {
        relay.sent.client.layers.push_back(MakeTls());
        relay.sent.server.layers.push_back(MakeTls());
        relay.handshake = {{{1'483}, {1'887}}, {{64, 208}, {151}}};
    }
    relay.loopbackRtt = 50'000;
    return relay;
}

/// smux as gost leaves it; with `streamWindow` bytes, its version 2.
inline MuxSpec
MakeSmux(uint64_t streamWindow = 0)
{
    MuxSpec mux;
    mux.frames.header = mux.frames.open = mux.frames.close = 8;
    mux.frames.credit = 16;
    for (MuxDirectionSpec* direction : {&mux.sent.client, &mux.sent.server})
    {
        direction->maxFrame = 32'768;
        direction->sessionBuffer = 4 << 20;
        direction->streamWindow = direction->firstStreamWindow = streamWindow;
        direction->creditStep = streamWindow / 2;
    }
    return mux;
}

/// Streams that are answered, with windows of their own and one for all: in the manner of HTTP/2.
inline MuxSpec
MakeWindowedMux(uint64_t streamWindow, uint64_t sessionWindow)
{
    MuxSpec mux = MakeSmux(streamWindow);
    mux.frames.accept = 9;
    for (MuxDirectionSpec* direction : {&mux.sent.client, &mux.sent.server})
    {
        direction->maxFrame = 16'384;
        direction->sessionBuffer = 0;
        direction->sessionWindow = sessionWindow;
        direction->creditStep = 4'096;
    }
    return mux;
}

/// Channels as in SSH: answered, with windows of their own alone.
inline MuxSpec
MakeSshMux()
{
    MuxSpec mux = MakeWindowedMux(2 << 20, 0);
    mux.sent.client.creditStep = mux.sent.server.creditStep = 3 * 32'768;
    return mux;
}

/// The relays of an experiment that has some.
inline RelaySpec&
RelayOf(ExperimentSpec& spec)
{
    return std::get<RelaySpec>(spec.tunnels.front());
}

/// Its settings of TCP: those of carriers, and on the loopbacks before and behind the relays.
enum RelayTcp : uint32_t
{
    CARRIER_TCP,
    APP_TCP,
    TARGET_TCP
};

inline ExperimentSpec
MakeRelaySpec(bool isTls)
{
    ExperimentSpec spec = MakePlainSpec();
    RelaySpec relay = MakeRelay(isTls);
    relay.hops.emplace_back().route = AddRoute(spec, 0, 1, {0});
    spec.tunnels.emplace_back(relay);
    spec.flows[0].tunnel = 0;
    spec.tcp[CARRIER_TCP].nodelay = true;
    spec.tcp.resize(3, MakeTcpSpec());
    spec.tcp[APP_TCP].mss = spec.tcp[TARGET_TCP].mss = 65'483;
    spec.tcp[APP_TCP].sendBuffer = 1'760'000;
    spec.tcp[APP_TCP].receiveWindow = 300'000;
    spec.tcp[TARGET_TCP].sendBuffer = 2'630'000;
    spec.tcp[TARGET_TCP].receiveWindow = 130'000;
    spec.flows[0].appTcp = APP_TCP;
    spec.flows[0].targetTcp = TARGET_TCP;
    return spec;
}

/// `flows` equal flows through relay+mws, all on one carrier.
inline ExperimentSpec
MakeMuxSpec(uint32_t flows, const MuxSpec& mux = MakeSmux())
{
    ExperimentSpec spec = MakeRelaySpec(false);
    RelayOf(spec).mux = mux;
    spec.flows.assign(flows, FlowSpec(spec.flows[0]));
    return spec;
}

/// Put one more relay behind the others, and a link of `rtt` ns like the first behind it.
inline void
AddHop(ExperimentSpec& spec, int64_t rtt)
{
    std::vector<HopSpec>& hops = RelayOf(spec).hops;
    uint32_t& last = spec.routes[hops.back().route].hosts.server;
    uint32_t server = last;
    uint32_t relay = last = AddHost(spec);
    SetRtt(spec.links.emplace_back(spec.links[0]), rtt);
    auto link = static_cast<uint32_t>(spec.links.size() - 1);
    hops.emplace_back().route = AddRoute(spec, relay, server, {link});
}

} // namespace tunnelcc

#endif // TUNNELCC_SPECS_H
