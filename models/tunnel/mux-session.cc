/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mux-session.h"

#include "carrier-side.h"

#include <algorithm>

namespace tunnelcc
{

MuxSession::MuxSession(const RelaySpec& spec,
                       bool isClient,
                       TcpEndpoint& carrier,
                       Cpu& cpu,
                       MuxLogs& logs)
    : m_spec(spec.mux),
      m_isClient(isClient),
      m_out(isClient ? spec.mux.toServer : spec.mux.toClient),
      m_in(isClient ? spec.mux.toClient : spec.mux.toServer),
      m_prefix(DirectionOf(spec, isClient).prefix),
      m_carrier(carrier),
      m_handshake(spec.handshake, carrier, isClient),
      m_sender(*this,
               carrier,
               DirectionOf(spec, isClient).layers,
               DirectionOf(spec, isClient).send,
               cpu,
               isClient ? logs.toServer : logs.toClient),
      m_receiver(*this,
                 carrier,
                 m_in.sessionBuffer,
                 DirectionOf(spec, !isClient).receive,
                 cpu,
                 isClient ? logs.toClient : logs.toServer),
      m_window(m_out.sessionWindow > 0 ? m_out.sessionWindow : UINT64_MAX)
{
    carrier.SetUser(this);
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

bool
MuxSession::ShakeHands(int64_t now)
{
    if (!m_isReady)
    {
        m_handshake.Advance(now);
        m_isReady = m_handshake.IsDone();
        if (m_isReady)
        {
            OnReady(now);
        }
    }
    return m_isReady;
}

void
MuxSession::OnReady(int64_t now)
{
    for (; !m_opening.IsEmpty(); m_opening.Pop())
    {
        m_opening.Front()->OnSessionReady(now);
    }
}

void
MuxSession::OnConnected(int64_t now)
{
    ShakeHands(now);
}

void
MuxSession::OnReadable(int64_t now)
{
    if (ShakeHands(now))
    {
        m_receiver.OnReadable(now);
    }
}

void
MuxSession::OnWritable(int64_t now)
{
    if (ShakeHands(now))
    {
        m_sender.OnWritable(now);
    }
}

void
MuxSession::OnFrameWritten(int64_t now, const MuxFrame& frame)
{
    m_streams[frame.stream]->OnFrameWritten(now, frame.bytes);
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
MuxSession::TakeWindow(MuxStream& stream, uint64_t bytes)
{
    if (m_out.sessionWindow == 0)
    {
        return bytes;
    }
    uint64_t taken = std::min(bytes, m_window);
    m_window -= taken;
    if (taken == 0)
    {
        m_starving.Push(&stream);
    }
    return taken;
}

void
MuxSession::AddWindow(int64_t now, uint64_t bytes)
{
    m_window += bytes;
    while (m_window > 0 && !m_starving.IsEmpty())
    {
        MuxStream* stream = m_starving.Front();
        m_starving.Pop();
        stream->SendOn(now);
    }
}

} // namespace tunnelcc
