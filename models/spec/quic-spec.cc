/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-spec.h"

#include "fields.h"

namespace tunnelcc
{

FIELDS_OF(QuicPacketsSpec,
          FIELD(overhead, "bytes", 0, 1024, "short header and AEAD tag of a packet, by its sender"),
          FIELD(header, "bytes", 0, 1024, "UDP and IP headers"),
          FIELD(first, "bytes", 64, 65535, "largest packet that an end sends before the search"),
          FIELD(most, "bytes", 64, 65535, "largest packet that the search tries"),
          FIELD(step, "bytes", 0, 65535, "the search ends when the sizes left differ by less"),
          FIELD(wait, "RTTs", 0, 1e6, "pause before each probe of the search, RTTs"),
          FIELD(mtu, "bytes", 64, 65535, "MTU of the hosts, IP bytes; larger packets are not sent"),
          FIELD(pathId, "bytes", 0, 20, "length of connection IDs of further paths"));

FIELDS_OF(
    QuicAcksSpec,
    FIELD(every, "packets", 1, 65535, "ack-eliciting packets after which an ACK leaves at once"),
    FIELD(delay, "ns", "max_ack_delay"),
    FIELD(ranges, "1", 1, 65535, "most ranges of packet numbers in an ACK"),
    FIELD(alone,
          "packets",
          "after so many packets with nothing but an ACK, the next one asks for an ACK itself; 0: "
          "none does"));

FIELDS_OF(QuicLossSpec,
          FIELD(packets, "packets", 1, 65535, "kPacketThreshold"),
          FIELD(time, "RTTs", 0, 1e3, "kTimeThreshold, RTTs"),
          FIELD(granularity, "ns", 1e3, 1e12, "kGranularity"),
          FIELD(firstTimeout, "ns", 1e6, 1e12, "PTO before there is an RTT sample"),
          FIELD(persistent, "1", "kPersistentCongestionThreshold; 0: never established"),
          FIELD(probedLose,
                "data that a PTO repeats counts as no longer in flight; its loss is no sign of "
                "congestion"));

FIELDS_OF(QuicPacingSpec,
          FIELD(gain, "1", 1e-3, 1e3, "pacing rate, as a multiple of cwnd / srtt"),
          FIELD(burst, "ns", "longest burst: what is sent in this time at the rate …"),
          FIELD(packets, "packets", 1, 65535, "… or so many full packets, whichever is more"),
          FIELD(least, "ns", "least pause between bursts"),
          FIELD(countsAcks, "packets with nothing but an ACK, which are not paced, take tokens"));

FIELDS_OF(QuicWindowSpec,
          FIELD(first, "packets", 1, 1 << 20, "the congestion window at first"),
          FIELD(most, "packets", "the largest one; 0: no limit"));

FIELDS_OF(QuicBbrSpec,
          FIELD(startupWindow, "BDP", 0, 1e3, "window in start-up, BDP"),
          FIELD(lossEvents,
                "1",
                "start-up ends after a round with so many ACKs that told of losses …"),
          FIELD(lossShare, "1", 0, 1, "… of more than this part of what was in flight"),
          FIELD(leastRate, "bytes/s", 0, 1e12, "least pacing rate, bytes/s"));

FIELDS_OF(QuicFlowSpec,
          FIELD(first, "bytes", OrZero(1, 0x1p60), "window at first; 0: there is no limit"),
          FIELD(most, "bytes", "largest window; it doubles when it is used up within 4 RTTs"),
          FIELD(update, "1", 0, 1, "a new limit is sent once this part of the window was read"));

FIELDS_OF(QuicThreadsSpec,
          FIELD(wakeDelay, "ns", "mean delay of a wake-up; 0: none"),
          FIELD(wakeLeast, "ns", "least delay; the rest is exponentially distributed"));

FIELDS_OF(
    QuicSpec,
    FIELD(packets, "sizes of packets"),
    FIELD(acks, "when it acknowledges"),
    FIELD(loss, "how it finds loss (RFC 9002)"),
    FIELD(pacing, "how it spreads packets"),
    FIELD(window, "the congestion window"),
    FIELD(bbr, "none: the algorithm \"bbr\" is Linux's"),
    FIELD(stream, "flow control of a stream"),
    FIELD(connection, "flow control of the connection"),
    FIELD(threads, "when its threads run"),
    FIELD(sendBuffer,
          "bytes",
          "bytes of all streams that may be written and not acknowledged; 0: a write lasts until "
          "all but its last packet are sent"),
    FIELD(isOneFrame, "a packet has one frame of a stream, and a frame data of one write"),
    FIELD(handshake,
          "bytes",
          0,
          65535,
          "turns: sizes of the packets of the client, then of the server, which has no last one"));

} // namespace tunnelcc
