/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quic-tunnel.h"

#include <algorithm>

namespace tunnelcc
{

// Packets in frames ----------------------------------------------------------------------------

uint64_t
FramedPackets::Push(const Packet& packet,
                    uint32_t ipBytes,
                    uint32_t pieces,
                    const PacketExtras* extras)
{
    const uint64_t number = m_first + m_packets.Size();
    m_packets.Push({packet, ipBytes, pieces, m_firstExtras + m_extras.Size()});
    if (packet.HasExtras())
    {
        m_extras.Push(*extras);
    }
    return number;
}

void
FramedPackets::OnArrival(uint64_t number)
{
    while (number > m_first + KEPT)
    {
        if (m_packets.Front().packet.HasExtras())
        {
            m_extras.Pop();
            ++m_firstExtras;
        }
        m_packets.Pop();
        ++m_first;
    }
}

// Setting up -----------------------------------------------------------------------------------

QuicTunnelEnd::QuicTunnelEnd(const QuicTunnelSpec& spec,
                             QuicConnection& carrier,
                             Cpu& cpu,
                             FramedPackets& sent,
                             FramedPackets& received)
    : m_spec(spec),
      m_carrier(carrier),
      m_sent(sent),
      m_received(received),
      m_writing(cpu),
      m_reading(cpu),
      m_device(m_writing, spec.end.encapsulate, spec.end.device.queue, spec.end.device.release),
      m_arrived(spec.end.sharesThread ? m_writing : m_reading,
                spec.end.decapsulate,
                spec.end.socket.queue)
{
    m_carrier.SetDatagrams(*this);
    m_device.Block();
}

void
QuicTunnelEnd::OnOpen(int64_t now)
{
    m_device.Unblock(now);
}

// Host → carrier -------------------------------------------------------------------------------

void
QuicTunnelEnd::Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    m_device.Enqueue(now, packet, ipBytes, extras, *this);
}

bool
QuicTunnelEnd::HasRoom() const
{
    return m_queue.Size() < m_spec.datagrams.queue;
}

void
QuicTunnelEnd::OnHandled(int64_t now, Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    m_inner.Count(ipBytes);
    const QuicDatagramsSpec& spec = m_spec.datagrams;
    const uint32_t bytes = m_spec.payloads[ipBytes];
    const uint32_t most = m_carrier.PacketBytes() - spec.reserve;
    if (bytes > most && !spec.splits)
    {
        ++m_drops.tooLarge;
        return;
    }
    if (!spec.blocks && !HasRoom())
    {
        ++m_drops.full;
        return;
    }
    uint32_t pieces = 1;
    if (bytes > most)
    {
        const uint32_t content = bytes - spec.header;
        const uint32_t room = most - spec.header;
        pieces = (content + room - 1) / room;
        ++m_split;
    }
    const uint64_t number = m_sent.Push(packet, ipBytes, pieces, extras);
    uint32_t left = bytes - spec.header;
    for (uint32_t i = 0; i < pieces; ++i)
    {
        const uint32_t part = std::min(left, most - spec.header);
        m_queue.Push({number, spec.header + part});
        left -= part;
    }
    m_carrier.SendDatagrams(now);
    if (spec.blocks && m_queue.Size() > spec.queue)
    {
        m_device.Block(); // the one in hand waits for room
    }
}

uint64_t
QuicTunnelEnd::Take()
{
    const uint64_t number = m_queue.Front().number;
    m_queue.Pop();
    return number;
}

void
QuicTunnelEnd::DropNext()
{
    ++m_drops.tooLarge;
    m_queue.Pop();
}

void
QuicTunnelEnd::OnSent(int64_t now)
{
    if (m_device.IsBlocked() && m_queue.Size() <= m_spec.datagrams.queue)
    {
        m_device.Unblock(now);
    }
}

// Carrier → host -------------------------------------------------------------------------------

void
QuicTunnelEnd::OnReceived(int64_t now, uint64_t number)
{
    const FramedPackets::Framed* framed = m_received.Find(number);
    if (!framed)
    {
        return; // as if it were lost
    }
    if (framed->pieces > 1)
    {
        m_pieces = number == m_putTogether ? m_pieces + 1 : 1;
        m_putTogether = number;
        if (m_pieces < framed->pieces)
        {
            return;
        }
    }
    if (order)
    {
        order->Count(static_cast<int64_t>(number));
    }
    m_arrived.Enqueue(now, framed->packet, framed->ipBytes, m_received.ExtrasOf(*framed), m_host);
    m_received.OnArrival(number);
}

// The tunnel -----------------------------------------------------------------------------------

QuicTunnel::QuicTunnel(const QuicTunnelSpec& spec,
                       QuicConnection& clientCarrier,
                       QuicConnection& serverCarrier,
                       Cpu& client,
                       Cpu& server)
    : m_carriers{clientCarrier, serverCarrier},
      m_ends{QuicTunnelEnd(spec, clientCarrier, client, m_packets.client, m_packets.server),
             QuicTunnelEnd(spec, serverCarrier, server, m_packets.server, m_packets.client)}
{
}

void
QuicTunnel::StartMeasuring()
{
    for (End end : ENDS)
    {
        std::optional<ReorderingMeter>& order = m_ends[end].order;
        if (order)
        {
            order->StartMeasuring();
        }
        else if (m_carriers[end].Paths().size() > 1)
        {
            order.emplace();
        }
    }
}

std::optional<UplinksReport>
QuicTunnel::Uplinks(End sender) const
{
    static const Histogram NEVER_WAITED;
    const std::optional<ReorderingMeter>& order = m_ends[Other(sender)].order;
    return order ? std::optional(UplinksReport{*order, *order, NEVER_WAITED}) : std::nullopt;
}

std::optional<CarrierDrops>
QuicTunnel::DropsAtCarrier(End sender) const
{
    return m_ends[sender].Drops();
}

TunnelCounters
QuicTunnel::Counters(End sender) const
{
    const QuicCounters sent = m_carriers[sender].Counters();
    TunnelCounters counters;
    counters.inner = m_ends[sender].Inner();
    counters.outer.packets = sent.all;
    counters.outer.bytes = sent.bytes;
    counters.outer.fragmented = m_ends[sender].Split();
    return counters;
}

} // namespace tunnelcc
