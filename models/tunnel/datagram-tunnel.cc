/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "datagram-tunnel.h"

#include "transport/packet-size.h"

namespace tunnelcc
{

namespace
{

/// Events for the packets that leave a clocked device within the path's delay. One would do; with
/// some more, fewer packets wait for them, and those are still in the cache.
constexpr int64_t BATCHES = 16;

/// \param lookahead of the direction  \param slack of a clocked server, ns
std::unique_ptr<ProgramQueue>
MakeQueue(const Lookahead& lookahead,
          int64_t slack,
          Cpu& cpu,
          CpuThread& thread,
          const PacketCostSpec& cost,
          uint32_t limit)
{
    if (lookahead)
    {
        return std::make_unique<ClockedServer>(cpu, cost, limit, slack);
    }
    return std::make_unique<PacketServer>(thread, cost, limit);
}

} // namespace

TunnelEnd::TunnelEnd(const TunnelEndSpec& spec,
                     Cpu& cpu,
                     const Lookahead& sends,
                     const Lookahead& receives)
    : m_sending(cpu),
      m_receiving(cpu),
      m_device(MakeQueue(sends,
                         sends.value_or(0) / BATCHES,
                         cpu,
                         m_sending,
                         spec.encapsulate,
                         spec.deviceQueue)),
      m_socket(MakeQueue(receives,
                         0,
                         cpu,
                         spec.sharesThread ? m_sending : m_receiving,
                         spec.decapsulate,
                         spec.socketQueue))
{
}

DatagramWay::DatagramWay(const OuterSizes& sizes,
                         const TcpSpec& tcp,
                         bool copiesEcn,
                         TunnelEnd& near,
                         TunnelEnd& far,
                         const Channel& path,
                         OuterCounters& counters)
    : m_sizes(sizes),
      m_tcp(tcp),
      m_copiesEcn(copiesEcn),
      m_near(near),
      m_far(far),
      m_path(path),
      m_counters(counters)
{
}

// The near host --------------------------------------------------------------------------------

bool
DatagramWay::Send(int64_t now, const Packet& packet, uint32_t ipBytes, const SackBlocks* blocks)
{
    m_receiver = packet.sink;
    m_sent = now;
    return m_near.Device().Enqueue(now, packet, ipBytes, blocks, m_entrance);
}

void
DatagramWay::SendAlong(const Packet& ack, const SackBlocks* blocks)
{
    m_near.Device().EnqueueAlong(m_sent, ack, blocks, m_entrance);
}

void
DatagramWay::Entrance::OnHandled(int64_t now,
                                 Packet& packet,
                                 uint32_t ipBytes,
                                 const SackBlocks* blocks)
{
    m_way.Transmit(now, packet, ipBytes, blocks);
}

void
DatagramWay::Transmit(int64_t now, Packet& packet, uint32_t ipBytes, const SackBlocks* blocks)
{
    packet.sink = &m_exit;
    if (packet.ridesAlong)
    {
        if (m_isOnPath)
        {
            m_path.SendAlong(packet, blocks);
        }
        return;
    }
    packet.isEct &= m_copiesEcn;
    const std::vector<uint32_t>& outer = m_sizes[ipBytes];
    if (outer.size() > 1)
    {
        SendLeads(now, packet, outer);
    }
    ++m_counters.packets;
    m_counters.bytes += outer.back();
    m_isOnPath = m_path.Send(now, packet, outer.back(), blocks);
}

void
DatagramWay::SendLeads(int64_t now, const Packet& packet, const std::vector<uint32_t>& outer)
{
    Packet lead = packet;
    lead.kind = PacketKind::FRAGMENT;
    lead.sackBlocks = 0;
    for (size_t i = 0; i + 1 < outer.size(); ++i)
    {
        m_path.Send(now, lead, outer[i]);
        ++m_counters.packets;
        m_counters.bytes += outer[i];
    }
    ++m_counters.fragmented;
}

// The far host ---------------------------------------------------------------------------------

uint32_t
DatagramWay::LeadsOf(const Packet& packet) const
{
    return static_cast<uint32_t>(m_sizes[IpBytes(packet, m_tcp)].size()) - 1;
}

void
DatagramWay::Exit::Receive(int64_t now, const Packet& packet, const SackBlocks* blocks)
{
    if (packet.ridesAlong)
    {
        if (m_way.m_isAccepted)
        {
            Packet ack = packet;
            ack.sink = m_way.m_receiver;
            m_way.m_far.Socket().EnqueueAlong(now, ack, blocks, m_way.m_far.Host());
        }
        return;
    }
    m_way.m_isAccepted = false;
    bool isFragment = packet.kind == PacketKind::FRAGMENT;
    uint32_t leads = isFragment ? 0 : m_way.LeadsOf(packet);
    if (!isFragment && leads == 0)
    {
        m_way.Accept(now, packet, blocks);
    }
    else if (const auto* whole = m_way.m_reassembler.Add(packet, blocks, leads))
    {
        m_way.Accept(now, whole->packet, &whole->blocks);
    }
}

void
DatagramWay::Accept(int64_t now, Packet packet, const SackBlocks* blocks)
{
    packet.sink = m_receiver;
    m_isAccepted =
        m_far.Socket().Enqueue(now, packet, IpBytes(packet, m_tcp), blocks, m_far.Host());
}

// The tunnel -----------------------------------------------------------------------------------

DatagramTunnel::DatagramTunnel(const DatagramTunnelSpec& spec,
                               Cpu& client,
                               Cpu& server,
                               const Lookahead& toServer,
                               const Lookahead& toClient)
    : m_spec(spec),
      m_client(spec.end, client, toServer, toClient),
      m_server(spec.end, server, toClient, toServer)
{
}

void
DatagramTunnel::CatchUp(int64_t now)
{
    for (TunnelEnd* end : {&m_client, &m_server})
    {
        end->Device().CatchUp(now);
    }
    for (TunnelEnd* end : {&m_client, &m_server})
    {
        end->Socket().CatchUp(now);
    }
}

DatagramWay&
DatagramTunnel::MakeWay(bool toServer, const Channel& path, const TcpSpec& tcp)
{
    return *m_ways.emplace_back(std::make_unique<DatagramWay>(m_spec.outer,
                                                              tcp,
                                                              m_spec.copiesEcn,
                                                              toServer ? m_client : m_server,
                                                              toServer ? m_server : m_client,
                                                              path,
                                                              toServer ? m_toServer : m_toClient));
}

} // namespace tunnelcc
