/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-spec.h"

#include "fields.h"

namespace tunnelcc
{

NAMES_OF(FlowRole, "flow", "cross_traffic", "ping");

FIELDS_OF(
    DatagramSpec,
    FIELD(rate, "bit/s", OrZero(1, 1e12), "bit/s of IP bytes while sending"),
    FIELD(packet,
          "bytes",
          0,
          1 << 17,
          "IP bytes of each datagram but the last of those sent at once"),
    FIELD(full, "1", 0, 65535, "number of these"),
    FIELD(last, "bytes", 0, 1 << 17, "IP bytes of the last one, or only one"),
    FIELD(header, "bytes", 0, 65535, "IP bytes of a datagram that are no payload"),
    FIELD(on, "ns", OrZero(1e3, 1e15), "length of a period of sending; 0: sends all the time"),
    FIELD(off, "ns", "length of the silence after it"),
    FIELD(drawsPeriods, "these lengths are means of exponential distributions"),
    FIELD(drawsGaps, "so are the times between what is sent at once"),
    FIELD(answer, "bytes", 0, 1 << 17, "IP bytes of an answer to each datagram; 0: there is none"),
    FIELD(timeout,
          "ns",
          OrZero(1e3, 1e15),
          "when a request without an answer is sent again; 0: never"),
    FIELD(attempts, "1", "how often it is sent at most, with `timeout`"),
    FIELD(playout, "ns", "length of the receiver's playout buffer; 0: there is none"));

FIELDS_OF(
    FlowSpec,
    FIELD(route, "1", "its number"),
    FIELD(extraDelay,
          "ns",
          -1e15,
          1e15,
          "delay behind the route's last link of what each end sends; negative: less than the "
          "link's own"),
    FIELD(sender, "the end that sends the data"),
    FIELD(tunnel, "1", "number of the tunnel that it goes through; none: there is none"),
    FIELD(access, "of the tunnel"),
    FIELD(tcp, "1", "settings of TCP across the route, or inside a packet tunnel"),
    FIELD(appTcp, "1", "settings of application ↔ relay"),
    FIELD(targetTcp, "1", "settings of relay ↔ target"),
    FIELD(quic, "1", "settings of QUIC, if the applications' connection is of it"),
    FIELD(multipath, "of MPTCP, if the applications' connection is of it"),
    FIELD(appPerByte, "ns/byte", 0, 1e9, "CPU ns of the applications (one thread on each host)"),
    FIELD(sockets, "of applications over QUIC"),
    FIELD(cc, "congestion control of the connection of the applications"),
    FIELD(carrierCc, "congestion control of the tunnel's connection for this flow"),
    FIELD(carrier, "1", 0, 65535, "number of that connection in its tunnel, from 0 without gaps"),
    FIELD(start, "ns", "when the client connects"),
    FIELD(dataStart, "ns", "when bulk data begins; not before `start`"),
    FIELD(preamble, "bytes", 0, 1 << 30, "bytes written on connecting (iperf3's cookie)"),
    FIELD(stop, "ns", "when the application closes; 0: never"),
    FIELD(bytes, "bytes", "bulk bytes to send; 0: until the end"),
    FIELD(rate,
          "bit/s",
          OrZero(1, 1e12),
          "bit/s that the application writes at most; 0: as fast as it can"),
    FIELD(writeSize, "bytes", OrZero(1, 1 << 30), "bytes per application write"),
    FIELD(writes, "whether a write that found no room goes on, or the application writes again"),
    FIELD(datagrams, "over UDP, in place of a byte stream"),
    FIELD(role, "what it is for"));

} // namespace tunnelcc
