/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MUX_FRAME_H
#define TUNNELCC_MUX_FRAME_H

#include "event/fifo.h"
#include "experiment/experiment-spec.h"

#include <cstdint>

namespace tunnelcc
{

/// What a frame on a shared carrier is for.
enum class MuxFrameKind : uint8_t
{
    OPEN,   //!< a stream begins (smux SYN, HTTP/2 HEADERS, SSH CHANNEL_OPEN)
    ACCEPT, //!< answer to that, where there is one
    DATA,
    CREDIT, //!< the peer may send more (smux UPD, HTTP/2 WINDOW_UPDATE, SSH WINDOW_ADJUST)
    CLOSE   //!< no more data of the stream (smux FIN, HTTP/2 END_STREAM, SSH CHANNEL_EOF)
};

/// A frame inside a shared carrier's byte stream.
struct MuxFrame
{
    uint64_t end;    //!< carrier stream offset just past it
    uint32_t wire;   //!< carrier bytes it takes
    uint32_t size;   //!< its header and contents, before any layer
    uint32_t stream; //!< whose it is
    uint32_t bytes;  //!< DATA: application bytes; CREDIT: bytes more that the stream may send
    MuxFrameKind kind;
    uint16_t writes{0};       //!< in which it crosses
    uint32_t sessionBytes{0}; //!< CREDIT: bytes more that all streams may send

    /// CPU time (ns) that a relay spends on it; what is not data counts by its bytes alone.
    double Cost(const RelayWorkSpec& work) const
    {
        return kind == MuxFrameKind::DATA ? work.Of(wire, writes) : work.perByte * wire;
    }
};

/// Where frames lie in one direction of a shared carrier, as MessageLog.
using MuxFrameLog = Fifo<MuxFrame>;

} // namespace tunnelcc

#endif // TUNNELCC_MUX_FRAME_H
