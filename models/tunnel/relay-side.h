/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_RELAY_SIDE_H
#define TUNNELCC_RELAY_SIDE_H

#include <cstdint>

namespace tunnelcc
{

/// Who joins two sides. Called from inside the event loop; `now` is in ns.
class RelaySideUser
{
  public:
    virtual ~RelaySideUser() = default;

    /// Bytes may go either way from now on.
    virtual void OnOpen(int64_t now) = 0;

    /// There may be something to take, or the peer has closed.
    virtual void OnReadable(int64_t now) = 0;

    /// Write() may go on.
    virtual void OnWritable(int64_t now) = 0;
};

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

    void SetUser(RelaySideUser& user)
    {
        m_user = &user;
    }

    /// The relay's CPU is at the bytes that Write() will get.
    virtual void OnComputing(int64_t /* now */)
    {
    }

    /// Dial the other end. RelaySideUser::OnOpen() follows.
    virtual void Open(int64_t now) = 0;

    /// What lies behind this relay is open: say so to the end that dialled, if it waits for that.
    virtual void Accept(int64_t /* now */)
    {
    }

    /// Read at most `limit` application bytes.
    virtual Chunk Read(int64_t now, uint32_t limit) = 0;

    /// Whether the peer has closed and everything has been taken.
    virtual bool IsFinished() const = 0;

    /// Prepare to write a chunk. \returns CPU time of wrapping it, ns
    virtual double Prepare(uint32_t bytes) = 0;

    /// Write the chunk prepared, as far as it goes. \returns whether it is all written; if not,
    ///          RelaySideUser::OnWritable() follows
    virtual bool Write(int64_t now) = 0;

    /// Nothing more will be written.
    virtual void Close(int64_t now) = 0;

  protected:
    RelaySideUser* m_user{nullptr};
};

} // namespace tunnelcc

#endif // TUNNELCC_RELAY_SIDE_H
