/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RUDP_MESSAGE_H
#define TUNNELCC_RUDP_MESSAGE_H

#include "event/sent-log.h"

#include <cstdint>

namespace tunnelcc
{

/// Kind of a datagram of RUDP, in Packet::datagramMessage. The comments tell its number.
enum class RudpMessage : uint16_t
{
    DATA,  //!< data; number of the packet (Packet::segment)
    ACKS,  //!< a list of ACKs; its index in the sender's log
    CLOSE, //!< end of the stream; number of packets before it
    PING,  //!< a ping; its number
    REPLY  //!< an answer; number of the ping that it answers
};

/// A list of ACKs: of numbers of packets.
struct RudpAcks : SentGroup
{
    uint32_t read{0}; //!< packets that the reader has taken
};

/// Lists of ACKs that one end of a connection has sent.
using RudpLog = SentLog<RudpAcks, uint32_t>;

} // namespace tunnelcc

#endif // TUNNELCC_RUDP_MESSAGE_H
