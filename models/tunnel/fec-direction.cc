/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fec-direction.h"

namespace tunnelcc
{

void
FecDirection::SendShard(int64_t now, Packet& shard, uint32_t bytes)
{
    const std::vector<uint32_t>& outer = m_sizes[bytes];
    bool isParity = shard.IsParity();
    shard.sink = this;
    m_counters.Count(outer);
    if (isParity)
    {
        m_parity.Count(outer);
    }
    Packet fragment = shard;
    fragment.kind = PacketKind::FRAGMENT;
    for (size_t i = 0; i + 1 < outer.size(); ++i)
    {
        m_path->Send(now, fragment, outer[i]);
    }
    m_path->Send(now, shard, outer.back());
}

void
FecDirection::Receive(int64_t now, const Packet& packet, const PacketExtras* extras)
{
    bool isFragment = packet.kind == PacketKind::FRAGMENT;
    uint32_t bytes = packet.shardBytes;
    auto fragments = isFragment ? 0 : static_cast<uint32_t>(m_sizes[bytes].size()) - 1;
    if (!isFragment && fragments == 0)
    {
        m_socket.Enqueue(now, packet, bytes, nullptr, *this);
    }
    else if (const auto* whole = m_reassembler.Add(packet, extras, fragments))
    {
        m_socket.Enqueue(now, whole->packet, bytes, nullptr, *this);
    }
}

void
FecDirection::OnHandled(int64_t now,
                        Packet& packet,
                        uint32_t /* bytes */,
                        const PacketExtras* /* extras */)
{
    m_decoder.Receive(now, packet);
}

} // namespace tunnelcc
