/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PACKET_H
#define TUNNELCC_PACKET_H

#include <cstdint>

namespace tunnelcc
{

class PacketSink;

/// What a packet is. A data packet may carry an ACK too: see Packet::ridesAlong.
enum class PacketKind : uint8_t
{
    SYN,
    SYN_ACK,
    DATA,
    ACK,
    WINDOW_PROBE,
    DATAGRAM,
    FRAGMENT //!< of a tunnel's packet that did not fit; the packet itself stands for the last one
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
 * A TCP packet under way. Data is numbered in segments, whose boundaries never change after the
 * first transmission, so that acknowledging segments says the same as acknowledging bytes.
 */
struct Packet
{
    int64_t time;       //!< arrival at the far end, ns; set by the delay line
    PacketSink* sink;   //!< who receives it
    uint32_t segment;   //!< DATA: its number; ACK: next number expected; both modulo 2^32; SYN:
                        //!< sender's clock, ms
    uint32_t window;    //!< ACK: receive window, bytes; DATA: echo of the receiver's clock, ms
    uint32_t timestamp; //!< DATA: sender's clock, ms; ACK, SYN-ACK: echo of it (RFC 7323)
    uint16_t length;    //!< DATA: payload bytes; ACK: low half of the sender's clock, ms
    PacketKind kind : 4;
    uint8_t isEct : 1;       //!< DATA: may be marked instead of dropped (RFC 3168)
    uint8_t isCe : 1;        //!< DATA: was marked on the way
    uint8_t isEce : 1;       //!< ACK: echoes a mark
    uint8_t isCwr : 1;       //!< DATA: the sender has reduced its window
    uint8_t sackBlocks : 3;  //!< ACK: how many blocks travel with it
    uint8_t isDuplicate : 1; //!< ACK: the first block is a D-SACK
    uint8_t isFin : 1;       //!< DATA: ends the stream
    uint8_t isPushed : 1;    //!< DATA: PSH, no more may follow soon
    uint8_t ridesAlong : 1;  //!< ACK: in the header of the data packet just before it
};

static_assert(sizeof(Packet) == 32);

/// Receives the packets of one end of a connection.
class PacketSink
{
  public:
    virtual ~PacketSink() = default;

    /// \param now simulated time, ns
    /// \param packet the packet
    /// \param blocks its selective acknowledgements, if Packet::sackBlocks is not 0
    virtual void Receive(int64_t now, const Packet& packet, const SackBlocks* blocks) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_PACKET_H
