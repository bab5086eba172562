/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-spec.h"

#include "fields.h"

namespace tunnelcc
{

NAMES_OF(ReceiveGrowth, "cushion", "out-of-order");

NAMES_OF(PrrSlowStart, "repair", "progress");

NAMES_OF(WriteMode, "nonblocking", "polled", "blocking");

FIELDS_OF(CongestionSpec,
          FIELD(name, "of the algorithm"),
          FIELD(parameters, "values that differ from the defaults"),
          FIELD(code, "hash of its source file; empty: it is part of this project"));

FIELDS_OF(
    TcpSpec,
    FIELD(mss, "bytes", 16, 65535, "payload bytes of a full segment"),
    FIELD(headerBytes, "bytes", 20, 1024, "IP + TCP headers of a segment and of a pure ACK"),
    FIELD(synBytes, "bytes", 20, 1024, "SYN and SYN-ACK, IP bytes without options of MPTCP"),
    FIELD(mappingBytes,
          "bytes",
          0,
          40,
          "of a subflow: bytes of these headers that a pure ACK has not (RFC 8684); 0: it is none"),
    FIELD(receiveWindow, "bytes", 1, 0x1p40, "largest window advertised"),
    FIELD(initialReceiveWindow,
          "bytes",
          0,
          0x1p40,
          "first window, then adjusted to what is read; 0: the largest"),
    FIELD(initialReceiveRoom,
          "bytes",
          0,
          0x1p40,
          "the first window grows to this as segments arrive"),
    FIELD(receiveGrowth, "how the window grows that is advertised"),
    FIELD(windowScale, "1", 0, 14, "RFC 7323: windows are told in units of 2^windowScale bytes"),
    FIELD(sendBuffer, "bytes", 1, 0x1p40, "memory that the send buffer has (sk_sndbuf)"),
    FIELD(sendBufferPerSegment,
          "bytes/segment",
          0,
          1e9,
          "the buffer grows with cwnd: bytes a segment, times the factor of the algorithm; 0: full "
          "size at once"),
    FIELD(bufferOverhead,
          "bytes",
          0,
          65535,
          "memory of each of the kernel's buffers (sk_buff) beside its payload"),
    FIELD(initialWindow, "segments", 1, 65535, "congestion window at first"),
    FIELD(synLinearTimeouts, "1", 0, 255, "time-outs of a SYN before they double"),
    FIELD(minRto, "ns", 1e3, 1e12, "least retransmission time-out"),
    FIELD(delayedAck, "ns", "least time that an ACK waits for a second segment"),
    FIELD(jiffy, "ns", "unit of the kernel's timers; 0: they are exact"),
    FIELD(ackEvery, "segments", 1, 65535, "segments per ACK"),
    FIELD(gro, "ns", "time in which the host merges segments that come in order; 0: it does not"),
    FIELD(pingPongAnswers, "1", "after so many writes in answer to data, ACKs wait for answers"),
    FIELD(pushedAcks, "once all is read, a full segment with PSH is acknowledged at once"),
    FIELD(pacingQuantum,
          "ns",
          "duration of a paced burst at the pacing rate; 0: a burst is a packet"),
    FIELD(
        tsoRttStep,
        "ns",
        "a burst has up to 64 KiB more, halved for each of these times in the least RTT; 0: none"),
    FIELD(tsoDeferralLimit,
          "ns",
          "new data waits to fill a burst while the next ACK is expected within this, and within "
          "half of SRTT"),
    FIELD(prrSlowStart, "when PRR grows as slow start does"),
    FIELD(nodelay, "TCP_NODELAY: no Nagle's rule"),
    FIELD(serverNodelay, "`nodelay` holds for the end that listens, too"),
    FIELD(writes, "how writes become segments"),
    FIELD(ecn, "data may be marked instead of dropped (RFC 3168)"),
    FIELD(mtuProbing,
          "1",
          0,
          2,
          "packetization layer path MTU discovery (RFC 4821): 0: none; 1: after a black hole; 2: "
          "always (Linux sysctl tcp_mtu_probing)"),
    FIELD(baseMss, "bytes", OrZero(16, 65535), "payload that it begins with"));

} // namespace tunnelcc
