/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mux-session.h"

#include <algorithm>

namespace tunnelcc
{

MuxSession::MuxSession(const RelaySpec& spec, End end, ByteStream& carrier, Cpu& cpu, MuxLogs& logs)
    : m_spec(*spec.mux),
      m_out(m_spec.sent[end]),
      m_in(m_spec.sent[Other(end)]),
      m_read(spec.sent[end].read),
      m_prefix(spec.sent[end].prefix),
      m_carrier(carrier, end, {spec.handshake, spec.sent[end].layers}, logs),
      m_sender(*this, m_carrier, spec.sent[end].send, cpu),
      m_receiver(*this, m_carrier, m_in.sessionBuffer, spec.sent[Other(end)].receive, cpu),
      m_window(m_out.sessionWindow > 0 ? m_out.sessionWindow : UINT64_MAX)
{
    m_carrier.SetUser(*this);
}

std::unique_ptr<MuxStream>
MuxSession::AddStream()
{
    auto stream = std::make_unique<MuxStream>(*this, static_cast<uint32_t>(m_streams.size()));
    m_streams.push_back(stream.get());
    return stream;
}

void
MuxSession::Dial(int64_t now)
{
    if (!m_hasDialled)
    {
        m_hasDialled = true;
        m_carrier.Connect(now);
    }
}

void
MuxSession::OnOpen(int64_t now)
{
    for (; !m_opening.IsEmpty(); m_opening.Pop())
    {
        m_opening.Front()->OnSessionOpen(now);
    }
}

void
MuxSession::OnReadable(int64_t now)
{
    m_receiver.OnReadable(now);
}

void
MuxSession::OnWritable(int64_t now)
{
    m_sender.OnWritable(now);
}

void
MuxSession::OnFrameWritten(int64_t now, const MuxFrame& frame)
{
    m_streams[frame.stream]->OnFrameWritten(now, frame.bytes);
}

void
MuxSession::OnIdle(int64_t now)
{
    if (!m_blocked.IsEmpty())
    {
        m_carrier.NoteIdle(now, SendLimit::CONNECTION_WINDOW);
    }
    else if (m_awaitingCredit > 0)
    {
        m_carrier.NoteIdle(now, SendLimit::STREAM_WINDOW);
    }
}

void
MuxSession::OnFrame(int64_t now, const MuxFrame& frame)
{
    if (frame.sessionBytes > 0)
    {
        AddWindow(now, frame.sessionBytes);
    }
    m_streams[frame.stream]->OnFrame(now, frame);
}

uint64_t
MuxSession::ConsumeWindow(MuxStream& stream, uint64_t bytes)
{
    if (m_out.sessionWindow == 0)
    {
        return bytes;
    }
    uint64_t taken = std::min(bytes, m_window);
    m_window -= taken;
    if (taken == 0)
    {
        m_blocked.Push(&stream);
    }
    return taken;
}

void
MuxSession::AddWindow(int64_t now, uint64_t bytes)
{
    m_window += bytes;
    while (m_window > 0 && !m_blocked.IsEmpty())
    {
        MuxStream* stream = m_blocked.Front();
        m_blocked.Pop();
        stream->SendNext(now);
    }
}

} // namespace tunnelcc
