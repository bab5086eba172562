/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_H
#define TUNNELCC_PACKET_H

#include <cstdint>

namespace tunnelcc
{

class PacketSink;

/// The kind of a packet. A data packet may also carry an ACK, see Packet::hasAck.
enum class PacketKind : uint8_t
{
    SYN,
    SYN_ACK,
    DATA,
    ACK,
    WINDOW_PROBE,
    DATAGRAM, //!< of UDP: cross traffic, KCP, RUDP, QUIC
    FRAGMENT, //!< of a tunnel's packet that is too large, all but the last, which is the packet
              //!< itself
    FEC       //!< a shard of a group of packets, see Packet::IsParity()
};

/// SACK blocks: runs of segment numbers [begin, end), the most recent first (RFC 2018). If the ACK
/// reports a duplicate (D-SACK), the first block is that segment (RFC 2883).
struct SackBlocks
{
    static constexpr uint32_t MAX = 4;

    uint32_t begin[MAX];
    uint32_t end[MAX];
};

/**
 * Parts that few packets have, so that a Packet has no room for them: SACK blocks, the ACK of a
 * data packet, and routing information. They go with their packet through every queue, in a second
 * queue.
 */
struct PacketExtras
{
    uint32_t ackNumber; //!< DATA: next segment expected, modulo 2^32
    uint32_t window;    //!< DATA: receive window, bytes
    uint32_t ackTsEcr;  //!< DATA: TSecr of its ACK, ms
    uint32_t dataAck;   //!< of a subflow: next byte of the connection expected, modulo 2^32
    SackBlocks blocks;  //!< ACK, DATA: as many as Packet::sackBlocks says
    uint32_t ipBytes;   //!< routing: the packet's size, bytes
    PacketSink* sink;   //!< routing: the receiver behind the last link
};

/// The kind of a packet, and its bits. Apart from the rest, so that they can be written at once.
struct PacketBits
{
    PacketKind kind : 3;
    uint8_t isEct : 1;       //!< DATA: ECT, may be marked instead of dropped (RFC 3168)
    uint8_t isL4s : 1;       //!< DATA: ECT(1), the sign of L4S (RFC 9331)
    uint8_t isCe : 1;        //!< DATA: CE, it was marked on the path
    uint8_t isEce : 1;       //!< ACK: ECE, it echoes a mark
    uint8_t isCwr : 1;       //!< DATA: CWR, the sender has reduced its window
    uint8_t sackBlocks : 3;  //!< number of SACK blocks in its ACK
    uint8_t isDuplicate : 1; //!< the first SACK block is a D-SACK
    uint8_t isFin : 1;       //!< DATA: FIN, it ends the stream
    uint8_t isPushed : 1;    //!< DATA: PSH, more data may not follow soon
    uint8_t hasAck : 1;      //!< DATA: it carries an ACK, which is in its extras; ACK: it is of a
                             //!< subflow, and carries a data ACK there
    uint8_t isInTransit : 1; //!< it goes to a router next
};

static_assert(sizeof(PacketBits) == 2);

/**
 * A packet on the path. Data are numbered in segments, not in bytes: the boundaries of a segment
 * never change after its first transmission, so both numbers say the same.
 *
 * Members of a union belong to packets of different kinds; the comments name the kinds. TSval and
 * TSecr are those of RFC 7323, in milliseconds, as in Linux.
 */
struct Packet : PacketBits
{
    union {
        uint16_t length;          //!< DATA: payload bytes
        uint16_t tsValLow;        //!< ACK: low half of TSval
        uint16_t shardPlace;      //!< FEC: place among the group's data shards, or with PARITY set,
                                  //!< among its parity
        uint16_t datagramMessage; //!< DATAGRAM: kind of its message, a number of its protocol
    };

    union {
        uint32_t segment;   //!< DATA, DATAGRAM, FEC: its number, modulo 2^32
        uint32_t ackNumber; //!< ACK: next segment expected, modulo 2^32
        uint32_t synWindow; //!< SYN, SYN-ACK: receive window, bytes
    };

    int64_t time;     //!< time of arrival at the far end, ns; the delay line sets it
    PacketSink* sink; //!< the receiver

    union {
        uint32_t tsVal;      //!< SYN, SYN-ACK, DATA: TSval, ms; DATAGRAM: see SentAt()
        uint32_t window;     //!< ACK: receive window, bytes
        uint32_t shardGroup; //!< FEC: number of its group, modulo 2^32
    };

    union {
        uint32_t tsEcr;         //!< ACK, SYN-ACK, DATA: TSecr, ms
        uint32_t shardBytes;    //!< FEC: size of the shard, bytes
        uint32_t datagramBytes; //!< DATAGRAM: its size, IP bytes, unless FEC joins them
    };

    /// Whether its headers have ECN bits set.
    bool HasMarks() const
    {
        return isEct || isCe || isCwr;
    }

    static constexpr uint16_t PARITY = 0x8000; //!< bit of shardPlace

    /// FEC: whether the shard is parity.
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
    /// \param extras its extras, if Packet::HasExtras()
    virtual void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) = 0;

    /// The receiver that this one hands packets to, if it stands in front of it; else null.
    virtual const PacketSink* StandsFor() const
    {
        return nullptr;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_H
