/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_LOG_H
#define TUNNELCC_FEC_LOG_H

#include "event/fifo.h"
#include "path/histogram.h"
#include "path/packet.h"

#include <cstdint>

namespace tunnelcc
{

/// A packet in a group.
struct FecPacket
{
    Packet packet; //!< its sink is the receiver; its time is that of its arrival at the encoder
    PacketExtras extras;
    bool isDelivered;
};

/// A group: packets that are protected together, and how many of their shards arrived.
struct FecGroup
{
    uint64_t firstPacket{0}; //!< number of its first packet in the log
    uint32_t packets{0};
    uint32_t dataShards{0};  //!< 0 while the group takes packets
    uint32_t arrived{0};     //!< shards that arrived, data and parity
    uint32_t dataArrived{0}; //!< data shards that arrived
    uint32_t delivered{0};   //!< packets that were delivered
    uint32_t recovered{0};   //!< of them, those that would not have arrived without parity
    int64_t closed{0};       //!< time at which the group was closed, ns
    bool isDecoded{false};
};

/// Counts of the packets of measured groups whose shards are no longer on the path.
struct FecCounters
{
    uint64_t packets{0};   //!< packets with parity
    uint64_t recovered{0}; //!< of them, would not have arrived without parity
    uint64_t lost{0};      //!< of them, never arrived

    void Add(const FecGroup& group)
    {
        packets += group.packets;
        recovered += group.recovered;
        lost += group.packets - group.delivered;
    }
};

/**
 * The packets that one end of a tunnel has sent in shards. Shards on the path have numbers only, so
 * the packets stay here. The encoder appends them. The decoder looks up those that its shards
 * contain.
 */
class FecLog
{
  public:
    /// Begin a group. \returns the group; valid until the next one begins
    FecGroup& Open()
    {
        FecGroup& group = m_groups.Push(FecGroup{});
        group.firstPacket = m_firstPacket + m_packets.Size();
        return group;
    }

    /// Number of the newest group. \pre there is a group
    uint64_t Newest() const
    {
        return m_firstGroup + m_groups.Size() - 1;
    }

    /// Append a packet to the newest group.
    void Add(FecGroup& group, int64_t now, const Packet& packet, const PacketExtras* extras)
    {
        FecPacket& logged = m_packets.Append();
        logged.packet = packet;
        logged.packet.time = now;
        logged.isDelivered = false;
        if (packet.HasExtras())
        {
            logged.extras = *extras;
        }
        ++group.packets;
    }

    /// A group by the low 32 bits of its number; null if it was dropped from the log.
    /// \param number receives all bits of the number
    FecGroup* Find(uint32_t low, uint64_t& number)
    {
        auto behind = static_cast<uint32_t>(Newest()) - low;
        number = Newest() - behind;
        return behind < m_groups.Size() ? &m_groups[m_groups.Size() - 1 - behind] : nullptr;
    }

    /// A packet of a group. \param index its place in the group, from 0
    FecPacket& PacketOf(const FecGroup& group, uint32_t index)
    {
        return m_packets[group.firstPacket - m_firstPacket + index];
    }

    /// Drop the groups before a group. \pre it is in the log
    void ForgetBefore(uint64_t number)
    {
        while (m_firstGroup < number)
        {
            const FecGroup& group = m_groups.Front();
            if (m_firstGroup >= m_measuredFrom)
            {
                m_counters.Add(group);
            }
            m_firstPacket += group.packets;
            m_packets.Drop(group.packets);
            m_groups.Pop();
            ++m_firstGroup;
        }
    }

    /// Begin to measure: count the groups that begin from now on.
    void StartMeasuring()
    {
        m_measuredFrom = m_firstGroup + m_groups.Size();
        m_counters = {};
    }

    /// Counts of the measured groups that were closed at `time` (ns) or earlier.
    FecCounters CountUntil(int64_t time) const
    {
        FecCounters counters = m_counters;
        for (size_t i = 0; i < m_groups.Size(); ++i)
        {
            const FecGroup& group = m_groups[i];
            if (group.dataShards == 0 || group.closed > time)
            {
                break;
            }
            if (m_firstGroup + i >= m_measuredFrom)
            {
                counters.Add(group);
            }
        }
        return counters;
    }

  private:
    Fifo<FecPacket> m_packets;
    Fifo<FecGroup> m_groups;
    uint64_t m_firstPacket{0};  //!< number of the first in m_packets
    uint64_t m_firstGroup{0};   //!< number of the first in m_groups
    uint64_t m_measuredFrom{0}; //!< number of the first group that counts
    FecCounters m_counters;     //!< counts of the groups that were dropped
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_LOG_H
