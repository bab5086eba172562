/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_ACKNOWLEDGEMENT_H
#define TUNNELCC_ACKNOWLEDGEMENT_H

#include "path/packet.h"

#include <cstdint>

namespace tunnelcc
{

/// Clock of TCP timestamps, ms (as in Linux). \param now ns, not negative
constexpr uint32_t
TimestampClock(int64_t now)
{
    return static_cast<uint32_t>(static_cast<uint64_t>(now) / 1'000'000);
}

/// The fields of an ACK, which has a packet of its own or is in the header of a data packet.
struct Acknowledgement
{
    uint32_t number{0};                //!< next segment expected, modulo 2^32
    uint32_t window{0};                //!< receive window, bytes
    uint32_t tsVal{0};                 //!< timestamp of the end that sent it, ms (RFC 7323)
    uint32_t tsEcr{0};                 //!< the other end's timestamp, echoed, ms (RFC 7323)
    const SackBlocks* blocks{nullptr}; //!< SACK blocks; null: none
    uint32_t sackBlocks{0};            //!< number of SACK blocks
    bool isDuplicate{false};           //!< the first block is a D-SACK (RFC 2883)
    bool isEce{false};                 //!< echoes a mark (RFC 3168)

    /**
     * Put it into a packet.
     * \param packet ACK or DATA; its data stays as it is
     * \param extras are to go with the packet if Packet::HasExtras()
     */
    void WriteTo(Packet& packet, PacketExtras& extras) const
    {
        if (packet.kind == PacketKind::DATA)
        {
            packet.hasAck = true;
            extras.ackNumber = number;
            extras.window = window;
            extras.ackTsEcr = tsEcr;
        }
        else
        {
            packet.ackNumber = number;
            packet.window = window;
            packet.tsEcr = tsEcr;
            packet.tsValLow = static_cast<uint16_t>(tsVal);
        }
        packet.isEce = isEce;
        packet.isDuplicate = isDuplicate;
        packet.sackBlocks = sackBlocks & 7U; // its bits
        if (sackBlocks > 0)
        {
            extras.blocks = *blocks;
        }
    }

    /**
     * Read what a packet acknowledges.
     * \param now ns, less than a minute after the packet was sent
     * \param packet ACK, or DATA that has one
     * \param extras what goes with it
     */
    static Acknowledgement Of(int64_t now, const Packet& packet, const PacketExtras* extras)
    {
        Acknowledgement ack;
        if (packet.kind == PacketKind::DATA)
        {
            ack.number = extras->ackNumber;
            ack.window = extras->window;
            ack.tsVal = packet.tsVal;
            ack.tsEcr = extras->ackTsEcr;
        }
        else
        {
            const uint32_t clock = TimestampClock(now);
            ack.number = packet.ackNumber;
            ack.window = packet.window;
            ack.tsVal = clock - static_cast<uint16_t>(clock - packet.tsValLow);
            ack.tsEcr = packet.tsEcr;
        }
        ack.blocks = extras ? &extras->blocks : nullptr;
        ack.sackBlocks = packet.sackBlocks;
        ack.isDuplicate = packet.isDuplicate;
        ack.isEce = packet.isEce;
        return ack;
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_ACKNOWLEDGEMENT_H
