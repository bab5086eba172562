/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_LOG_H
#define TUNNELCC_FEC_LOG_H

#include "event/sent-log.h"
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
struct FecGroup : SentGroup
{
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
        packets += group.items;
        recovered += group.recovered;
        lost += group.items - group.delivered;
    }
};

/// The packets that one end of a tunnel has sent in shards. The encoder appends them. The decoder
/// looks up those that its shards contain.
class FecLog final : public SentLog<FecGroup, FecPacket>
{
  public:
    /// Append a packet to the newest group.
    void Add(FecGroup& group, int64_t now, const Packet& packet, const PacketExtras* extras)
    {
        FecPacket& logged = Append(group);
        logged.packet = packet;
        logged.packet.time = now;
        logged.isDelivered = false;
        if (packet.HasExtras())
        {
            logged.extras = *extras;
        }
    }

    /// Drop the groups before a group. \pre it is in the log
    void ForgetBefore(uint64_t number)
    {
        while (Oldest() < number)
        {
            if (Oldest() >= m_measuredFrom)
            {
                m_counters.Add(Groups().Front());
            }
            RemoveOldest();
        }
    }

    /// Begin to measure: count the groups that begin from now on.
    void StartMeasuring()
    {
        m_measuredFrom = Oldest() + Groups().Size();
        m_counters = {};
    }

    /// Counts of the measured groups that were closed at `time` (ns) or earlier.
    FecCounters CountUntil(int64_t time) const
    {
        FecCounters counters = m_counters;
        for (size_t i = 0; i < Groups().Size(); ++i)
        {
            const FecGroup& group = Groups()[i];
            if (group.dataShards == 0 || group.closed > time)
            {
                break;
            }
            if (Oldest() + i >= m_measuredFrom)
            {
                counters.Add(group);
            }
        }
        return counters;
    }

  private:
    uint64_t m_measuredFrom{0}; //!< number of the first group that counts
    FecCounters m_counters;     //!< counts of the groups that were dropped
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_LOG_H
