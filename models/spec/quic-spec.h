/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_SPEC_H
#define TUNNELCC_QUIC_SPEC_H

#include "end.h"
#include "fields.h"

#include <cstdint>
#include <optional>
#include <vector>

/**
 * \file
 * QUIC (RFC 9000, RFC 9002). Times in ns, sizes in bytes; a packet's size is its UDP payload.
 */
namespace tunnelcc
{

/// Sizes of packets, and the search for larger ones (RFC 8899).
struct QuicPacketsSpec
{
    PerEnd<uint32_t> overhead{0, 0}; //!< short header and AEAD tag of a packet, by its sender
    uint32_t header{0};              //!< UDP and IP headers
    PerEnd<uint32_t> first{0, 0};    //!< largest packet that an end sends before the search
    uint32_t most{0};                //!< largest packet that the search tries
    uint32_t step{0};                //!< the search ends when the sizes left differ by less
    double wait{0};                  //!< pause before each probe of the search, RTTs
    uint32_t mtu{0};                 //!< MTU of the hosts, IP bytes; larger packets are not sent

    TUNNELCC_FIELDS(overhead, header, first, most, step, wait, mtu)
    TUNNELCC_RANGES({"overhead", 0, 1024},
                    {"header", 0, 1024},
                    {"first", 64, 65535},
                    {"most", 64, 65535},
                    {"step", 0, 65535},
                    {"wait", 0, 1e6},
                    {"mtu", 64, 65535});
};

/// When packets are acknowledged (RFC 9000, section 13.2).
struct QuicAcksSpec
{
    uint32_t every{0};  //!< ack-eliciting packets after which an ACK leaves at once
    int64_t delay{0};   //!< max_ack_delay
    uint32_t ranges{0}; //!< most ranges of packet numbers in an ACK
    uint32_t alone{0};  //!< after so many packets with nothing but an ACK, the next one asks for an
                        //!< ACK itself; 0: none does

    TUNNELCC_FIELDS(every, delay, ranges, alone)
    TUNNELCC_RANGES({"every", 1, 65535}, {"ranges", 1, 65535});
};

/// When packets count as lost (RFC 9002, section 6).
struct QuicLossSpec
{
    uint32_t packets{0};     //!< kPacketThreshold
    double time{0};          //!< kTimeThreshold, RTTs
    int64_t granularity{0};  //!< kGranularity
    int64_t firstTimeout{0}; //!< PTO before there is an RTT sample
    uint32_t persistent{0};  //!< kPersistentCongestionThreshold; 0: never established
    bool probedLose{false};  //!< data that a PTO repeats counts as no longer in flight; its loss is
                             //!< no sign of congestion

    TUNNELCC_FIELDS(packets, time, granularity, firstTimeout, persistent, probedLose)
    TUNNELCC_RANGES({"packets", 1, 65535},
                    {"time", 0, 1e3},
                    {"granularity", 1e3, 1e12},
                    {"firstTimeout", 1e6, 1e12});
};

/// Pacing where the congestion control sets no rate, and the length of bursts.
struct QuicPacingSpec
{
    double gain{0};         //!< pacing rate, as a multiple of cwnd / srtt
    int64_t burst{0};       //!< longest burst: what is sent in this time at the rate …
    uint32_t packets{0};    //!< … or so many full packets, whichever is more
    int64_t least{0};       //!< least pause between bursts
    bool countsAcks{false}; //!< packets with nothing but an ACK, which are not paced, take tokens

    TUNNELCC_FIELDS(gain, burst, packets, least, countsAcks)
    TUNNELCC_RANGES({"gain", 1e-3, 1e3}, {"packets", 1, 65535});
};

/// The congestion window, in packets.
struct QuicWindowSpec
{
    uint32_t first{0};
    uint32_t most{0}; //!< 0: no limit

    TUNNELCC_FIELDS(first, most)
    TUNNELCC_RANGES({"first", 1, 1 << 20});
};

/// Constants of Chromium's BBR that Linux's has not.
struct QuicBbrSpec
{
    double startupWindow{0}; //!< window in start-up, BDP
    uint32_t lossEvents{0}; //!< start-up ends after a round with so many ACKs that told of losses …
    double lossShare{0};    //!< … of more than this part of what was in flight
    double leastRate{0};    //!< least pacing rate, bytes/s

    TUNNELCC_FIELDS(startupWindow, lossEvents, lossShare, leastRate)
    TUNNELCC_RANGES({"startupWindow", 0, 1e3}, {"lossShare", 0, 1}, {"leastRate", 0, 1e12});
};

/// Flow control by a receiver (RFC 9000, section 4).
struct QuicFlowSpec
{
    uint64_t first{0}; //!< window at first; 0: there is no limit
    uint64_t most{0};  //!< largest window; it doubles when it is used up within 4 RTTs
    double update{0};  //!< a new limit is sent once this part of the window was read

    TUNNELCC_FIELDS(first, most, update)
    TUNNELCC_RANGES({"first", 1, 0x1p60, true}, {"update", 0, 1});
};

/// The delay until a waiting thread reads a packet that has arrived.
struct QuicThreadsSpec
{
    int64_t wakeDelay{0}; //!< mean; 0: no delay
    int64_t wakeLeast{0}; //!< least delay; the rest is exponentially distributed

    TUNNELCC_FIELDS(wakeDelay, wakeLeast)
};

/// A QUIC connection.
struct QuicSpec
{
    QuicPacketsSpec packets;
    QuicAcksSpec acks;
    QuicLossSpec loss;
    QuicPacingSpec pacing;
    QuicWindowSpec window;
    std::optional<QuicBbrSpec> bbr; //!< none: the algorithm "bbr" is Linux's
    QuicFlowSpec stream;
    QuicFlowSpec connection;
    QuicThreadsSpec threads;
    uint64_t sendBuffer{0}; //!< bytes of all streams that may be written and not acknowledged; 0: a
                            //!< write lasts until all but its last packet are sent
    bool isOneFrame{false}; //!< a packet has one frame of a stream, and a frame data of one write
    /// Turns: sizes of the packets of the client, then of the server, which has no last one.
    std::vector<PerEnd<std::vector<uint32_t>>> handshake;

    TUNNELCC_FIELDS(packets,
                    acks,
                    loss,
                    pacing,
                    window,
                    bbr,
                    stream,
                    connection,
                    threads,
                    sendBuffer,
                    isOneFrame,
                    handshake)
    TUNNELCC_RANGES({"handshake", 0, 65535});
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_SPEC_H
