/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_KCP_DATAGRAM_H
#define TUNNELCC_KCP_DATAGRAM_H

#include "event/sent-log.h"

#include <cstdint>

namespace tunnelcc
{

/// What a KCP segment is for.
enum class KcpCommand : uint8_t
{
    PUSH,       //!< data
    ACK,        //!< acknowledges one segment
    WINDOW_ASK, //!< asks for the peer's window
    WINDOW_TELL
};

/// A KCP segment. In the protocol its header also has the fields of KcpDatagram.
struct KcpSegment
{
    static constexpr uint32_t HEADER_BYTES = 24; //!< IKCP_OVERHEAD

    uint32_t number{0}; //!< PUSH, ACK: number of the data segment
    uint32_t time{0};   //!< PUSH: sender's clock, ms; ACK: the time of the segment acknowledged
    uint16_t length{0}; //!< PUSH: bytes of data
    KcpCommand command{KcpCommand::PUSH};
};

/// A datagram: its segments, and the fields that their headers share.
struct KcpDatagram : SentGroup
{
    uint32_t una{0};    //!< all numbers before it have arrived
    uint32_t window{0}; //!< receive window, segments
};

/// Datagrams that one end of a session has sent.
using KcpLog = SentLog<KcpDatagram, KcpSegment>;

} // namespace tunnelcc

#endif // TUNNELCC_KCP_DATAGRAM_H
