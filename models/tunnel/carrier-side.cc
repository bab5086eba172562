/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "carrier-side.h"

#include <algorithm>
#include <numeric>

namespace tunnelcc
{

CarrierSide::CarrierSide(const RelaySpec& spec,
                         bool isClient,
                         TcpEndpoint& carrier,
                         MessageLog& toServer,
                         MessageLog& toClient)
    : m_carrier(carrier),
      m_handshake(spec.handshake, carrier, isClient, spec.confirms),
      m_layers(DirectionOf(spec, isClient).layers),
      m_prefix(DirectionOf(spec, isClient).prefix),
      m_sending(DirectionOf(spec, isClient).send),
      m_receiving(DirectionOf(spec, !isClient).receive),
      m_sent(isClient ? toServer : toClient),
      m_received(isClient ? toClient : toServer)
{
    carrier.SetUser(this);
}

void
CarrierSide::Open(int64_t now)
{
    m_carrier.Connect(now);
}

bool
CarrierSide::ShakeHands(int64_t now)
{
    if (!m_isOpen)
    {
        m_handshake.Advance(now);
        m_isOpen = m_handshake.IsDone();
        if (!m_isAnnounced && (m_isOpen || m_handshake.Waits()))
        {
            m_isAnnounced = true;
            m_user->OnOpen(now);
        }
    }
    return m_isOpen;
}

void
CarrierSide::Accept(int64_t now)
{
    m_handshake.Release();
    ShakeHands(now);
}

void
CarrierSide::OnConnected(int64_t now)
{
    ShakeHands(now);
}

void
CarrierSide::OnReadable(int64_t now)
{
    if (ShakeHands(now))
    {
        m_user->OnReadable(now);
    }
}

void
CarrierSide::OnWritable(int64_t now)
{
    if (ShakeHands(now))
    {
        m_user->OnWritable(now);
    }
}

RelaySide::Chunk
CarrierSide::Take(int64_t now, uint32_t /* limit */)
{
    if (m_received.IsEmpty())
    {
        return {};
    }
    const Message message = m_received.Front();
    uint64_t missing = message.end - m_carrier.GetReceiver().TotalRead();
    uint64_t bytes = std::min(missing, m_carrier.Readable());
    if (bytes > 0)
    {
        m_carrier.Read(now, bytes);
    }
    if (bytes < missing)
    {
        return {};
    }
    m_received.Pop();
    return {message.payload, m_receiving.Of(message.wire, message.writes)};
}

bool
CarrierSide::IsFinished() const
{
    return m_received.IsEmpty() && m_carrier.GetReceiver().IsFinished();
}

double
CarrierSide::Prepare(uint32_t bytes)
{
    m_writes = m_layers.Wrap(m_prefix + bytes);
    m_prefix = 0;
    m_write = 0;
    m_message.wire = std::accumulate(m_writes.begin(), m_writes.end(), uint32_t{0});
    m_message.payload = bytes;
    m_message.writes = static_cast<uint32_t>(m_writes.size());
    m_isLogged = false;
    return m_sending.Of(m_message.wire, m_message.writes);
}

bool
CarrierSide::Write(int64_t now)
{
    if (!m_isOpen)
    {
        return false;
    }
    if (!m_isLogged)
    {
        m_message.end = m_carrier.GetSender().Buffer().Written() + m_message.wire;
        m_sent.Push(m_message);
        m_isLogged = true;
    }
    for (; m_write < m_writes.size(); ++m_write)
    {
        uint32_t& left = m_writes[m_write];
        left -= static_cast<uint32_t>(m_carrier.Write(now, left));
        if (left > 0)
        {
            return false;
        }
    }
    return true;
}

void
CarrierSide::Close(int64_t now)
{
    m_carrier.Close(now);
}

} // namespace tunnelcc
