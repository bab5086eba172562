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
    PerEnd<uint32_t> overhead{0, 0}; //!< of what an end sends: short header and AEAD tag
    uint32_t header{0};              //!< UDP and IP
    PerEnd<uint32_t> first{0, 0};    //!< largest packet that an end sends before the search
    uint32_t most{0};                //!< and the size that the search tries to reach
    uint32_t step{0};                //!< it ends when so little is left
    double wait{0};                  //!< before each of its probes, RTTs
    uint32_t mtu{0};                 //!< of the hosts, IP bytes; what is larger does not leave

    TUNNELCC_FIELDS(overhead, header, first, most, step, wait, mtu)
};

/// When packets are acknowledged (RFC 9000, section 13.2).
struct QuicAcksSpec
{
    uint32_t every{0};  //!< ack-eliciting packets after which an ACK leaves at once
    int64_t delay{0};   //!< max_ack_delay
    uint32_t ranges{0}; //!< of packet numbers in an ACK at most
    uint32_t alone{0}; //!< ACKs that leave without anything else before one asks for an ACK itself;
                       //!< 0: they never do

    TUNNELCC_FIELDS(every, delay, ranges, alone)
};

/// When packets count as lost (RFC 9002, section 6).
struct QuicLossSpec
{
    uint32_t packets{0};     //!< kPacketThreshold
    double time{0};          //!< kTimeThreshold, RTTs
    int64_t granularity{0};  //!< kGranularity
    int64_t firstTimeout{0}; //!< PTO before there is an RTT sample
    uint32_t persistent{0};  //!< kPersistentCongestionThreshold; 0: never established
    bool probedLose{false};  //!< what a PTO repeats is in flight no more; its loss is no congestion

    TUNNELCC_FIELDS(packets, time, granularity, firstTimeout, persistent, probedLose)
};

/// How packets are spread over time where the congestion control sets no rate, and bursts.
struct QuicPacingSpec
{
    double gain{0};         //!< times cwnd / srtt
    int64_t burst{0};       //!< most that leaves at once: what the rate is worth in this time …
    uint32_t packets{0};    //!< … or so many full packets, whichever is more
    int64_t least{0};       //!< pause between bursts
    bool countsAcks{false}; //!< packets with nothing but an ACK, which do not wait, count too

    TUNNELCC_FIELDS(gain, burst, packets, least, countsAcks)
};

/// The congestion window, in packets.
struct QuicWindowSpec
{
    uint32_t first{0};
    uint32_t most{0}; //!< 0: no limit

    TUNNELCC_FIELDS(first, most)
};

/// What Chromium's BBR has and Linux's has not.
struct QuicBbrSpec
{
    double startupWindow{0}; //!< window in start-up, BDP
    uint32_t lossEvents{0}; //!< start-up ends after a round with so many ACKs that told of losses …
    double lossShare{0};    //!< … of more than this part of what was in flight
    double leastRate{0};    //!< of pacing, bytes/s

    TUNNELCC_FIELDS(startupWindow, lossEvents, lossShare, leastRate)
};

/// What a receiver lets its peer send (RFC 9000, section 4).
struct QuicFlowSpec
{
    uint64_t first{0}; //!< window at first; 0: there is no limit
    uint64_t most{0};  //!< to which it is doubled, when it is used up within 4 RTTs
    double update{0};  //!< it is told anew once this part of it was read

    TUNNELCC_FIELDS(first, most, update)
};

/// How late an end that waits for packets reads one.
struct QuicThreadsSpec
{
    int64_t wakeDelay{0}; //!< in the mean; 0: at once
    int64_t wakeLeast{0}; //!< at least; the rest is exponentially distributed

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
    uint64_t sendBuffer{0}; //!< written and not acknowledged, of all streams; 0: a write lasts
                            //!< until it is in packets, but for the last one
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
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_SPEC_H
