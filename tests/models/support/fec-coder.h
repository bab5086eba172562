/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_CODER_H
#define TUNNELCC_FEC_CODER_H

#include "fec/fec-decoder.h"
#include "fec/fec-encoder.h"
#include "support/simulation-test-case.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

/**
 * \file
 * Codes for the tests, and an encoder and a decoder that are joined.
 */
namespace tunnelcc
{

inline constexpr uint32_t IP_BYTES = 1000;

/// What a packet is to FEC, by its IP bytes: itself.
inline std::vector<uint32_t>
Identity(uint32_t largest)
{
    std::vector<uint32_t> sizes(largest + 1);
    for (uint32_t i = 0; i <= largest; ++i)
    {
        sizes[i] = i;
    }
    return sizes;
}

/// \param parity of groups of every size
inline FecSpec
MakeCode(uint32_t data, uint32_t parity)
{
    FecSpec spec;
    spec.data = data;
    spec.parity.assign(data, parity);
    spec.memory = 3;
    spec.inner = Identity(2 * IP_BYTES);
    return spec;
}

/// The same with packets that are joined, any number in a group.
inline FecSpec
MakeBlobCode(uint32_t data, uint32_t parity)
{
    FecSpec spec = MakeCode(data, parity);
    spec.blob = FecBlobSpec{.mtu = IP_BYTES, .packets = UINT32_MAX};
    return spec;
}

inline Packet
MakePacket(uint32_t segment, PacketSink& sink)
{
    Packet packet{};
    packet.kind = PacketKind::DATAGRAM;
    packet.segment = segment;
    packet.sink = &sink;
    return packet;
}

/// Encoder and decoder, with shards that take no time in between.
class FecCoder final : private ShardSender, private PacketSink
{
  public:
    struct Shard
    {
        bool isParity;
        uint32_t bytes;
        bool operator==(const Shard&) const = default;
    };

    /// \param isLost asked for each shard
    explicit FecCoder(
        const FecSpec& spec,
        std::function<bool()> isLost = [] { return false; })
        : m_spec(spec),
          m_isLost(std::move(isLost))
    {
    }

    void Send(int64_t now, uint32_t ipBytes = IP_BYTES)
    {
        Packet packet = MakePacket(m_sent++, *this);
        packet.isEct = isEct;
        packet.isL4s = isEct;
        m_encoder.Send(now, packet, ipBytes, nullptr);
    }

    /// What a group was sent as.
    struct Group
    {
        uint32_t packets;
        uint32_t data; //!< shards
        uint32_t parity;
        uint32_t dataBytes; //!< of the longest
        uint32_t parityBytes;
    };

    /// The groups so far, in order.
    std::vector<Group> Groups()
    {
        std::vector<Group> groups;
        for (auto& [low, group] : m_groups)
        {
            group.packets = m_log.Find(low)->items;
            groups.push_back(group);
        }
        return groups;
    }

    /// Take a shard that was held back.
    void Release(int64_t now, size_t index)
    {
        decoder.Receive(now, held[index]);
    }

    std::vector<Shard> shards;       //!< as they left, if isNoting
    std::vector<uint32_t> delivered; //!< numbers of packets, if isNoting
    std::vector<Packet> held;        //!< shards, if isHolding
    std::vector<uint32_t> marked;    //!< those of them that bear CE
    bool isNoting{true};
    bool isHolding{false};
    bool isEct{false}; //!< what is sent can be marked, by L4S

    /// Packets counted so far that parity repaired.
    uint64_t Recovered() const
    {
        return m_log.CountUntil(std::numeric_limits<int64_t>::max()).recovered;
    }

  private:
    void SendShard(int64_t now, Packet& shard, uint32_t bytes) override
    {
        if (isNoting)
        {
            bool isParity = shard.IsParity();
            shards.push_back({isParity, bytes});
            Group& group = m_groups[shard.shardGroup];
            (isParity ? group.parity : group.data) += 1;
            uint32_t& most = isParity ? group.parityBytes : group.dataBytes;
            most = std::max(most, bytes);
        }
        if (isHolding)
        {
            held.push_back(shard);
        }
        else if (!m_isLost())
        {
            decoder.Receive(now, shard);
        }
    }

    void Receive(int64_t /* now */, const Packet& packet, const PacketExtras* /* extras */) override
    {
        if (isNoting)
        {
            delivered.push_back(packet.segment);
            if (packet.isCe)
            {
                marked.push_back(packet.segment);
            }
        }
    }

    const FecSpec m_spec;
    std::function<bool()> m_isLost;
    FecLog m_log;
    FecEncoder m_encoder{TestLoop(), m_spec, m_log, *this};
    uint32_t m_sent{0};
    std::map<uint32_t, Group> m_groups;

  public:
    FecDecoder decoder{m_spec, m_log};
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_CODER_H
