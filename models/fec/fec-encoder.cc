/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fec-encoder.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

uint32_t
DivideUp(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

} // namespace

void
FecEncoder::Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras)
{
    uint32_t bytes = m_spec.inner.empty() ? ipBytes : m_spec.inner[ipBytes];
    if (m_spec.blob)
    {
        AddToBlob(now, packet, bytes + m_spec.blob->packetHeader, extras);
    }
    else
    {
        SendPacket(now, packet, bytes, extras);
    }
}

FecGroup&
FecEncoder::CurrentGroup(int64_t now)
{
    if (!m_group)
    {
        m_group = &m_log.Open({});
        m_bytes = 0;
        if (m_spec.timeout > 0)
        {
            m_timeout.Set(now + m_spec.timeout);
        }
    }
    return *m_group;
}

void
FecEncoder::SendPacket(int64_t now,
                       const Packet& packet,
                       uint32_t bytes,
                       const PacketExtras* extras)
{
    FecGroup& group = CurrentGroup(now);
    m_log.Add(group, now, packet, extras);
    m_bytes = std::max(m_bytes, bytes);
    SendShards(now, group.items - 1, 1, bytes, &packet);
    m_isLate = m_spec.gap > 0 && now - m_latest >= m_spec.gap;
    m_latest = now;
    if (group.items == m_spec.data)
    {
        Close(now);
    }
}

void
FecEncoder::AddToBlob(int64_t now, const Packet& packet, uint32_t bytes, const PacketExtras* extras)
{
    if (m_group && m_spec.blob->header + m_bytes + bytes > m_spec.data * m_spec.blob->mtu)
    {
        Close(now);
    }
    FecGroup& group = CurrentGroup(now);
    m_log.Add(group, now, packet, extras);
    m_bytes += bytes;
    if (group.items == m_spec.blob->packets)
    {
        Close(now);
    }
}

uint32_t
FecEncoder::DataShards(const FecSpec& spec, uint32_t blobBytes)
{
    // UDPspeeder: as if one more packet of no bytes were in the blob; the largest number if none is
    // better.
    uint32_t bytes = blobBytes + spec.blob->packetHeader;
    auto cost = [&](uint32_t data) {
        return (DivideUp(bytes, data) + spec.blob->cost) * (data + spec.parity[data - 1]);
    };
    uint32_t best = spec.data;
    for (uint32_t data = 1; data < spec.data; ++data)
    {
        if (DivideUp(bytes, data) <= spec.blob->mtu && cost(data) < cost(best))
        {
            best = data;
        }
    }
    return best;
}

void
FecEncoder::Close(int64_t now)
{
    FecGroup& group = *m_group;
    uint32_t bytes = m_bytes;
    group.closed = now;
    group.dataShards = group.items;
    if (m_spec.blob)
    {
        uint32_t blob = m_spec.blob->header + m_bytes;
        group.dataShards = DataShards(m_spec, blob);
        bytes = DivideUp(blob, group.dataShards);
        SendShards(now, 0, group.dataShards, bytes);
    }
    uint32_t parity = m_spec.parity[group.dataShards - 1];
    if (m_isLate)
    {
        m_nextShard += parity; // left out, but for their numbers
    }
    else
    {
        SendShards(now, Packet::PARITY, parity, bytes);
    }
    m_group = nullptr;
    m_timeout.Cancel();
}

void
FecEncoder::SendShards(int64_t now,
                       uint32_t place,
                       uint32_t count,
                       uint32_t bytes,
                       const Packet* packet)
{
    Packet shard{};
    shard.kind = PacketKind::FEC;
    shard.isEct = packet && packet->isEct;
    shard.isL4s = packet && packet->isL4s;
    shard.shardGroup = static_cast<uint32_t>(m_log.Newest());
    shard.shardBytes = bytes;
    for (uint32_t i = 0; i < count; ++i)
    {
        shard.segment = m_nextShard++;
        shard.shardPlace = static_cast<uint16_t>(place + i);
        m_sender.SendShard(now, shard, bytes);
    }
}

} // namespace tunnelcc
