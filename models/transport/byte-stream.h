/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_BYTE_STREAM_H
#define TUNNELCC_BYTE_STREAM_H

#include "send-limits.h"
#include "stream-user.h"

#include <cstdint>

namespace tunnelcc
{

/**
 * One end of a connection that carries bytes reliably and in order, as a program sees it through
 * its socket: TCP's, a socket of stock ns-3, or any other transport's. Bytes have no contents.
 */
class ByteStream
{
  public:
    virtual ~ByteStream() = default;

    /// \param user receives the events from now on; null: nobody
    void SetUser(StreamUser* user)
    {
        m_user = user;
    }

    /// Connect to the other end. StreamUser::OnOpen() follows.
    virtual void Connect(int64_t now) = 0;

    /// Write `bytes`. \returns how many the send buffer took; if fewer, StreamUser::OnWritable()
    ///          follows once there is room
    virtual uint64_t Write(int64_t now, uint64_t bytes) = 0;

    /// Continue a Write() that waited for room. The program blocked meanwhile, so it does not count
    /// as idle. \returns as Write()
    virtual uint64_t Resume(int64_t now, uint64_t bytes)
    {
        return Write(now, bytes);
    }

    /// Whether poll(2) says that the stream is writable. \returns as Write(): if it is not,
    ///          StreamUser::OnWritable() follows once it is
    virtual bool Poll(int64_t /* now */)
    {
        return true;
    }

    /// Tell why the program writes nothing now: it computes what it writes next, or a window of its
    /// own protocol is closed. This counts as the limit until it writes.
    virtual void NoteIdle(int64_t /* now */, SendLimit /* why */)
    {
    }

    /// Bytes that can be read now.
    virtual uint64_t Readable() const = 0;

    /// Read `bytes`, at most Readable().
    virtual void Read(int64_t now, uint64_t bytes) = 0;

    /// Read all that is readable. \returns how many bytes
    virtual uint64_t ReadAll(int64_t now)
    {
        const uint64_t bytes = Readable();
        Read(now, bytes);
        return bytes;
    }

    /// Whether the peer has closed and all that it wrote was read (end of file).
    virtual bool IsAtEof() const = 0;

    /// Close the stream for writing, after what was written. Reading may go on.
    virtual void Close(int64_t now) = 0;

  protected:
    StreamUser* m_user{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_BYTE_STREAM_H
