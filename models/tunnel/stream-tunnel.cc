/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stream-tunnel.h"

namespace tunnelcc
{

// Setting up -----------------------------------------------------------------------------------

StreamTunnelEnd::StreamTunnelEnd(const StreamTunnelSpec& spec,
                                 End end,
                                 const std::vector<LayerSpec>& layers,
                                 ByteStream& carrier,
                                 Cpu& cpu,
                                 PacketLogs& logs)
    : m_spec(spec),
      m_carrier(carrier, end, {spec.handshake, layers}, logs.packets),
      m_sent(logs.extras[end]),
      m_received(logs.extras[Other(end)]),
      m_writing(cpu),
      m_reading(cpu),
      m_device(m_writing, spec.end.encapsulate, spec.end.device.queue)
{
    m_carrier.SetUser(*this);
    m_device.Block();
}

void
StreamTunnelEnd::OnOpen(int64_t now)
{
    m_device.Unblock(now);
}

// Host → carrier -------------------------------------------------------------------------------

void
StreamTunnelEnd::Send(int64_t now,
                      const Packet& packet,
                      uint32_t ipBytes,
                      const PacketExtras* extras)
{
    m_device.Enqueue(now, packet, ipBytes, extras, *this);
}

void
StreamTunnelEnd::OnHandled(int64_t now,
                           Packet& packet,
                           uint32_t ipBytes,
                           const PacketExtras* extras)
{
    m_inner.Count(ipBytes);
    m_carrier.Append({packet, ipBytes}, m_spec.writes[ipBytes]);
    if (packet.HasExtras())
    {
        m_sent.Push(*extras);
    }
    if (!m_carrier.Flush(now))
    {
        m_device.Block();
    }
}

void
StreamTunnelEnd::OnWritable(int64_t now)
{
    if (m_device.IsBlocked() && m_carrier.Flush(now))
    {
        m_device.Unblock(now);
    }
}

// Carrier → host -------------------------------------------------------------------------------

void
StreamTunnelEnd::OnReadable(int64_t now)
{
    if (!m_isDecapsulating)
    {
        ReadPackets(now);
    }
}

void
StreamTunnelEnd::ReadPackets(int64_t now)
{
    const PacketCostSpec& cost = m_spec.end.decapsulate;
    while (const Message<TunnelledPacket>* message = m_carrier.Read(now))
    {
        double work = cost.perPacket + cost.perByte * message->content.ipBytes;
        if (work > 0)
        {
            m_isDecapsulating = true;
            (m_spec.end.sharesThread ? m_writing : m_reading).Submit(now, work, *this);
            return;
        }
        Deliver(now, message->content);
    }
}

void
StreamTunnelEnd::Deliver(int64_t now, const TunnelledPacket& received)
{
    const Packet& packet = received.packet; // stays: no packet comes in while the host takes it
    bool hasExtras = packet.HasExtras();
    packet.sink->Receive(now, packet, hasExtras ? &m_received.Front() : nullptr);
    if (hasExtras)
    {
        m_received.Pop();
    }
    m_carrier.Pop();
}

void
StreamTunnelEnd::OnComputed(int64_t now)
{
    m_isDecapsulating = false;
    Deliver(now, m_carrier.Front().content);
    ReadPackets(now);
}

// The tunnel -----------------------------------------------------------------------------------

StreamTunnel::StreamTunnel(const StreamTunnelSpec& spec,
                           const PerEnd<ByteStream&>& carrier,
                           PerEnd<std::vector<const TcpEndpoint*>> sockets,
                           const PerEnd<Cpu&>& cpus)
    : m_sockets(std::move(sockets)),
      m_ends{StreamTunnelEnd(spec,
                             End::CLIENT,
                             spec.layers.client,
                             carrier.client,
                             cpus.client,
                             m_logs),
             StreamTunnelEnd(spec,
                             End::SERVER,
                             spec.layers.server,
                             carrier.server,
                             cpus.server,
                             m_logs)}
{
}

TunnelCounters
StreamTunnel::Counters(End sender) const
{
    TunnelCounters counters;
    counters.inner = m_ends[sender].Inner();
    for (const TcpEndpoint* socket : m_sockets[sender])
    {
        const WireCounters& wire = socket->Wire();
        counters.outer.packets += socket->GetSender().Counters().segments + wire.acks;
        counters.outer.bytes += wire.dataBytes + wire.ackBytes;
    }
    return counters;
}

} // namespace tunnelcc
