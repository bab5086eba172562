/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-stream.h"

#include "quic-connection.h"

namespace tunnelcc
{

QuicStream::QuicStream(QuicConnection& connection, uint32_t number, const QuicFlowSpec& window)
    : m_connection(connection),
      m_sending(number, FlowWindow(window).Limit()),
      m_receiving(window)
{
}

void
QuicStream::Connect(int64_t now)
{
    m_connects = true;
    if (m_connection.IsOpen())
    {
        Open(now);
    }
    else
    {
        m_connection.Connect(now);
    }
}

void
QuicStream::Open(int64_t now)
{
    if (!m_isOpen)
    {
        m_isOpen = true;
        if (m_user)
        {
            m_user->OnOpen(now);
        }
    }
}

uint64_t
QuicStream::Write(int64_t now, uint64_t bytes)
{
    const uint64_t taken = std::min(bytes, m_connection.RoomFor(m_sending.Unsent()));
    m_isBlocked = taken < bytes;
    if (m_isBlocked)
    {
        m_connection.OnBlocked(*this);
    }
    if (taken > 0)
    {
        m_sending.Write(taken, m_connection.IsApart(m_sending.Unsent(), taken));
        m_connection.OnWritten(now, *this, taken);
    }
    return taken;
}

void
QuicStream::WakeWriter(int64_t now)
{
    if (m_isBlocked && m_user && m_connection.RoomFor(m_sending.Unsent()) > 0)
    {
        m_isBlocked = false;
        m_user->OnWritable(now);
    }
}

void
QuicStream::NoteIdle(int64_t now, SendLimit why)
{
    m_connection.NoteIdle(now, why);
}

void
QuicStream::Read(int64_t now, uint64_t bytes)
{
    m_receiving.Window().Read(now, bytes);
    m_connection.OnRead(now, *this, bytes);
}

void
QuicStream::Close(int64_t now)
{
    m_sending.Close();
    m_connection.OnWritten(now, *this, 0);
}

} // namespace tunnelcc
