/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_PLAIN_SIDE_H
#define TUNNELCC_PLAIN_SIDE_H

#include "relay-side.h"
#include "transport/byte-stream.h"

#include <algorithm>

namespace tunnelcc
{

/// A relay's socket towards an application: bytes as they are.
class PlainSide final : public RelaySide
{
  public:
    explicit PlainSide(ByteStream& socket)
        : m_socket(socket)
    {
    }

    void SetUser(StreamUser& user) override
    {
        m_socket.SetUser(&user);
    }

    void Open(int64_t now) override
    {
        m_socket.Connect(now);
    }

    Chunk Read(int64_t now, uint32_t limit) override
    {
        auto bytes = static_cast<uint32_t>(std::min<uint64_t>(m_socket.Readable(), limit));
        if (bytes > 0)
        {
            m_socket.Read(now, bytes);
        }
        return {bytes, 0};
    }

    bool IsFinished() const override
    {
        return m_socket.IsAtEof();
    }

    double Prepare(uint32_t bytes) override
    {
        m_left = bytes;
        return 0;
    }

    void OnComputing(int64_t now) override
    {
        m_socket.NoteIdle(now, SendLimit::CPU);
    }

    bool Write(int64_t now) override
    {
        m_left -= m_socket.Write(now, m_left);
        return m_left == 0;
    }

    void Close(int64_t now) override
    {
        m_socket.Close(now);
    }

  private:
    ByteStream& m_socket;
    uint64_t m_left{0}; //!< bytes of the chunk still to be written
};

} // namespace tunnelcc

#endif // TUNNELCC_PLAIN_SIDE_H
