/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_ENCODER_H
#define TUNNELCC_FEC_ENCODER_H

#include "event/timer.h"
#include "fec-log.h"
#include "spec/fec-spec.h"

#include <cstdint>

namespace tunnelcc
{

/// Sends the shards of an encoder.
class ShardSender
{
  public:
    virtual ~ShardSender() = default;

    /**
     * Send a shard.
     * \param now ns
     * \param shard a packet of kind FEC; the sender sets its sink
     * \param bytes its size
     */
    virtual void SendShard(int64_t now, Packet& shard, uint32_t bytes) = 0;
};

/// The sending end of FEC. It puts packets into groups and adds parity to each group.
class FecEncoder
{
  public:
    /**
     * \param spec the code; outlives the encoder
     * \param log keeps the packets
     * \param sender takes the shards
     */
    FecEncoder(EventLoop& loop, const FecSpec& spec, FecLog& log, ShardSender& sender)
        : m_spec(spec),
          m_log(log),
          m_sender(sender),
          m_timeout(loop, this)
    {
    }

    /**
     * Send a packet, protected by parity.
     * \param now ns
     * \param packet the packet; its sink receives it at the far end
     * \param ipBytes its size, bytes
     * \param extras its extras, if Packet::HasExtras()
     */
    void Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras);

    /// Number of data shards of a blob: the one with which all shards have the fewest bytes.
    static uint32_t DataShards(const FecSpec& spec, uint32_t blobBytes);

  private:
    void SendPacket(int64_t now, const Packet& packet, uint32_t bytes, const PacketExtras* extras);
    void AddToBlob(int64_t now, const Packet& packet, uint32_t bytes, const PacketExtras* extras);
    FecGroup& CurrentGroup(int64_t now);
    void Close(int64_t now);
    /// \param place of the first shard, see Packet::shardPlace
    /// \param packet the packet whose shard it is, and whose ECN field it has; null for parity
    void SendShards(int64_t now,
                    uint32_t place,
                    uint32_t count,
                    uint32_t bytes,
                    const Packet* packet = nullptr);

    const FecSpec& m_spec;
    FecLog& m_log;
    ShardSender& m_sender;
    Timer<FecEncoder, &FecEncoder::Close> m_timeout;
    FecGroup* m_group{nullptr}; //!< the group that takes packets now
    uint32_t m_bytes{0};        //!< PACKETS: size of its longest shard; BLOB: size of its packets
    uint32_t m_nextShard{0};    //!< number of the next shard of all
    int64_t m_latest{0};        //!< PACKETS: time of the latest packet, ns
    bool m_isLate{false};       //!< the latest packet came FecSpec::gap after the one before
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_ENCODER_H
