/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_SPECS_H
#define TUNNELCC_SPECS_H

#include "spec/experiment-spec.h"

#include <cstdint>
#include <string>

/**
 * \file
 * Experiments for the tests: a path of 100 Mbit/s and 100 ms, and GOST's relays as they were
 * captured (gost c7d793c with x v0.15.2, relay v0.7.0, gorilla/websocket v1.5.3, Go 1.26; Linux
 * 6.18, MTU 1500, TCP timestamps). Sizes are TCP payload.
 */
namespace tunnelcc
{

constexpr uint32_t COPY_BUFFER = 32'768;

/// One flow of CUBIC for 10 s, without loss, behind a buffer of one bandwidth-delay product.
inline ExperimentSpec
MakePlainSpec()
{
    ExperimentSpec spec;
    spec.path.rtt = 100'000'000;
    for (LinkSpec* link : {&spec.path.forward, &spec.path.reverse})
    {
        link->rate = 100e6;
        link->bufferBytes = 1'250'000;
    }
    spec.tcp.receiveWindow = 64 << 20;
    spec.tcp.sendBuffer = 64 << 20;
    FlowSpec flow;
    flow.cc.name = flow.carrierCc.name = "cubic";
    flow.preamble = 37; // iperf3's cookie
    flow.rtt = spec.path.rtt;
    spec.flows.push_back(flow);
    spec.duration = 10'000'000'000;
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
    relay.appTcp.mss = relay.targetTcp.mss = 65'483;
    relay.appTcp.sendBuffer = 1'760'000;
    relay.appTcp.receiveWindow = 300'000;
    relay.targetTcp.sendBuffer = 2'630'000;
    relay.targetTcp.receiveWindow = 130'000;
    return relay;
}

/// smux as gost leaves it; with `streamWindow` bytes, its version 2.
inline MuxSpec
MakeSmux(uint64_t streamWindow = 0)
{
    MuxSpec mux;
    mux.headerBytes = mux.openBytes = mux.closeBytes = 8;
    mux.creditBytes = 16;
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
    mux.acceptBytes = 9;
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
    return std::get<RelaySpec>(*spec.tunnel);
}

inline ExperimentSpec
MakeRelaySpec(bool isTls)
{
    ExperimentSpec spec = MakePlainSpec();
    spec.tunnel = MakeRelay(isTls);
    spec.tcp.nodelay = true;
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

/// Put one more relay behind the others, and a path of `rtt` ns like the first behind it.
inline void
AddHop(ExperimentSpec& spec, int64_t rtt)
{
    HopSpec hop;
    hop.path = spec.path;
    hop.path.rtt = rtt;
    RelayOf(spec).hops.push_back(hop);
}

} // namespace tunnelcc

#endif // TUNNELCC_SPECS_H
