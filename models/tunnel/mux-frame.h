/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_MUX_FRAME_H
#define TUNNELCC_MUX_FRAME_H

#include "message-stream.h"

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

/// A frame on a shared carrier.
struct MuxFrame
{
    uint32_t size{0};   //!< its header and contents, before any layer
    uint32_t stream{0}; //!< number of its stream
    uint32_t bytes{0};  //!< DATA: application bytes; CREDIT: bytes more that the stream may send
    MuxFrameKind kind{MuxFrameKind::DATA};
    uint32_t sessionBytes{0}; //!< CREDIT: bytes more that all streams may send
};

/// One end of a shared carrier's byte stream.
using MuxCarrier = MessageStream<MuxFrame>;

/// Frames under way in a shared carrier.
using MuxLogs = PerEnd<MessageLog<MuxFrame>>;

/// Receives the events of a shared carrier: its sending and its receiving half tell one user.
class MuxFrameUser
{
  public:
    virtual ~MuxFrameUser() = default;

    /// The carrier has taken a frame of data as a whole. \param now ns
    virtual void OnFrameWritten(int64_t now, const MuxFrame& frame) = 0;

    /// There are no more frames to send. \param now ns
    virtual void OnIdle(int64_t now) = 0;

    /// A frame has arrived as a whole. \param now ns
    virtual void OnFrame(int64_t now, const MuxFrame& frame) = 0;
};

/// CPU time (ns) that a relay spends on a frame; what is not data counts by its bytes alone.
inline double
CostOf(const Message<MuxFrame>& frame, const RelayWorkSpec& work)
{
    return frame.content.kind == MuxFrameKind::DATA ? work.Of(frame.wire, frame.writes)
                                                    : work.perByte * frame.wire;
}

} // namespace tunnelcc

#endif // TUNNELCC_MUX_FRAME_H
