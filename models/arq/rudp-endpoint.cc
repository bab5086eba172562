/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rudp-endpoint.h"

#include <algorithm>
#include <span>

namespace tunnelcc
{

RudpEndpoint::RudpEndpoint(const RudpSpec& spec, RudpSession& session, const Channel& channel)
    : m_spec(spec),
      m_session(session),
      m_channel(channel),
      m_sender(spec.packets.window),
      m_receiver(spec.packets.window)
{
}

void
RudpEndpoint::Join(RudpEndpoint& a, RudpEndpoint& b)
{
    a.m_peer = &b;
    b.m_peer = &a;
}

void
RudpEndpoint::Start(int64_t now)
{
    m_establishedTime = now;
    m_session.Add(now, *this);
    NoteLimit(now, SendLimit::APPLICATION);
}

void
RudpEndpoint::Connect(int64_t now)
{
    Start(now);
    if (m_user)
    {
        m_user->OnOpen(now);
    }
}

void
RudpEndpoint::Abort(int64_t now)
{
    m_closedTime = now;
    NoteLimit(now, SendLimit::NONE);
    if (m_user)
    {
        m_user->OnReadable(now);
    }
}

// Sending ---------------------------------------------------------------------------------------

uint64_t
RudpEndpoint::Write(int64_t now, uint64_t bytes)
{
    if (m_unsent > 0 || m_isSending || !IsOpen())
    {
        m_isBlocked = true;
        return 0;
    }
    m_unsent = bytes;
    SendNext(now);
    return bytes;
}

void
RudpEndpoint::NoteIdle(int64_t now, SendLimit why)
{
    if (m_limits.Get() == SendLimit::APPLICATION)
    {
        NoteLimit(now, why);
    }
}

void
RudpEndpoint::SendNext(int64_t now)
{
    if (!m_sender.HasRoom())
    {
        m_waitsForWindow = true;
        NoteLimit(now, SendLimit::RECEIVE_WINDOW);
        return;
    }
    m_isSending = true;
    NoteLimit(now, SendLimit::PACING);
    m_session.Pacer().Ask(now, *this);
}

uint32_t
RudpEndpoint::Send(int64_t now)
{
    if (!IsOpen())
    {
        return 0;
    }
    auto length = static_cast<uint16_t>(std::min<uint64_t>(m_unsent, m_spec.packets.data));
    m_unsent -= length;
    m_latest = m_sender.Add(length);
    for (int copies = m_latest < m_spec.packets.doubled ? 2 : 1; copies > 0; --copies)
    {
        SendMessage(now, RudpMessage::DATA, m_latest, m_spec.packets.header + length);
    }
    return length;
}

void
RudpEndpoint::GoOn(int64_t now)
{
    m_isSending = false;
    if (!IsOpen())
    {
        return;
    }
    m_session.AddResend(now, *this, m_latest);
    if (m_unsent > 0)
    {
        SendNext(now);
        return;
    }
    NoteLimit(now, SendLimit::APPLICATION);
    if (m_closes)
    {
        SendClose(now);
    }
    else if (m_isBlocked && m_user)
    {
        m_isBlocked = false;
        m_user->OnWritable(now);
    }
}

uint32_t
RudpEndpoint::MissingLength(uint32_t number) const
{
    return IsOpen() && m_sender.IsMissing(number) ? m_sender.LengthOf(number) : 0;
}

uint32_t
RudpEndpoint::Resend(int64_t now, uint32_t number, uint32_t length)
{
    if (!IsOpen())
    {
        return 0;
    }
    m_sender.OnResend();
    SendMessage(now, RudpMessage::DATA, number, m_spec.packets.header + length);
    return length;
}

void
RudpEndpoint::Close(int64_t now)
{
    if (!IsOpen() || m_closes)
    {
        return;
    }
    m_closes = true;
    if (m_unsent == 0 && !m_isSending)
    {
        SendClose(now);
    }
}

void
RudpEndpoint::SendClose(int64_t now)
{
    NoteLimit(now, SendLimit::NONE);
    for (int copy = 0; copy < 2; ++copy)
    {
        SendMessage(now, RudpMessage::CLOSE, m_sender.Next(), m_spec.packets.close);
    }
}

void
RudpEndpoint::SendAcks(int64_t now)
{
    m_isListed = false;
    if (!IsOpen())
    {
        return;
    }
    std::span<const uint32_t> left = m_receiver.Acks();
    do
    {
        auto acks = left.first(std::min<size_t>(left.size(), m_spec.acks.most));
        left = left.subspan(acks.size());
        RudpAcks& list = m_log.Open({{}, m_receiver.PacketsRead()});
        for (uint32_t number : acks)
        {
            m_log.Append(list) = number;
        }
        auto bytes = m_spec.acks.header + m_spec.acks.number * static_cast<uint32_t>(acks.size());
        for (int copy = 0; copy < 2; ++copy)
        {
            SendMessage(now, RudpMessage::ACKS, static_cast<uint32_t>(m_log.Newest()), bytes);
        }
    } while (!left.empty());
    m_receiver.Acks().clear();
}

void
RudpEndpoint::SendMessage(int64_t now, RudpMessage kind, uint32_t number, uint32_t bytes)
{
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.datagramMessage = static_cast<uint16_t>(kind);
    packet.datagramBytes = bytes;
    packet.segment = number;
    packet.sink = m_peer;
    m_wireBytes += bytes;
    m_channel.Send(now, packet, bytes);
}

void
RudpEndpoint::NoteLimit(int64_t now, SendLimit limit)
{
    m_limits.Set(now, limit);
}

// Receiving -------------------------------------------------------------------------------------

void
RudpEndpoint::Read(int64_t now, uint64_t bytes)
{
    const uint32_t before = m_receiver.PacketsRead();
    m_receiver.Read(bytes);
    if (m_receiver.PacketsRead() != before)
    {
        ListAcks(now);
    }
}

void
RudpEndpoint::ListAcks(int64_t now)
{
    if (!m_isListed)
    {
        m_isListed = true;
        m_session.ListAcks(now, *this);
    }
}

void
RudpEndpoint::Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */)
{
    if (m_closedTime >= 0)
    {
        return;
    }
    if (m_establishedTime < 0)
    {
        Start(now);
        if (m_user)
        {
            m_user->OnOpen(now);
        }
    }
    switch (static_cast<RudpMessage>(packet.datagramMessage))
    {
    case RudpMessage::DATA:
        OnData(now, packet);
        break;
    case RudpMessage::ACKS:
        OnAcks(now, packet);
        break;
    case RudpMessage::CLOSE:
        OnClose(now, packet);
        break;
    case RudpMessage::PING:
    case RudpMessage::REPLY:
        break; // go to the session
    }
}

void
RudpEndpoint::OnData(int64_t now, const Packet& packet)
{
    m_receiver.OnData(packet.segment, m_peer->m_sender.LengthOf(packet.segment));
    ListAcks(now);
    if (m_user && m_receiver.Readable() > 0)
    {
        m_user->OnReadable(now);
    }
}

void
RudpEndpoint::OnAcks(int64_t now, const Packet& packet)
{
    RudpLog& log = m_peer->m_log;
    const RudpAcks* list = log.Find(packet.segment);
    if (!list)
    {
        return; // as if it were lost
    }
    for (uint32_t i = 0; i < list->items; ++i)
    {
        m_sender.OnAck(log.ItemOf(*list, i));
    }
    m_sender.OnRead(list->read);
    log.OnArrival(packet.segment);
    if (m_waitsForWindow && m_sender.HasRoom())
    {
        m_waitsForWindow = false;
        SendNext(now);
    }
}

void
RudpEndpoint::OnClose(int64_t now, const Packet& packet)
{
    if (m_hasPeerClosed || m_receiver.PacketsRead() != packet.segment || m_receiver.Readable() > 0)
    {
        return;
    }
    m_hasPeerClosed = true;
    if (m_user)
    {
        m_user->OnReadable(now);
    }
}

} // namespace tunnelcc
