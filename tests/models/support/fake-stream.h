/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FAKE_STREAM_H
#define TUNNELCC_FAKE_STREAM_H

#include "transport/byte-stream.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// One end of a byte stream whose buffer and path the test controls.
class FakeStream final : public ByteStream
{
  public:
    uint64_t room{UINT64_MAX};    //!< bytes that Write() still takes
    std::vector<uint64_t> writes; //!< what it took
    uint64_t inFlight{0};         //!< bytes taken and not delivered
    bool isClosed{false};

    void Connect(int64_t now) override
    {
        m_user->OnOpen(now);
    }

    uint64_t Write(int64_t /* now */, uint64_t bytes) override
    {
        uint64_t taken = std::min(bytes, room);
        room -= taken;
        inFlight += taken;
        if (taken > 0)
        {
            writes.push_back(taken);
        }
        return taken;
    }

    uint64_t Readable() const override
    {
        return m_readable;
    }

    void Read(int64_t /* now */, uint64_t bytes) override
    {
        m_readable -= bytes;
    }

    bool IsAtEof() const override
    {
        return m_hasPeerClosed && m_readable == 0;
    }

    void Close(int64_t /* now */) override
    {
        isClosed = true;
    }

    /// Let `bytes` of those in flight arrive at `peer`, at `now` ns.
    void Deliver(FakeStream& peer, uint64_t bytes, int64_t now = 0)
    {
        inFlight -= bytes;
        peer.m_readable += bytes;
        peer.Tell(now);
    }

    /// Let all arrive, and the end, if this is closed.
    void DeliverAll(FakeStream& peer)
    {
        peer.m_hasPeerClosed = isClosed;
        Deliver(peer, inFlight);
    }

    /// Make room for `bytes` more, at `now` ns.
    void Drain(uint64_t bytes, int64_t now = 0)
    {
        room += bytes;
        if (m_user)
        {
            m_user->OnWritable(now);
        }
    }

  private:
    void Tell(int64_t now)
    {
        if (m_user)
        {
            m_user->OnReadable(now);
        }
    }

    uint64_t m_readable{0};
    bool m_hasPeerClosed{false};
};

/// Two ends of a stream.
struct FakeStreamPair
{
    FakeStream client;
    FakeStream server;

    void ToServer(uint64_t bytes)
    {
        client.Deliver(server, bytes);
    }

    void ToClient(uint64_t bytes)
    {
        server.Deliver(client, bytes);
    }
};

} // namespace tunnelcc

#endif // TUNNELCC_FAKE_STREAM_H
