/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUNNEL_SPEC_H
#define TUNNELCC_TUNNEL_SPEC_H

#include "end.h"
#include "fec-spec.h"
#include "kcp-spec.h"
#include "layer-spec.h"
#include "multipath-spec.h"
#include "path-spec.h"
#include "quic-spec.h"
#include "rudp-spec.h"
#include "tcp-spec.h"
#include "traffic-spec.h"
#include "udp-socket-spec.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

/**
 * \file
 * Tunnels. Times in ns, sizes in bytes.
 */
namespace tunnelcc
{

/// One turn of a tunnel's handshake on its carrier: sizes of the writes, in bytes.
using HandshakeTurn = PerEnd<std::vector<uint32_t>>;

/// CPU time that one relay spends on a message.
struct RelayWorkSpec
{
    double perByte{0};
    double perMessage{0};
    double perWrite{0};

    static const class Fields& GetFields();

    /// CPU time (ns) of a message of `wire` carrier bytes that crosses in so many writes.
    double Of(uint32_t wire, uint32_t writes) const
    {
        return perByte * wire + perMessage + perWrite * (writes - 1);
    }
};

/// What a relay tunnel does with what one end of a carrier sends.
struct RelayDirectionSpec
{
    std::vector<LayerSpec> layers;
    uint32_t prefix{0};
    RelayWorkSpec send;
    RelayWorkSpec receive;
    RelayWorkSpec read;

    static const class Fields& GetFields();
};

/// One direction of a carrier that streams share.
struct MuxDirectionSpec
{
    uint32_t maxFrame{0};
    uint64_t sessionBuffer{0};
    uint64_t streamWindow{0};
    uint64_t firstStreamWindow{0};
    uint64_t sessionWindow{0};
    uint64_t creditStep{0};
    bool creditsFirstRead{false};

    static const class Fields& GetFields();
};

/// Frames of streams that share a carrier. Sizes in bytes, without layers.
struct MuxFramesSpec
{
    uint32_t header{0};
    uint32_t open{0};
    uint32_t accept{0};
    uint32_t credit{0};
    uint32_t close{0};

    static const class Fields& GetFields();
};

/// How streams share a carrier.
struct MuxSpec
{
    MuxFramesSpec frames;
    PerEnd<MuxDirectionSpec> sent;

    static const class Fields& GetFields();
};

/// How a relay carries datagrams of applications over UDP.
struct RelayDatagramSpec
{
    uint32_t frame{0};
    bool separate{false};
    uint32_t queue{0};

    static const class Fields& GetFields();
};

/// The way from one relay to the next.
struct HopSpec
{
    uint32_t route{0};
    CongestionSpec cc;
    std::optional<uint32_t> under;
    std::optional<MultipathSpec> multipath;

    static const class Fields& GetFields();
};

/// A tunnel that terminates TCP: relays, and carriers between them.
struct RelaySpec
{
    static constexpr const char* KIND = "relay";
    uint32_t copyBuffer{0};
    std::vector<HandshakeTurn> handshake;
    bool confirms{false};
    PerEnd<RelayDirectionSpec> sent;
    int64_t loopbackRtt{0};
    std::optional<MuxSpec> mux;
    bool early{false};
    int64_t start{0};
    std::vector<HopSpec> hops;
    std::optional<KcpSpec> kcp;
    std::optional<RudpSpec> rudp;
    std::optional<QuicSpec> quic;
    PerEnd<UdpSocketSpec> sockets;
    RelayDatagramSpec udp;

    static const class Fields& GetFields();
};

/// A queue of packets for a program: at its device, or at its UDP socket.
struct TunnelQueueSpec
{
    uint32_t queue{0};
    uint32_t release{0};

    static const class Fields& GetFields();
};

/// ECN marks and the tunnel's headers (RFC 6040).
struct EcnSpec
{
    bool copied{false};

    static const class Fields& GetFields();
};

/// The device, socket and program at each end of a tunnel that carries packets.
struct TunnelEndSpec
{
    TunnelQueueSpec device;
    TunnelQueueSpec socket;
    PacketCostSpec encapsulate;
    PacketCostSpec decapsulate;
    bool sharesThread{false};

    static const class Fields& GetFields();
};

/// How a tunnel uses several routes.
enum class UplinkUse : uint8_t
{
    FAIL_OVER, //!< the next one once probes over one are not answered
    FLOWS,     //!< one for each flow, in turn
    PACKETS,   //!< one for each packet, in turn
    WEIGHTS,   //!< one for each datagram, by weights
    MEASURED   //!< one for each datagram, by rates that probes measure
};

std::span<const std::string_view> NamesOf(UplinkUse value);

/// How routes with weights take turns.
enum class UplinkTurns : uint8_t
{
    SMOOTH,    //!< as evenly as they can
    COUNTDOWN, //!< each route counts down from the inverse of its weight
    RANDOM     //!< at random
};

std::span<const std::string_view> NamesOf(UplinkTurns value);

/// The buffer in which the far end of several routes puts packets into order.
struct ReorderSpec
{
    uint32_t size{0};
    int64_t time{0};
    bool restarts{false};
    uint32_t places{0};

    static const class Fields& GetFields();
};

/// More routes of a tunnel.
struct UplinksSpec
{
    std::vector<uint32_t> routes;
    UplinkUse use{};
    UplinkTurns turns{};
    PerEnd<std::vector<double>> weights;
    std::optional<ReorderSpec> reorder;
    int64_t interval{0};
    uint32_t probe{0};
    uint32_t failAfter{0};
    uint32_t returnAfter{0};

    static const class Fields& GetFields();
};

/// A tunnel in which each packet becomes a datagram, which is fragmented where it does not fit.
struct DatagramTunnelSpec
{
    static constexpr const char* KIND = "datagram";
    uint32_t route{0};
    TunnelEndSpec end;
    std::vector<std::vector<uint32_t>> outer;
    EcnSpec ecn;
    DontFragment dontFragment{};
    std::optional<FecSpec> fec;
    std::optional<FlowSpec> under;
    std::optional<UplinksSpec> uplinks;

    static const class Fields& GetFields();
};

/// A tunnel that writes packets into one TCP connection, the carrier of all flows.
struct StreamTunnelSpec
{
    static constexpr const char* KIND = "stream";
    uint32_t route{0};
    TunnelEndSpec end;
    std::vector<std::vector<uint32_t>> writes;
    std::vector<HandshakeTurn> handshake;
    PerEnd<std::vector<LayerSpec>> layers;
    int64_t start{0};
    TcpSpec carrierTcp;
    CongestionSpec carrierCc;
    std::optional<FlowSpec> under;
    std::optional<MultipathSpec> multipath;

    static const class Fields& GetFields();
};

/// How a QUIC connection takes datagrams (RFC 9221).
struct QuicDatagramsSpec
{
    uint32_t queue{0};
    bool blocks{false};
    bool areAlone{false};
    uint32_t reserve{0};
    uint32_t header{0};
    bool splits{false};

    static const class Fields& GetFields();
};

/// A tunnel that carries packets in DATAGRAM frames of one QUIC connection.
struct QuicTunnelSpec
{
    static constexpr const char* KIND = "quic-datagram";
    uint32_t route{0};
    TunnelEndSpec end;
    std::vector<uint32_t> payloads;
    QuicDatagramsSpec datagrams;
    QuicSpec quic;
    PerEnd<UdpSocketSpec> sockets;
    int64_t start{0};
    CongestionSpec carrierCc;
    std::optional<FlowSpec> under;
    std::optional<MultipathSpec> multipath;

    static const class Fields& GetFields();
};

using TunnelSpec = std::variant<RelaySpec, DatagramTunnelSpec, StreamTunnelSpec, QuicTunnelSpec>;

/// The flow as which a tunnel's packets go through another tunnel; null: they do not.
inline const FlowSpec*
UnderOf(const TunnelSpec& tunnel)
{
    auto find = [](const auto& it) -> const FlowSpec* {
        if constexpr (requires { it.under; })
        {
            return it.under ? &*it.under : nullptr;
        }
        return nullptr;
    };
    return std::visit(find, tunnel);
}

} // namespace tunnelcc

#endif // TUNNELCC_TUNNEL_SPEC_H
