/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "datagram-source.h"

namespace tunnelcc
{

DatagramSource::DatagramSource(const DatagramSpec& spec, const Channel& channel)
    : m_spec(spec),
      m_channel(channel)
{
    m_loop.Insert(TimeOf(0), m_rank, this);
}

int64_t
DatagramSource::TimeOf(uint64_t packet) const
{
    double bits = static_cast<double>(packet) * m_spec.packet * 8;
    auto sending = static_cast<int64_t>(bits / m_spec.rate * 1e9);
    int64_t silence = m_spec.on > 0 ? sending / m_spec.on * m_spec.off : 0;
    return m_spec.start + sending + silence;
}

void
DatagramSource::Fire(int64_t now)
{
    if (m_spec.stop > 0 && now >= m_spec.stop)
    {
        return;
    }
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.sink = &m_sink;
    packet.segment = static_cast<uint32_t>(m_sent++);
    packet.datagramBytes = m_spec.packet;
    m_channel.Send(now, packet, m_spec.packet);
    m_loop.Insert(TimeOf(m_sent), m_rank, this);
}

} // namespace tunnelcc
