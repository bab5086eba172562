/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-stream.h"

#include "node-cpu.h"

namespace tunnelcc
{

NodeStream::NodeStream(const TunnelPlace& place, const StreamTunnelSpec& spec)
    : m_place(place),
      m_spec(spec),
      m_door(place)
{
    for (End end : ENDS)
    {
        m_ports[end] = std::make_unique<PacketPort>(place.NodeOf(end),
                                                    static_cast<uint16_t>(spec.writes.size() - 1));
    }
}

ns3::NetDeviceContainer
NodeStream::Devices() const
{
    ns3::NetDeviceContainer devices(m_ports.client->Device());
    devices.Add(m_ports.server->Device());
    return devices;
}

void
NodeStream::Start(int64_t now)
{
    for (End end : ENDS)
    {
        m_bytes[end] = std::make_unique<CarrierBytes>(m_streams[end],
                                                      m_spec.handshake,
                                                      end,
                                                      m_spec.layers[end],
                                                      m_place.Spec().packets);
        m_ends[end] = std::make_unique<StreamTunnelEnd>(m_spec,
                                                        end,
                                                        m_spec.layers[end],
                                                        m_streams[end],
                                                        NodeCpu::Of(m_place.NodeOf(end)),
                                                        m_logs);
        m_ends[end]->SetWatcher(&m_bytes[end]->Contents());
    }
    for (End end : ENDS)
    {
        m_ports[end]->Open(*m_ends[end], *m_ports[Other(end)], m_inside[end], m_inside[Other(end)]);
    }
    m_door.Open();
    m_door.Expect(m_streams.client, m_streams.server);
    m_streams.client.Connect(now);
}

void
NodeStream::Stop(int64_t /* now */)
{
    m_door.Close();
    for (End end : ENDS)
    {
        m_ports[end]->Close();
        m_streams[end].Abandon();
    }
}

} // namespace tunnelcc
