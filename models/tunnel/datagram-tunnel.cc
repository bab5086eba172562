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
                         spec.device.queue)),
      m_socket(MakeQueue(receives,
                         0,
                         cpu,
                         spec.sharesThread ? m_sending : m_receiving,
                         spec.decapsulate,
                         spec.socket.queue))
{
}

DatagramChannel::DatagramChannel(const OuterSizes& sizes,
                                 const TcpSpec& tcp,
                                 bool copiesEcn,
                                 TunnelEnd& near,
                                 TunnelEnd& far,
                                 const Channel& path,
                                 TunnelCounters& counters,
                                 FecDirection* fec)
    : m_sizes(sizes),
      m_tcp(tcp),
      m_copiesEcn(copiesEcn),
      m_near(near),
      m_far(far),
      m_path(path),
      m_counters(counters),
      m_fec(fec)
{
}

// The near host --------------------------------------------------------------------------------

void
DatagramChannel::Send(int64_t now,
                      const Packet& packet,
                      uint32_t ipBytes,
                      const PacketExtras* extras)
{
    m_receiver = packet.sink;
    m_near.Device().Enqueue(now, packet, ipBytes, extras, m_ingress);
}

void
DatagramChannel::Ingress::OnHandled(int64_t now,
                                    Packet& packet,
                                    uint32_t ipBytes,
                                    const PacketExtras* extras)
{
    m_channel.Transmit(now, packet, ipBytes, extras);
}

void
DatagramChannel::Transmit(int64_t now, Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    m_counters.inner.Count(ipBytes);
    if (!m_copiesEcn)
    {
        packet.isEct = false;
    }
    if (m_fec)
    {
        packet.sink = m_receiver;
        m_fec->Send(now, packet, ipBytes, extras, m_path);
        return;
    }
    packet.sink = &m_egress;
    const std::vector<uint32_t>& outer = m_sizes[ipBytes];
    if (outer.size() > 1)
    {
        SendFragments(now, packet, outer);
    }
    m_counters.outer.Count(outer);
    m_path.Send(now, packet, outer.back(), extras);
}

void
DatagramChannel::SendFragments(int64_t now,
                               const Packet& packet,
                               const std::vector<uint32_t>& outer)
{
    Packet fragment = packet;
    fragment.kind = PacketKind::FRAGMENT;
    fragment.sackBlocks = 0;
    fragment.hasAck = false;
    for (size_t i = 0; i + 1 < outer.size(); ++i)
    {
        m_path.Send(now, fragment, outer[i]);
    }
}

// The far host ---------------------------------------------------------------------------------

void
DatagramChannel::Egress::Receive(int64_t now, const Packet& packet, const PacketExtras* extras)
{
    const bool isFragment = packet.kind == PacketKind::FRAGMENT;
    const uint32_t ipBytes = IpBytes(packet, m_channel.m_tcp);
    // How many fragments came before this one, if it is the last.
    const uint32_t fragments =
        isFragment ? 0 : static_cast<uint32_t>(m_channel.m_sizes[ipBytes].size()) - 1;
    if (!isFragment && fragments == 0)
    {
        m_channel.Accept(now, packet, ipBytes, extras);
    }
    else if (const auto* whole = m_channel.m_reassembler.Add(packet, extras, fragments))
    {
        m_channel.Accept(now,
                         whole->packet,
                         IpBytes(whole->packet, m_channel.m_tcp),
                         &whole->extras);
    }
}

void
DatagramChannel::Accept(int64_t now, Packet packet, uint32_t ipBytes, const PacketExtras* extras)
{
    packet.sink = m_receiver;
    m_far.Socket().Enqueue(now, packet, ipBytes, extras, m_far.Host());
}

// The tunnel -----------------------------------------------------------------------------------

DatagramTunnel::DatagramTunnel(const DatagramTunnelSpec& spec,
                               Cpu& client,
                               Cpu& server,
                               const PerEnd<Lookahead>& lookaheads)
    : m_spec(spec),
      m_ends{TunnelEnd(spec.end, client, lookaheads.client, lookaheads.server),
             TunnelEnd(spec.end, server, lookaheads.server, lookaheads.client)}
{
    const std::optional<UplinksSpec>& uplinks = m_spec.uplinks;
    const bool areNumbered =
        uplinks && uplinks->use != UplinkUse::FAIL_OVER && uplinks->use != UplinkUse::FLOWS;
    for (End sender : ENDS)
    {
        if (areNumbered && !m_spec.fec)
        {
            m_ends[Other(sender)].Order() =
                std::make_unique<ReorderBuffer>(client.Loop(), uplinks->reorder);
        }
        if (m_spec.fec)
        {
            ProgramQueue& socket = m_ends[Other(sender)].Socket();
            m_fec[sender] = std::make_unique<FecDirection>(client.Loop(),
                                                           *m_spec.fec,
                                                           m_spec.outer,
                                                           socket,
                                                           m_counters[sender].outer);
        }
    }
}

void
DatagramTunnel::CatchUp(int64_t now)
{
    for (End end : ENDS)
    {
        m_ends[end].Device().CatchUp(now);
    }
    for (End end : ENDS)
    {
        m_ends[end].Socket().CatchUp(now);
    }
}

void
DatagramTunnel::StartMeasuring()
{
    for (End sender : ENDS)
    {
        if (m_fec[sender])
        {
            m_fec[sender]->StartMeasuring();
        }
        if (ReorderBuffer* order = OrderAt(sender))
        {
            order->StartMeasuring();
        }
    }
}

DatagramChannel&
DatagramTunnel::AddChannel(End sender, const Channel& path, const TcpSpec& tcp)
{
    return *m_channels.emplace_back(std::make_unique<DatagramChannel>(m_spec.outer,
                                                                      tcp,
                                                                      m_spec.ecn.copied,
                                                                      m_ends[sender],
                                                                      m_ends[Other(sender)],
                                                                      path,
                                                                      m_counters[sender],
                                                                      m_fec[sender].get()));
}

} // namespace tunnelcc
