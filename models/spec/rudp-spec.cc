/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rudp-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(RudpPacketsSpec,
          FIELD(data, "bytes", 1, 65535, "most payload of a packet"),
          FIELD(header, "bytes", 0, 1024, "IP bytes of a packet around its payload"),
          FIELD(window,
                "packets",
                1,
                1 << 20,
                "packets that may be sent before the peer has read the first of them"),
          FIELD(doubled, "packets", "number of first packets of a connection that are sent twice"),
          FIELD(close, "bytes", 0, 65535, "IP bytes of the packet that ends a connection"));

FIELDS_OF(RudpAcksSpec,
          FIELD(interval, "ns", 1e6, 6e10, "time between lists"),
          FIELD(most, "1", 1, 65535, "most numbers in a list"),
          FIELD(header, "bytes", 0, 1024, "IP bytes of a list beside its numbers"),
          FIELD(number, "bytes", 1, 1024, "bytes of a number"));

FIELDS_OF(RudpResendsSpec,
          FIELD(extra, "1", 0, 1e3, "it waits for the latest ping's RTT and this part of it more"),
          FIELD(least, "ns", 1e6, 6e10, "least time that it waits"),
          FIELD(most, "1", "most times that a packet is sent again"));

FIELDS_OF(
    RudpPingsSpec,
    FIELD(bytes, "bytes", 0, 65535, "IP bytes of a ping"),
    FIELD(reply, "bytes", 0, 65535, "IP bytes of its answer"),
    FIELD(interval,
          "ns",
          1e6,
          6e10,
          "time between the moments at which an end sends a ping, if the last one is older than "
          "this"),
    FIELD(limit, "ns", 1e6, 1e13, "without an answer for this time, an end closes all connections"),
    FIELD(first, "ns", 1e3, 6e10, "RTT that is assumed before the first answer"));

FIELDS_OF(RudpSpec,
          FIELD(packets, "of data"),
          FIELD(acks, "lists of what arrived"),
          FIELD(rate, "bytes/s", 1, 1e11, "payload that an end sends in all, bytes/s"),
          FIELD(firstRate,
                "bytes/s",
                OrZero(1, 1e11),
                "the rate before the peer's first ping; 0: as `rate`"),
          FIELD(burst, "bytes", 1, 1 << 30, "payload after which an end sleeps"),
          FIELD(resends, "what is sent again"),
          FIELD(pings, "which measure the RTT"),
          FIELD(wakeDelay, "ns", "mean time by which a thread sleeps too long"));

} // namespace tunnelcc
