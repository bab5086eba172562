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

/// Sends shards.
class ShardSender
{
  public:
    virtual ~ShardSender() = default;

    /**
     * Send a shard.
     * \param now ns
     * \param shard of kind FEC; the sender sets its sink
     * \param bytes of it
     */
    virtual void SendShard(int64_t now, Packet& shard, uint32_t bytes) = 0;
};

/// The sending half of FEC: puts packets into groups, and adds parity to each.
class FecEncoder
{
  public:
    /**
     * \param spec of the code; outlives the encoder
     * \param log where the packets stay
     * \param sender takes the shards
     */
    FecEncoder(const FecSpec& spec, FecLog& log, ShardSender& sender)
        : m_spec(spec),
          m_log(log),
          m_sender(sender),
          m_timeout(this)
    {
    }

    /**
     * Protect and send a packet.
     * \param now ns
     * \param packet the packet; its sink takes it at the far end
     * \param ipBytes its size
     * \param extras what goes with it, if Packet::HasExtras()
     */
    void Send(int64_t now, const Packet& packet, uint32_t ipBytes, const PacketExtras* extras);

    /// The number of data shards into which a blob is cut: that with the least bytes in all.
    static uint32_t DataShards(const FecSpec& spec, uint32_t blobBytes);

  private:
    void SendPacket(int64_t now, const Packet& packet, uint32_t bytes, const PacketExtras* extras);
    void AddToBlob(int64_t now, const Packet& packet, uint32_t bytes, const PacketExtras* extras);
    FecGroup& CurrentGroup(int64_t now);
    void Close(int64_t now);
    /// \param place of the first, as Packet::shardPlace
    /// \param packet that the shard is, whose ECN field it bears; null: it is none
    void SendShards(int64_t now,
                    uint32_t place,
                    uint32_t count,
                    uint32_t bytes,
                    const Packet* packet = nullptr);

    const FecSpec& m_spec;
    FecLog& m_log;
    ShardSender& m_sender;
    Timer<FecEncoder, &FecEncoder::Close> m_timeout;
    FecGroup* m_group{nullptr}; //!< the open one
    uint32_t m_bytes{0};        //!< PACKETS: of its longest shard; BLOB: of its packets
    uint32_t m_nextShard{0};    //!< number of the next shard of all
    int64_t m_latest{0};        //!< PACKETS: when the latest packet came
    bool m_isLate{false};       //!< it came FecSpec::gap after the one before
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_ENCODER_H
