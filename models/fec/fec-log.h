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
    Packet packet; //!< its sink takes it at the far end; its time is when it came to the encoder
    PacketExtras extras;
    bool isDelivered;
};

/// A group: packets that are protected together, and how many of their shards arrived.
struct FecGroup
{
    uint64_t firstPacket{0}; //!< its number in the log
    uint32_t packets{0};
    uint32_t dataShards{0};  //!< 0: the group is open
    uint32_t arrived{0};     //!< shards of both kinds
    uint32_t dataArrived{0}; //!< data shards
    uint32_t delivered{0};   //!< packets
    uint32_t recovered{0};   //!< of them, because of parity, and not merely sooner
    int64_t closed{0};       //!< when, ns
    bool isDecoded{false};
};

/// What became of packets, of measured groups whose shards have had the time to arrive.
struct FecCounters
{
    uint64_t packets{0};   //!< protected
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
 * What one end of a tunnel has sent in shards: the contents of packets stay here, shards under way
 * only bear numbers. The encoder appends, the decoder looks up what it has the right to know.
 */
class FecLog
{
  public:
    /// Begin a group. \returns it, until the next begins
    FecGroup& Open()
    {
        FecGroup& group = m_groups.Push(FecGroup{});
        group.firstPacket = m_firstPacket + m_packets.Size();
        return group;
    }

    /// Number of the newest group. There is one.
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

    /// A group by its number's low 32 bits; null: it was forgotten. \param number is set to all
    /// bits
    FecGroup* Find(uint32_t low, uint64_t& number)
    {
        auto behind = static_cast<uint32_t>(Newest()) - low;
        number = Newest() - behind;
        return behind < m_groups.Size() ? &m_groups[m_groups.Size() - 1 - behind] : nullptr;
    }

    /// A packet of a group. \param index from 0
    FecPacket& PacketOf(const FecGroup& group, uint32_t index)
    {
        return m_packets[group.firstPacket - m_firstPacket + index];
    }

    /// Forget the groups before one, which is there.
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

    /// Count the groups that begin from now on.
    void StartMeasuring()
    {
        m_measuredFrom = m_firstGroup + m_groups.Size();
        m_counters = {};
    }

    /// Counts of the measured groups that were closed by `time` ns.
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
    FecCounters m_counters;     //!< of the groups that were forgotten
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_LOG_H
