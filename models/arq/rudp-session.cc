/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rudp-session.h"

#include "event/time-units.h"
#include "rudp-endpoint.h"

#include <algorithm>
#include <utility>

namespace tunnelcc
{

namespace
{

/// The first time after `now` of those that follow one another by `period` from `first` on, ns.
int64_t
NextOf(int64_t now, int64_t first, int64_t period)
{
    return now < first ? first : now + period - (now - first) % period;
}

} // namespace

RudpSession::RudpSession(EventLoop& loop,
                         const RudpSpec& spec,
                         End end,
                         const Channel& channel,
                         const RudpPhase& phase,
                         const RandomStream& draws)
    : m_spec(spec),
      m_end(end),
      m_phase(phase),
      m_channel(channel),
      m_draws(draws),
      m_pacer(loop, spec.burst, spec.rate[end]),
      m_pingTimer(loop, this),
      m_ackTimer(loop, this),
      m_resendTimer(loop, this)
{
}

void
RudpSession::Join(RudpSession& a, RudpSession& b)
{
    a.m_peer = &b;
    b.m_peer = &a;
}

int64_t
RudpSession::Clock(int64_t now) const
{
    return (now + m_phase.clock) / MS;
}

// Opening and closing ---------------------------------------------------------------------------

void
RudpSession::Add(int64_t now, RudpEndpoint& connection)
{
    Open(now);
    m_connections.push_back(&connection);
}

void
RudpSession::Open(int64_t now)
{
    if (m_isOpen)
    {
        return;
    }
    m_isOpen = true;
    m_replyTime = Clock(now);
    m_pingSent = -1;
    m_firstPing = static_cast<uint32_t>(m_pingTimes.size());
    m_pingTime = static_cast<uint32_t>(m_spec.pings.first / MS);
    m_hasPingTime = false;
    const double first = m_spec.firstRate[m_end];
    m_pacer.SetRate(first > 0 ? first : m_spec.rate[m_end]);
    m_pingTimer.Set(NextOf(now, m_phase.pings, m_spec.pings.interval + m_spec.wakeDelay));
}

void
RudpSession::Close(int64_t now)
{
    m_isOpen = false;
    m_items.Clear();
    m_resendTimer.Cancel();
    for (RudpEndpoint* connection : std::exchange(m_connections, {}))
    {
        connection->Abort(now);
    }
}

// Pings -----------------------------------------------------------------------------------------

void
RudpSession::OnPingTime(int64_t now)
{
    const int64_t clock = Clock(now);
    if (clock - m_replyTime >= m_spec.pings.limit / MS)
    {
        Close(now);
        return;
    }
    if (m_pingSent < 0 || clock - m_pingSent > m_spec.pings.interval / MS)
    {
        m_pingSent = clock;
        SendMessage(now,
                    RudpMessage::PING,
                    static_cast<uint32_t>(m_pingTimes.size()),
                    m_spec.pings.bytes);
        m_pingTimes.push_back(clock);
    }
    // Whether the next turn is a whole ms more than an interval away is a matter of luck.
    const double late = 2 * m_draws.RandU01() * static_cast<double>(m_spec.wakeDelay);
    m_pingTimer.Set(now + m_spec.pings.interval + static_cast<int64_t>(late));
}

void
RudpSession::SendMessage(int64_t now, RudpMessage kind, uint32_t number, uint32_t bytes)
{
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.datagramMessage = static_cast<uint16_t>(kind);
    packet.datagramBytes = bytes;
    packet.segment = number;
    packet.sink = m_peer;
    m_channel.Send(now, packet, bytes);
}

void
RudpSession::Receive(int64_t now, const Packet& packet, const PacketExtras* /* extras */)
{
    Open(now);
    if (static_cast<RudpMessage>(packet.datagramMessage) == RudpMessage::PING)
    {
        // It says what rate its sender wants.
        m_pacer.SetRate(m_spec.rate[m_end]);
        SendMessage(now, RudpMessage::REPLY, packet.segment, m_spec.pings.reply);
        return;
    }
    m_replyTime = Clock(now);
    if (packet.segment >= m_firstPing)
    {
        m_pingTime = static_cast<uint32_t>(m_replyTime - m_pingTimes[packet.segment]);
        m_hasPingTime = true;
    }
}

// ACKs ------------------------------------------------------------------------------------------

void
RudpSession::ListAcks(int64_t now, RudpEndpoint& connection)
{
    m_listed.push_back(&connection);
    if (!m_ackTimer.IsPending())
    {
        m_ackTimer.Set(NextOf(now, m_phase.acks, m_spec.acks.interval + m_spec.wakeDelay));
    }
}

void
RudpSession::OnAckTime(int64_t now)
{
    for (RudpEndpoint* connection : std::exchange(m_listed, {}))
    {
        connection->SendAcks(now);
    }
}

// What is sent again ----------------------------------------------------------------------------

int64_t
RudpSession::ResendTime(int64_t now) const
{
    auto extra = static_cast<uint32_t>(static_cast<float>(m_pingTime) *
                                       static_cast<float>(m_spec.resends.extra));
    return Clock(now) + std::max<int64_t>(m_pingTime + extra, m_spec.resends.least / MS);
}

void
RudpSession::AddResend(int64_t now, RudpEndpoint& connection, uint32_t number)
{
    m_items.Push({&connection, ResendTime(now), number, 0});
    if (!m_isSending && !m_resendTimer.IsPending())
    {
        ResendNext(now);
    }
}

void
RudpSession::OnResendTime(int64_t now)
{
    ResendNext(now);
}

/// The thread takes one packet after the other, and sleeps until its time has come, whether or not
/// one behind it is due before. Acknowledged ones are looked at as often as others.
void
RudpSession::ResendNext(int64_t now)
{
    while (!m_items.IsEmpty())
    {
        const Item& first = m_items.Front();
        if (!first.connection->IsOpen())
        {
            m_items.Pop();
            continue;
        }
        if (int64_t wait = first.time - Clock(now); wait > 0)
        {
            m_resendTimer.Set(now + wait * MS);
            return;
        }
        m_item = first;
        m_items.Pop();
        ++m_item.count;
        m_itemLength = m_item.connection->MissingLength(m_item.number);
        if (m_itemLength > 0)
        {
            m_isSending = true;
            m_pacer.Ask(now, *this);
            return; // GoOn() goes on
        }
        Requeue(now);
    }
}

void
RudpSession::Requeue(int64_t now)
{
    if (!m_item.connection->IsOpen())
    {
        return;
    }
    if (m_item.count < m_spec.resends.most)
    {
        m_item.time = ResendTime(now);
        m_items.Push(m_item);
    }
    else
    {
        m_item.connection->GiveUp(m_item.number);
    }
}

uint32_t
RudpSession::Send(int64_t now)
{
    return m_item.connection->Resend(now, m_item.number, m_itemLength);
}

void
RudpSession::GoOn(int64_t now)
{
    m_isSending = false;
    Requeue(now);
    ResendNext(now);
}

} // namespace tunnelcc
