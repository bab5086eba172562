/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_STREAM_USER_H
#define TUNNELCC_STREAM_USER_H

#include <cstdint>

namespace tunnelcc
{

/**
 * Receives the events of one end of a stream: of a socket, of a carrier's messages, or of one side
 * of a relay. All calls come from inside the event loop; `now` is in ns.
 */
class StreamUser
{
  public:
    virtual ~StreamUser() = default;

    /// The stream is open: the connection is established, and all handshakes are over, or wait for
    /// this user alone.
    virtual void OnOpen(int64_t now) = 0;

    /// There may be something to read, or the peer has closed.
    virtual void OnReadable(int64_t now) = 0;

    /// There is room again after a write that took less than was offered.
    virtual void OnWritable(int64_t now) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_STREAM_USER_H
