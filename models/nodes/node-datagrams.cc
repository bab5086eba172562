/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-datagrams.h"

#include "node-cpu.h"
#include "wire/datagram-format.h"
#include "zeros.h"

#include <utility>

namespace tunnelcc
{

namespace
{

const TcpSpec NO_TCP; // packets tell their size

/// A tunnel whose datagrams are whole: IP of ns-3 makes the fragments.
DatagramTunnelSpec
Whole(DatagramTunnelSpec spec, const TunnelPlace& place)
{
    for (auto& packets : spec.outer)
    {
        if (packets.size() > 1 && !place.Spec().packets.splits)
        {
            uint32_t whole = place.IpHeaderBytes();
            for (uint32_t bytes : packets)
            {
                whole += bytes - place.IpHeaderBytes();
            }
            packets = {whole};
        }
    }
    return spec;
}

} // namespace

NodeDatagrams::NodeDatagrams(const TunnelPlace& place, DatagramTunnelSpec spec)
    : m_place(place),
      m_spec(Whole(std::move(spec), place)),
      m_header(place.IpHeaderBytes() + (place.Spec().packets.hasUdp ? 8 : 0))
{
    const auto& sizes = m_spec.fec ? m_spec.fec->inner.size() : m_spec.outer.size();
    for (End end : ENDS)
    {
        m_ports[end] =
            std::make_unique<PacketPort>(place.NodeOf(end), static_cast<uint16_t>(sizes - 1));
    }
}

ns3::NetDeviceContainer
NodeDatagrams::Devices() const
{
    ns3::NetDeviceContainer devices(m_ports.client->Device());
    devices.Add(m_ports.server->Device());
    return devices;
}

void
NodeDatagrams::Start(int64_t /* now */)
{
    const ns3::Address& to = m_place.ServerAddress();
    const bool hasUdp = m_place.Spec().packets.hasUdp;
    for (End end : ENDS)
    {
        m_gates[end] = std::make_unique<DatagramGate>(m_place.NodeOf(end),
                                                      hasUdp,
                                                      m_place.AnyAddress(end == End::SERVER));
    }
    m_ways.client = std::make_unique<DatagramWay>(*m_gates.client, *m_gates.server, to, m_header);
    m_ways.server = std::make_unique<DatagramWay>(*m_gates.server,
                                                  *m_gates.client,
                                                  m_gates.client->At(m_place.ClientAddress()),
                                                  m_header);
    DatagramWay::Join(*m_ways.client, *m_ways.server);
    m_packets = std::make_unique<DatagramTunnel>(m_spec,
                                                 NodeCpu::Of(m_place.NodeOf(End::CLIENT)),
                                                 NodeCpu::Of(m_place.NodeOf(End::SERVER)),
                                                 PerEnd<Lookahead>{});
    for (End end : ENDS)
    {
        m_ways[end]->SetWriter([this, end](const auto& sent) { return Write(end, sent); });
        DatagramChannel& into = m_packets->AddChannel(end, Channel(*m_ways[end]), NO_TCP);
        m_ports[end]->Open(into, *m_ports[Other(end)], m_inside[end], m_inside[Other(end)]);
    }
}

void
NodeDatagrams::Stop(int64_t /* now */)
{
    for (End end : ENDS)
    {
        m_ports[end]->Close();
    }
}

ns3::Ptr<ns3::Packet>
NodeDatagrams::Write(End sender, const DatagramWay::Sent& sent)
{
    std::vector<uint8_t> head;
    const CaptureTunnelSpec& looks = m_place.Spec().packets;
    const uint32_t self = sender == End::CLIENT ? 1 : 2;
    const bool isPlain =
        WriteTunnelHeaders(looks, m_sent[sender]++, sent.payload, {self, 3 - self}, head);
    head.resize(std::min<size_t>(head.size(), sent.payload));
    auto datagram = ns3::Create<ns3::Packet>(head.data(), static_cast<uint32_t>(head.size()));
    const bool isWhole = isPlain && !looks.splits && sent.packet.kind == PacketKind::DATAGRAM;
    const auto inner = isWhole ? m_inside[sender].Of(sent.packet.segment) : nullptr;
    if (inner && datagram->GetSize() + inner->GetSize() <= sent.payload)
    {
        datagram->AddAtEnd(inner);
    }
    AddZeros(datagram, sent.payload - datagram->GetSize());
    return datagram;
}

} // namespace tunnelcc
