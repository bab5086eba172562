/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_TUNNEL_SPEC_H
#define TUNNELCC_TUNNEL_SPEC_H

#include "end.h"
#include "fec-spec.h"
#include "fields.h"
#include "kcp-spec.h"
#include "layer-spec.h"
#include "path-spec.h"
#include "quic-spec.h"
#include "rudp-spec.h"
#include "tcp-spec.h"
#include "traffic-spec.h"

#include <array>
#include <cstdint>
#include <optional>
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
    double perByte{0};    //!< ns per carrier payload byte
    double perMessage{0}; //!< ns for the first read and the first write
    double perWrite{0};   //!< ns for each further read or write on the carrier

    TUNNELCC_FIELDS(perByte, perMessage, perWrite)
    TUNNELCC_RANGES({"perByte", 0, 1e9}, {"perMessage", 0, 1e12}, {"perWrite", 0, 1e12});

    /// CPU time (ns) of a message of `wire` carrier bytes that crosses in so many writes.
    double Of(uint32_t wire, uint32_t writes) const
    {
        return perByte * wire + perMessage + perWrite * (writes - 1);
    }
};

/// What a relay tunnel does with what one end of a carrier sends.
struct RelayDirectionSpec
{
    std::vector<LayerSpec> layers; //!< innermost first
    uint32_t prefix{0};            //!< bytes before a flow's first data: relay request or response
    RelayWorkSpec send;            //!< at the relay that sends on the carrier
    RelayWorkSpec receive;         //!< at the relay that receives
    /// For a chunk of application bytes at the relay that sends on a shared carrier, if its copy
    /// loops are threads of their own. Else `send` includes it.
    RelayWorkSpec read;

    TUNNELCC_FIELDS(layers, prefix, send, receive, read)
    TUNNELCC_RANGES({"prefix", 0, 1 << 20});
};

/// One direction of a carrier that streams share.
struct MuxDirectionSpec
{
    uint32_t maxFrame{0}; //!< most application bytes of a frame
    uint64_t sessionBuffer{
        0}; //!< the receiver stops reading at so many unread bytes of all streams; 0: it does not
    uint64_t streamWindow{0};      //!< bytes that a stream may send without credit; 0: no limit
    uint64_t firstStreamWindow{0}; //!< `streamWindow` before the first credit
    uint64_t sessionWindow{0};     //!< bytes that all streams may send without credit; 0: no limit
    uint64_t creditStep{
        0}; //!< bytes that are read of a stream, or of all, before that window gets credit
    bool creditsFirstRead{false}; //!< the first read of a stream gives credit, too

    TUNNELCC_FIELDS(maxFrame,
                    sessionBuffer,
                    streamWindow,
                    firstStreamWindow,
                    sessionWindow,
                    creditStep,
                    creditsFirstRead)
    TUNNELCC_RANGES({"maxFrame", 1, 1 << 30});
};

/// Frames of streams that share a carrier. Sizes in bytes, without layers.
struct MuxFramesSpec
{
    uint32_t header{0}; //!< of a frame of data
    uint32_t open{0};   //!< frame that begins a stream
    uint32_t accept{0}; //!< answer to it, which its sender waits for; 0: none
    uint32_t credit{0}; //!< frame that lets the peer send more, on a stream or on all
    uint32_t close{0};  //!< frame that ends a stream

    TUNNELCC_FIELDS(header, open, accept, credit, close)
    TUNNELCC_RANGES({"header", 0, 65535},
                    {"open", 0, 65535},
                    {"accept", 0, 65535},
                    {"credit", 0, 65535},
                    {"close", 0, 65535});
};

/// How streams share a carrier.
struct MuxSpec
{
    MuxFramesSpec frames;
    PerEnd<MuxDirectionSpec> sent;

    TUNNELCC_FIELDS(frames, sent)
};

/// How a relay carries datagrams of applications over UDP.
struct RelayDatagramSpec
{
    uint32_t frame{0};    //!< bytes in front of each datagram's payload on the carrier
    bool separate{false}; //!< these bytes are a write of their own
    uint32_t queue{0};    //!< most datagrams that wait for the relay to read them

    TUNNELCC_FIELDS(frame, separate, queue)
    TUNNELCC_RANGES({"frame", 0, 65535});
};

/// The way from one relay to the next.
struct HopSpec
{
    uint32_t route{0}; //!< number of it in the experiment's list
    CongestionSpec cc; //!< congestion control of its carriers; no name: FlowSpec::carrierCc
    std::optional<uint32_t> under; //!< datagram tunnel on the same route that carriers go through,
                                   //!< by its number in the list

    TUNNELCC_FIELDS(route, cc, under)
};

/// A tunnel that terminates TCP: relays, and carriers between them.
struct RelaySpec
{
    static constexpr const char* KIND = "relay";
    uint32_t copyBuffer{0};               //!< bytes read at once and forwarded as one message
    std::vector<HandshakeTurn> handshake; //!< turns after the carrier's own handshake
    bool confirms{false}; //!< a server ends it once its connection to the next host is open
    PerEnd<RelayDirectionSpec> sent;
    int64_t loopbackRtt{0};
    std::optional<MuxSpec> mux;   //!< flows with the same FlowSpec::carrier share one
    bool early{false};            //!< shared carriers are dialled at `start`, not by the first flow
    int64_t start{0};             //!< when the program dials, if `early`
    std::vector<HopSpec> hops;    //!< from the client on
    std::optional<KcpSpec> kcp;   //!< carriers are sessions of KCP; none of the three: TCP
    std::optional<RudpSpec> rudp; //!< carriers are connections of RUDP
    std::optional<QuicSpec> quic; //!< carriers are connections of QUIC; each flow has a stream
    RelayDatagramSpec udp;

    TUNNELCC_FIELDS(copyBuffer,
                    handshake,
                    confirms,
                    sent,
                    loopbackRtt,
                    mux,
                    early,
                    start,
                    hops,
                    kcp,
                    rudp,
                    quic,
                    udp)
    TUNNELCC_RANGES({"copyBuffer", 1, 1 << 30}, {"handshake", 0, 1 << 20});
};

/// CPU time of handling one packet.
struct PacketCostSpec
{
    double perPacket{0}; //!< ns
    double perByte{0};   //!< ns per inner IP byte

    TUNNELCC_FIELDS(perPacket, perByte)
    TUNNELCC_RANGES({"perPacket", 0, 1e12}, {"perByte", 0, 1e9});
};

/// A queue of packets for a program: at its device, or at its UDP socket.
struct TunnelQueueSpec
{
    uint32_t queue{0}; //!< most packets that wait; 0: no limit

    TUNNELCC_FIELDS(queue)
};

/// ECN marks and the tunnel's headers (RFC 6040).
struct EcnSpec
{
    bool copied{false}; //!< marks pass between inner and outer headers

    TUNNELCC_FIELDS(copied)
};

/// The device, socket and program at each end of a tunnel that carries packets.
struct TunnelEndSpec
{
    TunnelQueueSpec device;
    TunnelQueueSpec socket;
    PacketCostSpec encapsulate;
    PacketCostSpec decapsulate;
    bool sharesThread{false}; //!< one thread serves both directions; else each has its own

    TUNNELCC_FIELDS(device, socket, encapsulate, decapsulate, sharesThread)
};

/// How a tunnel uses several routes.
enum class UplinkUse : uint8_t
{
    FAIL_OVER, //!< the next one once probes over one are not answered
    FLOWS,     //!< one for each flow, in turn
    PACKETS    //!< one for each packet, in turn
};

template <>
inline constexpr auto ENUM_NAMES<UplinkUse> =
    std::to_array<std::string_view>({"fail_over", "flows", "packets"});

/// More routes of a tunnel.
struct UplinksSpec
{
    std::vector<uint32_t> routes; //!< numbers of these
    UplinkUse use{};
    int64_t interval{0}; //!< FAIL_OVER: time between probes over each route, and between decisions
    uint32_t probe{0};   //!< IP bytes of a probe and of its answer
    uint32_t failAfter{0};   //!< a route fails when its last answer is more intervals old
    uint32_t returnAfter{0}; //!< and works again when it is fewer intervals old

    TUNNELCC_FIELDS(routes, use, interval, probe, failAfter, returnAfter)
    TUNNELCC_RANGES({"interval", 1e6, 3.6e12, true}, {"probe", 0, 65535});
};

/// A tunnel in which each packet becomes a datagram, which is fragmented where it does not fit.
struct DatagramTunnelSpec
{
    static constexpr const char* KIND = "datagram";
    uint32_t route{0}; //!< number of it in the experiment's list
    TunnelEndSpec end;
    /// IP bytes of the packets that carry an inner packet, by its own IP bytes, up to the MTU. With
    /// FEC: of those that carry a shard, by its bytes.
    std::vector<std::vector<uint32_t>> outer;
    EcnSpec ecn;
    DontFragment dontFragment{}; //!< of the packets that it sends
    std::optional<FecSpec> fec;
    std::optional<FlowSpec> under; //!< the flow as which its packets go through another tunnel
    std::optional<UplinksSpec> uplinks;

    TUNNELCC_FIELDS(route, end, outer, ecn, dontFragment, fec, under, uplinks)
    TUNNELCC_RANGES({"outer", 0, 65535});
};

/// A tunnel that writes packets into one TCP connection, the carrier of all flows.
struct StreamTunnelSpec
{
    static constexpr const char* KIND = "stream";
    uint32_t route{0}; //!< number of it in the experiment's list
    TunnelEndSpec end; //!< there is no UDP socket
    /// Sizes of the writes for a packet, before `layers`, by its IP bytes.
    std::vector<std::vector<uint32_t>> writes;
    std::vector<HandshakeTurn> handshake;  //!< after the carrier's TCP handshake
    PerEnd<std::vector<LayerSpec>> layers; //!< around what each end sends, innermost first
    int64_t start{0};                      //!< when it dials its carrier
    TcpSpec carrierTcp;
    CongestionSpec carrierCc;
    std::optional<FlowSpec> under; //!< the flow as which its carrier goes through another tunnel

    TUNNELCC_FIELDS(route, end, writes, handshake, layers, start, carrierTcp, carrierCc, under)
    TUNNELCC_RANGES({"writes", 0, 1 << 20}, {"handshake", 0, 1 << 20});
};

using TunnelSpec = std::variant<RelaySpec, DatagramTunnelSpec, StreamTunnelSpec>;

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
