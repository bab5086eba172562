/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_H
#define TUNNELCC_PACKET_H

#include <cstdint>

namespace tunnelcc
{

class PacketSink;

/// What a packet is. A data packet may carry an ACK, too: see Packet::hasAck.
enum class PacketKind : uint8_t
{
    SYN,
    SYN_ACK,
    DATA,
    ACK,
    WINDOW_PROBE,
    DATAGRAM, //!< of cross traffic, or of a session that repairs loss itself
    FRAGMENT, //!< of a tunnel's packet that did not fit; the packet itself stands for the last one
    FEC       //!< a shard of a group of packets; see Packet::IsParity()
};

/// Selective acknowledgement: runs of segment numbers [begin, end), most recent first (RFC 2018).
/// Where the ACK reports a duplicate, the first run is that segment (RFC 2883).
struct SackBlocks
{
    static constexpr uint32_t MAX = 4;

    uint32_t begin[MAX];
    uint32_t end[MAX];
};

/**
 * What few packets carry, and a Packet has no room for: SACK blocks, the ACK that a data packet
 * carries, and what a router needs to know. It goes with its packet through every queue, in a queue
 * of its own.
 */
struct PacketExtras
{
    uint32_t ackNumber; //!< DATA: next segment expected, modulo 2^32
    uint32_t window;    //!< DATA: receive window, bytes
    uint32_t ackTsEcr;  //!< DATA: clock of the earliest segment that is newly acknowledged, ms
    SackBlocks blocks;  //!< ACK, DATA: as many as Packet::sackBlocks says
    uint32_t ipBytes;   //!< in transit: the packet's size
    PacketSink* sink;   //!< in transit: who receives it behind the last link
};

/**
 * A TCP packet under way. Data is numbered in segments, whose boundaries never change after the
 * first transmission, so that acknowledging segments says the same as acknowledging bytes.
 *
 * Members that share a place belong to packets of different kinds. TSval and TSecr are those of
 * RFC 7323, in milliseconds, as Linux's.
 */
struct Packet
{
    int64_t time;     //!< arrival at the far end, ns; set by the delay line
    PacketSink* sink; //!< where it is delivered

    union {
        uint32_t segment;   //!< DATA, DATAGRAM, FEC: its number, modulo 2^32
        uint32_t ackNumber; //!< ACK: next segment expected, modulo 2^32
        uint32_t synWindow; //!< SYN, SYN-ACK: receive window, bytes
    };

    union {
        uint32_t tsVal;      //!< SYN, SYN-ACK, DATA: sender's clock
        uint32_t window;     //!< ACK: receive window, bytes
        uint32_t shardGroup; //!< FEC: number of its group, modulo 2^32
    };

    union {
        uint32_t tsEcr; //!< ACK, SYN-ACK: clock of what it acknowledges; DATA: of the latest ACK
        uint32_t shardBytes;    //!< FEC: its size
        uint32_t datagramBytes; //!< DATAGRAM: its size, IP bytes, unless FEC joins them
    };

    union {
        uint16_t length;          //!< DATA: payload bytes
        uint16_t tsValLow;        //!< ACK: low half of TSval
        uint16_t shardPlace;      //!< FEC: place among the group's data or, with PARITY, its parity
        uint16_t datagramMessage; //!< DATAGRAM: what it is, as its protocol numbers messages
    };

    PacketKind kind : 3;
    uint8_t isEct : 1;       //!< DATA: may be marked instead of dropped (RFC 3168)
    uint8_t isL4s : 1;       //!< DATA: with ECT(1), by which L4S is known (RFC 9331)
    uint8_t isCe : 1;        //!< DATA: was marked on the way
    uint8_t isEce : 1;       //!< an ACK that echoes a mark
    uint8_t isCwr : 1;       //!< DATA: the sender has reduced its window
    uint8_t sackBlocks : 3;  //!< number of SACK blocks of its ACK
    uint8_t isDuplicate : 1; //!< the first SACK block is a D-SACK
    uint8_t isFin : 1;       //!< DATA: ends the stream
    uint8_t isPushed : 1;    //!< DATA: PSH, no more may follow soon
    uint8_t hasAck : 1;      //!< DATA: an ACK is in its header, and in its extras
    uint8_t isInTransit : 1; //!< the next to receive it is a router

    /// Whether its headers say anything of congestion.
    bool HasMarks() const
    {
        return isEct || isCe || isCwr;
    }

    static constexpr uint16_t PARITY = 0x8000; //!< of shardPlace

    /// FEC: whether it was computed from others.
    bool IsParity() const
    {
        return (shardPlace & PARITY) != 0;
    }

    /// Whether PacketExtras go with it.
    bool HasExtras() const
    {
        return sackBlocks > 0 || hasAck || isInTransit;
    }
};

static_assert(sizeof(Packet) == 32);

/// Receives the packets of one end of a connection.
class PacketSink
{
  public:
    virtual ~PacketSink() = default;

    /// \param now simulated time, ns
    /// \param packet the packet
    /// \param extras what goes with it, if Packet::HasExtras()
    virtual void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_H
