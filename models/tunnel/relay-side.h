/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_SIDE_H
#define TUNNELCC_RELAY_SIDE_H

#include "transport/send-limits.h"
#include "transport/stream-user.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * One of the two connections that a relay joins for a flow: a TCP socket, a carrier of the flow's
 * own, or a stream of a carrier that flows share. Application bytes go in and out in chunks, as
 * with a program's read() and write(); nothing else of the connection shows.
 */
class RelaySide
{
  public:
    /// Application bytes read at once.
    struct Chunk
    {
        uint32_t bytes{0}; //!< 0: nothing to be had yet
        double cost{0};    //!< CPU time of unwrapping them, ns
    };

    virtual ~RelaySide() = default;

    /// \param user whom to tell of events; comes before all other calls
    virtual void SetUser(StreamUser& user) = 0;

    /// The relay's CPU is at the bytes that Write() will get.
    virtual void OnComputing(int64_t /* now */)
    {
    }

    /// Whether another thread than the copy loop writes to the carrier. When it has written a
    /// chunk, the copy loop runs before it goes on.
    virtual bool HasWriter() const
    {
        return false;
    }

    /// Why this side waited instead of writing, and for how long, if it is a stream of a shared
    /// carrier: SendLimit::SEND_BUFFER is time in which it waited for the carrier. Else null.
    virtual const SendLimits* Limits() const
    {
        return nullptr;
    }

    /// Dial the other end. StreamUser::OnOpen() follows.
    virtual void Open(int64_t now) = 0;

    /// What lies behind this relay is open: say so to the end that dialled, if it waits for that.
    virtual void Accept(int64_t /* now */)
    {
    }

    /// Read at most `limit` application bytes.
    virtual Chunk Read(int64_t now, uint32_t limit) = 0;

    /// Whether the peer has closed and everything has been taken.
    virtual bool IsFinished() const = 0;

    /// Prepare to write a chunk. \returns CPU time of the copy loop on it, ns
    virtual double Prepare(uint32_t bytes) = 0;

    /// Write the chunk prepared, as far as it goes. \returns whether it is all written; if not,
    ///          StreamUser::OnWritable() follows
    virtual bool Write(int64_t now) = 0;

    /// Nothing more will be written.
    virtual void Close(int64_t now) = 0;
};

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_SIDE_H
