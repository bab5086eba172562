/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stream-tunnel.h"

#include <algorithm>
#include <numeric>

namespace tunnelcc
{

// Packets in the stream ------------------------------------------------------------------------

void
PacketLog::Push(const Entry& entry, const PacketExtras* extras)
{
    m_entries.Push(entry);
    if (entry.packet.HasExtras())
    {
        m_extras.Push(*extras);
    }
}

const PacketExtras*
PacketLog::Pop()
{
    bool hasExtras = m_entries.Front().packet.HasExtras();
    m_entries.Pop();
    if (!hasExtras)
    {
        return nullptr;
    }
    m_latest = m_extras.Front();
    m_extras.Pop();
    return &m_latest;
}

// Setting up -----------------------------------------------------------------------------------

StreamTunnelEnd::StreamTunnelEnd(const StreamTunnelSpec& spec,
                                 End end,
                                 const std::vector<LayerSpec>& layers,
                                 TcpEndpoint& carrier,
                                 Cpu& cpu,
                                 PerEnd<PacketLog>& logs)
    : m_spec(spec),
      m_carrier(carrier),
      m_handshake(spec.handshake, carrier, end),
      m_layers(layers),
      m_out(logs[end]),
      m_in(logs[Other(end)]),
      m_writing(cpu),
      m_reading(cpu),
      m_device(m_writing, spec.end.encapsulate, spec.end.deviceQueue)
{
    carrier.SetUser(this);
    m_device.Block();
}

void
StreamTunnelEnd::OnConnected(int64_t now)
{
    ShakeHands(now);
}

bool
StreamTunnelEnd::ShakeHands(int64_t now)
{
    if (!m_isOpen)
    {
        m_handshake.Advance(now);
        m_isOpen = m_handshake.IsDone();
        if (m_isOpen)
        {
            m_framed = m_carrier.GetSender().Buffer().Written();
            m_device.Unblock(now);
        }
    }
    return m_isOpen;
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
    Frame(ipBytes);
    m_out.Push({packet, m_framed, ipBytes}, extras);
    if (!WriteOn(now))
    {
        m_device.Block();
    }
}

void
StreamTunnelEnd::Frame(uint32_t ipBytes)
{
    m_writes.clear();
    m_write = 0;
    for (uint32_t part : m_spec.writes[ipBytes])
    {
        const std::vector<uint32_t>& wrapped = m_layers.Wrap(part);
        m_writes.insert(m_writes.end(), wrapped.begin(), wrapped.end());
    }
    m_framed += std::accumulate(m_writes.begin(), m_writes.end(), uint64_t{0});
}

bool
StreamTunnelEnd::WriteOn(int64_t now)
{
    for (; m_write < m_writes.size(); ++m_write)
    {
        uint32_t& left = m_writes[m_write];
        left -= static_cast<uint32_t>(m_carrier.Write(now, left));
        if (left > 0)
        {
            return false; // OnWritable() goes on
        }
    }
    return true;
}

void
StreamTunnelEnd::OnWritable(int64_t now)
{
    if (ShakeHands(now) && m_device.IsBlocked() && WriteOn(now))
    {
        m_device.Unblock(now);
    }
}

// Carrier → host -------------------------------------------------------------------------------

void
StreamTunnelEnd::OnReadable(int64_t now)
{
    if (ShakeHands(now) && !m_isDecapsulating)
    {
        ReadOn(now);
    }
}

void
StreamTunnelEnd::ReadOn(int64_t now)
{
    const PacketCostSpec& cost = m_spec.end.decapsulate;
    while (ReadFrame(now))
    {
        double work = cost.perPacket + cost.perByte * m_in.Front().ipBytes;
        if (work > 0)
        {
            m_isDecapsulating = true;
            (m_spec.end.sharesThread ? m_writing : m_reading).Submit(now, work, *this);
            return;
        }
        Deliver(now);
    }
}

bool
StreamTunnelEnd::ReadFrame(int64_t now)
{
    if (m_in.IsEmpty())
    {
        return false;
    }
    uint64_t missing = m_in.Front().end - m_carrier.GetReceiver().TotalRead();
    uint64_t bytes = std::min(missing, m_carrier.Readable());
    if (bytes > 0)
    {
        m_carrier.Read(now, bytes);
    }
    return bytes == missing;
}

void
StreamTunnelEnd::Deliver(int64_t now)
{
    Packet packet = m_in.Front().packet;
    const PacketExtras* extras = m_in.Pop();
    packet.sink->Receive(now, packet, extras);
}

void
StreamTunnelEnd::OnComputed(int64_t now)
{
    m_isDecapsulating = false;
    Deliver(now);
    ReadOn(now);
}

// The tunnel -----------------------------------------------------------------------------------

StreamTunnel::StreamTunnel(const StreamTunnelSpec& spec,
                           TcpEndpoint& clientSocket,
                           TcpEndpoint& serverSocket,
                           Cpu& client,
                           Cpu& server)
    : m_sockets{clientSocket, serverSocket},
      m_ends{StreamTunnelEnd(spec, End::CLIENT, spec.toServer, clientSocket, client, m_logs),
             StreamTunnelEnd(spec, End::SERVER, spec.toClient, serverSocket, server, m_logs)}
{
}

OuterCounters
StreamTunnel::Outer(End sender) const
{
    const TcpEndpoint& socket = m_sockets[sender];
    const WireCounters& wire = socket.Wire();
    OuterCounters counters;
    counters.packets = socket.GetSender().Counters().segments + wire.acks;
    counters.bytes = wire.dataBytes + wire.ackBytes;
    return counters;
}

} // namespace tunnelcc
