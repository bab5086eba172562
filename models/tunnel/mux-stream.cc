/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mux-stream.h"

#include "mux-session.h"

#include <algorithm>

namespace tunnelcc
{

MuxStream::MuxStream(MuxSession& session, uint32_t number)
    : m_session(session),
      m_number(number),
      m_prefix(session.m_prefix),
      m_window(session.m_out.streamWindow > 0 ? session.m_out.firstStreamWindow : UINT64_MAX)
{
}

void
MuxStream::Submit(int64_t now, MuxFrameKind kind, uint32_t size, uint32_t bytes)
{
    m_session.m_sender.Submit(now, {size, m_number, bytes, kind});
}

void
MuxStream::Open(int64_t now)
{
    m_session.Dial(now);
    if (m_session.m_carrier.IsOpen())
    {
        OnSessionOpen(now);
    }
    else
    {
        m_session.m_opening.Push(this);
    }
}

void
MuxStream::OnSessionOpen(int64_t now)
{
    Submit(now, MuxFrameKind::OPEN, m_session.m_spec.frames.open);
    if (m_session.m_spec.frames.accept == 0)
    {
        m_isOpen = true;
        m_limits.Set(now, SendLimit::APPLICATION);
        m_user->OnOpen(now);
    }
}

void
MuxStream::Accept(int64_t now)
{
    if (m_session.m_spec.frames.accept > 0)
    {
        Submit(now, MuxFrameKind::ACCEPT, m_session.m_spec.frames.accept);
    }
}

void
MuxStream::OnFrame(int64_t now, const MuxFrame& frame)
{
    switch (frame.kind)
    {
    case MuxFrameKind::OPEN:
    case MuxFrameKind::ACCEPT:
        m_isOpen = true;
        m_limits.Set(now, SendLimit::APPLICATION);
        m_user->OnOpen(now);
        break;
    case MuxFrameKind::DATA:
        m_unread += frame.bytes;
        m_user->OnReadable(now);
        break;
    case MuxFrameKind::CREDIT:
        if (frame.bytes > 0) // else it is the session's alone
        {
            OnCredit(now, frame.bytes);
        }
        break;
    case MuxFrameKind::CLOSE:
        m_hasPeerClosed = true;
        m_user->OnReadable(now);
        break;
    }
}

// Receiving -------------------------------------------------------------------------------------

RelaySide::Chunk
MuxStream::Read(int64_t now, uint32_t limit)
{
    auto bytes = static_cast<uint32_t>(std::min<uint64_t>(m_unread, limit));
    if (bytes > 0)
    {
        m_unread -= bytes;
        m_session.m_receiver.OnStreamRead(now, bytes);
        Credit(now, bytes);
    }
    return {bytes, 0};
}

void
MuxStream::Credit(int64_t now, uint32_t bytes)
{
    const MuxDirectionSpec& in = m_session.m_in;
    bool isFirst = !std::exchange(m_hasRead, true);
    uint64_t step = isFirst && in.creditsFirstRead ? 0 : in.creditStep;
    uint32_t own = in.streamWindow > 0 ? m_account.Take(bytes, step) : 0;
    uint32_t ofAll = in.sessionWindow > 0 ? m_session.m_account.Take(bytes, in.creditStep) : 0;
    uint32_t updates = (own > 0) + (ofAll > 0);
    if (updates > 0)
    {
        // Both leave together, as Go's http2 writes them.
        uint32_t size = updates * m_session.m_spec.frames.credit;
        m_session.m_sender.Submit(now, {size, m_number, own, MuxFrameKind::CREDIT, ofAll});
    }
}

bool
MuxStream::IsFinished() const
{
    return m_hasPeerClosed && m_unread == 0;
}

// Sending ---------------------------------------------------------------------------------------

double
MuxStream::Prepare(uint32_t bytes)
{
    m_left = bytes;
    return m_session.m_read.Of(bytes, 1); // the session's own thread wraps and writes
}

void
MuxStream::OnComputing(int64_t now)
{
    if (m_isOpen)
    {
        m_limits.Set(now, SendLimit::CPU);
    }
    if (m_session.m_sender.IsIdle())
    {
        m_session.m_carrier.NoteIdle(now, SendLimit::CPU);
    }
}

bool
MuxStream::Write(int64_t now)
{
    if (m_left > 0 && m_isOpen && m_waitsFor == WaitsFor::NOTHING)
    {
        SendNext(now);
    }
    return m_left == 0;
}

void
MuxStream::SendNext(int64_t now)
{
    uint64_t room = m_window - std::min(m_window, m_sent - m_credited);
    if (room == 0)
    {
        ++m_session.m_awaitingCredit;
        Await(now, WaitsFor::STREAM_WINDOW); // until OnCredit()
        return;
    }
    uint64_t most = std::min<uint64_t>({m_left, m_session.m_out.maxFrame, room});
    auto bytes = static_cast<uint32_t>(m_session.ConsumeWindow(*this, most));
    if (bytes == 0)
    {
        Await(now, WaitsFor::SESSION_WINDOW); // until the session goes on
        return;
    }
    m_waitsFor = WaitsFor::CARRIER; // until OnFrameWritten()
    m_limits.Set(now, SendLimit::SEND_BUFFER);
    m_sent += bytes;
    uint32_t size = m_session.m_spec.frames.header + m_prefix + bytes;
    m_prefix = 0;
    Submit(now, MuxFrameKind::DATA, size, bytes);
}

void
MuxStream::OnCredit(int64_t now, uint32_t bytes)
{
    m_credited += bytes;
    m_window = m_session.m_out.streamWindow;
    if (m_waitsFor == WaitsFor::STREAM_WINDOW)
    {
        --m_session.m_awaitingCredit;
        SendNext(now);
    }
}

void
MuxStream::Await(int64_t now, WaitsFor window)
{
    m_waitsFor = window;
    m_limits.Set(now,
                 window == WaitsFor::STREAM_WINDOW ? SendLimit::STREAM_WINDOW
                                                   : SendLimit::CONNECTION_WINDOW);
    if (m_session.m_sender.IsIdle())
    {
        m_session.OnIdle(now);
    }
}

void
MuxStream::OnFrameWritten(int64_t now, uint32_t bytes)
{
    m_waitsFor = WaitsFor::NOTHING;
    m_left -= bytes;
    m_limits.Set(now, SendLimit::APPLICATION);
    m_user->OnWritable(now);
}

void
MuxStream::Close(int64_t now)
{
    Submit(now, MuxFrameKind::CLOSE, m_session.m_spec.frames.close);
}

} // namespace tunnelcc
