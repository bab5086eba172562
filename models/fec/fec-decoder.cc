/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fec-decoder.h"

#include <algorithm>

namespace tunnelcc
{

namespace
{

/// Groups whose packets are kept for data shards that come later than the decoder's memory reaches.
constexpr uint64_t KEPT = 256;

} // namespace

void
FecDecoder::Receive(int64_t now, const Packet& shard)
{
    FecGroup* group = m_log.Find(shard.shardGroup);
    if (!group)
    {
        return; // as if lost
    }
    const uint64_t number = m_log.NumberOf(shard.shardGroup);
    ++group->arrived;
    m_longest = std::max(m_longest, now - SentTime(shard, *group));
    bool isData = !shard.IsParity();
    group->dataArrived += isData;
    if (isData && group->recovered > 0)
    {
        TakeLate(*group);
    }
    if (isData && !m_spec.blob)
    {
        FecPacket& packet = m_log.ItemOf(*group, shard.shardPlace);
        if (!packet.isDelivered)
        {
            Deliver(now, *group, packet, shard.isCe);
        }
    }
    bool isEnough = group->dataShards > 0 && group->arrived >= group->dataShards;
    if (isEnough && !group->isDecoded && number + m_spec.memory >= m_newest)
    {
        Decode(now, shard, *group);
    }
    if (number > m_newest)
    {
        m_newest = number;
        uint64_t kept = m_spec.memory + KEPT;
        m_log.ForgetBefore(number - std::min(number, kept));
    }
}

int64_t
FecDecoder::SentTime(const Packet& shard, const FecGroup& group)
{
    bool leftAtClose = shard.IsParity() || m_spec.blob;
    return leftAtClose ? group.closed : m_log.ItemOf(group, shard.shardPlace).packet.time;
}

void
FecDecoder::TakeLate(FecGroup& group) const
{
    // It had only been overtaken, so that parity repaired nothing in its place. A blob comes whole
    // or not at all.
    if (!m_spec.blob)
    {
        --group.recovered;
    }
    else if (group.dataArrived == group.dataShards)
    {
        group.recovered = 0;
    }
}

void
FecDecoder::Decode(int64_t now, const Packet& shard, FecGroup& group)
{
    group.isDecoded = true;
    bool needsParity = group.dataArrived < group.dataShards;
    if (!needsParity && !m_spec.blob)
    {
        return;
    }
    const int64_t left = SentTime(shard, group);
    for (uint32_t i = 0; i < group.items; ++i)
    {
        FecPacket& packet = m_log.ItemOf(group, i);
        if (packet.isDelivered)
        {
            continue;
        }
        if (needsParity)
        {
            ++group.recovered;
            m_recoveryDelay.Record(std::max<int64_t>(left - packet.packet.time, 0));
        }
        Deliver(now, group, packet, false);
    }
}

void
FecDecoder::Deliver(int64_t now, FecGroup& group, FecPacket& packet, bool isCe)
{
    packet.isDelivered = true;
    ++group.delivered;
    // What the packet is answered with goes into the other direction's log: this one stays in
    // place.
    Packet delivered = packet.packet;
    delivered.isCe |= isCe;
    delivered.sink->Receive(now, delivered, &packet.extras);
}

} // namespace tunnelcc
