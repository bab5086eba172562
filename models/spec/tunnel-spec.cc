/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnel-spec.h"

#include "fields.h"

namespace tunnelcc
{

NAMES_OF(UplinkUse, "fail_over", "flows", "packets", "weights", "measured");
NAMES_OF(UplinkTurns, "smooth", "countdown", "random");

FIELDS_OF(RelayWorkSpec,
          FIELD(perByte, "ns/byte", 0, 1e9, "for each carrier payload byte"),
          FIELD(perMessage, "ns", 0, 1e12, "for the first read and the first write"),
          FIELD(perWrite, "ns", 0, 1e12, "for each further read or write on the carrier"));

FIELDS_OF(RelayDirectionSpec,
          FIELD(layers, "innermost first"),
          FIELD(prefix,
                "bytes",
                0,
                1 << 20,
                "bytes before a flow's first data: relay request or response"),
          FIELD(send, "at the relay that sends on the carrier"),
          FIELD(receive, "at the relay that receives"),
          FIELD(read,
                "for a chunk of application bytes at the relay that sends on a shared carrier, if "
                "its copy loops are threads of their own. Else `send` includes it."));

FIELDS_OF(
    MuxDirectionSpec,
    FIELD(maxFrame, "bytes", 1, 1 << 30, "most application bytes of a frame"),
    FIELD(sessionBuffer,
          "bytes",
          "the receiver stops reading at so many unread bytes of all streams; 0: it does not"),
    FIELD(streamWindow, "bytes", "bytes that a stream may send without credit; 0: no limit"),
    FIELD(firstStreamWindow, "bytes", "`streamWindow` before the first credit"),
    FIELD(sessionWindow, "bytes", "bytes that all streams may send without credit; 0: no limit"),
    FIELD(creditStep,
          "bytes",
          "bytes that are read of a stream, or of all, before that window gets credit"),
    FIELD(creditsFirstRead, "the first read of a stream gives credit, too"));

FIELDS_OF(
    MuxFramesSpec,
    FIELD(header, "bytes", 0, 65535, "of a frame of data"),
    FIELD(open, "bytes", 0, 65535, "frame that begins a stream"),
    FIELD(accept, "bytes", 0, 65535, "answer to it, which its sender waits for; 0: none"),
    FIELD(credit, "bytes", 0, 65535, "frame that lets the peer send more, on a stream or on all"),
    FIELD(close, "bytes", 0, 65535, "frame that ends a stream"));

FIELDS_OF(MuxSpec, FIELD(frames, "their sizes"), FIELD(sent, "what each end sends"));

FIELDS_OF(
    RelayDatagramSpec,
    FIELD(frame, "bytes", 0, 65535, "bytes in front of each datagram's payload on the carrier"),
    FIELD(separate, "these bytes are a write of their own"),
    FIELD(queue, "datagrams", "most datagrams that wait for the relay to read them"));

FIELDS_OF(
    HopSpec,
    FIELD(route, "1", "number of it in the experiment's list"),
    FIELD(cc, "congestion control of its carriers; no name: FlowSpec::carrierCc"),
    FIELD(under,
          "1",
          "datagram tunnel on the same route that carriers go through, by its number in the list"),
    FIELD(multipath, "of MPTCP, if carriers over TCP are of it, or of carriers over QUIC"));

FIELDS_OF(RelaySpec,
          FIELD(copyBuffer, "bytes", 1, 1 << 30, "bytes read at once and forwarded as one message"),
          FIELD(handshake, "bytes", 0, 1 << 20, "turns after the carrier's own handshake"),
          FIELD(confirms, "a server ends it once its connection to the next host is open"),
          FIELD(sent, "what is done with what each end sends"),
          FIELD(loopbackRtt, "ns", "RTT between an application and the relay on its host"),
          FIELD(mux, "flows with the same FlowSpec::carrier share one"),
          FIELD(early, "shared carriers are dialled at `start`, not by the first flow"),
          FIELD(start, "ns", "when the program dials, if `early`"),
          FIELD(hops, "from the client on"),
          FIELD(kcp, "carriers are sessions of KCP; none of the three: TCP"),
          FIELD(rudp, "carriers are connections of RUDP"),
          FIELD(quic, "carriers are connections of QUIC; each flow has a stream"),
          FIELD(sockets, "before each end of a carrier over UDP"),
          FIELD(udp, "how it carries datagrams"));

FIELDS_OF(
    TunnelQueueSpec,
    FIELD(queue, "packets", "most packets that wait; 0: no limit"),
    FIELD(release,
          "packets",
          "packets that have left before their room is free, in tunnels over QUIC; 0: each at "
          "once"));

FIELDS_OF(EcnSpec, FIELD(copied, "marks pass between inner and outer headers"));

FIELDS_OF(TunnelEndSpec,
          FIELD(device, "its queue"),
          FIELD(socket, "its queue"),
          FIELD(encapsulate, "cost of a packet that enters"),
          FIELD(decapsulate, "cost of a packet that leaves"),
          FIELD(sharesThread, "one thread serves both directions; else each has its own"));

FIELDS_OF(
    ReorderSpec,
    FIELD(size, "1", 1, 1 << 16, "numbers of packets, from the next one on, that it has room for"),
    FIELD(time,
          "ns",
          OrZero(1e5, 6e10),
          "it gives up packets for which others have waited so long; 0: 2.2 times the longest "
          "RTT that was measured over a route, with four times its variation"),
    FIELD(restarts,
          "each packet begins `time` anew, and packets leave as they came when it is over; "
          "else they leave in order, each by its own time"),
    FIELD(places,
          "1",
          0,
          1 << 16,
          "packets that have a place, late ones among them, which keep it until the buffer "
          "is emptied and then leave again; 0: late ones need none"));

FIELDS_OF(UplinksSpec,
          FIELD(routes, "1", "numbers of these"),
          FIELD(use, "how it uses the routes"),
          FIELD(turns, "WEIGHTS, MEASURED: how they take turns"),
          FIELD(weights,
                "1",
                1e-6,
                1e15,
                "WEIGHTS, MEASURED: of all routes, for what each end sends; MEASURED: the most, "
                "bytes/s"),
          FIELD(reorder, "none: packets leave as they come"),
          FIELD(interval,
                "ns",
                OrZero(1e6, 3.6e12),
                "time between probes over each route, and between decisions; 0: there are none"),
          FIELD(probe, "bytes", 0, 65535, "IP bytes of a probe and of its answer"),
          FIELD(failAfter, "1", "a route fails when its last answer is more intervals old"),
          FIELD(returnAfter, "1", "and works again when it is fewer intervals old"));

FIELDS_OF(DatagramTunnelSpec,
          FIELD(route, "1", "number of it in the experiment's list"),
          FIELD(end, "both ends"),
          FIELD(outer,
                "bytes",
                0,
                65535,
                "IP bytes of the packets that carry an inner packet, by its own IP bytes, up to "
                "the MTU. With FEC: of those that carry a shard, by its bytes."),
          FIELD(ecn, "marks of congestion"),
          FIELD(dontFragment, "of the packets that it sends"),
          FIELD(fec, "none: there is none"),
          FIELD(under, "the flow as which its packets go through another tunnel"),
          FIELD(uplinks, "more routes; none: there are none"));

FIELDS_OF(StreamTunnelSpec,
          FIELD(route, "1", "number of it in the experiment's list"),
          FIELD(end, "there is no UDP socket"),
          FIELD(writes,
                "bytes",
                0,
                1 << 20,
                "sizes of the writes for a packet, before `layers`, by its IP bytes"),
          FIELD(handshake, "bytes", 0, 1 << 20, "after the carrier's TCP handshake"),
          FIELD(layers, "around what each end sends, innermost first"),
          FIELD(start, "ns", "when it dials its carrier"),
          FIELD(carrierTcp, "settings of its carrier"),
          FIELD(carrierCc, "congestion control of its carrier"),
          FIELD(under, "the flow as which its carrier goes through another tunnel"),
          FIELD(multipath, "of MPTCP, if its carrier is of it"));

FIELDS_OF(QuicDatagramsSpec,
          FIELD(queue, "frames", 1, 1 << 20, "most frames that wait to be sent"),
          FIELD(blocks, "while they do, the program waits; else it drops packets"),
          FIELD(areAlone, "a packet has one frame at most, with its length"),
          FIELD(reserve,
                "bytes",
                0,
                1199,
                "what the largest payload of a frame is smaller than the UDP payload of a packet"),
          FIELD(header, "bytes", 0, 1199, "of a payload that are not of the packet inside"),
          FIELD(splits,
                "a packet that does not fit goes in several frames, each with the header; else it "
                "is dropped"));

FIELDS_OF(QuicTunnelSpec,
          FIELD(route, "1", "number of it in the experiment's list"),
          FIELD(end, "`socket` is the queue of frames that arrived"),
          FIELD(payloads, "bytes", 0, 65535, "payload of a frame, by the IP bytes of its packet"),
          FIELD(datagrams, "frames that wait to be sent"),
          FIELD(quic, "its carrier"),
          FIELD(sockets, "before each end of it"),
          FIELD(start, "ns", "when it dials its carrier"),
          FIELD(carrierCc, "congestion control of its carrier"),
          FIELD(under, "the flow as which its carrier goes through another tunnel"),
          FIELD(multipath, "of its carrier, if that has several paths"));

} // namespace tunnelcc
