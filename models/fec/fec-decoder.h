/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_DECODER_H
#define TUNNELCC_FEC_DECODER_H

#include "fec-log.h"
#include "spec/fec-spec.h"

#include <cstdint>

namespace tunnelcc
{

/// The receiving half of FEC: takes shards, and delivers packets to their sinks.
class FecDecoder
{
  public:
    /**
     * \param spec of the code; outlives the decoder
     * \param log where the packets are
     */
    FecDecoder(const FecSpec& spec, FecLog& log)
        : m_spec(spec),
          m_log(log)
    {
    }

    /// Take a shard.
    void Receive(int64_t now, const Packet& shard);

    /// Counts of the measured groups whose shards have had the time to arrive: as long as any shard
    /// took so far. A group whose last shards are under way is neither lost nor repaired yet.
    FecCounters Counters(int64_t now) const
    {
        return m_log.CountUntil(now - m_longest);
    }

    /// How much later than a packet, its group's shard left that brought it back, ns.
    const Histogram& RecoveryDelay() const
    {
        return m_recoveryDelay;
    }

  private:
    /// When a shard left the encoder, ns.
    int64_t SentTime(const Packet& shard, const FecGroup& group);
    /// A data shard came of a group that was decoded without it.
    void TakeLate(FecGroup& group) const;
    void Deliver(int64_t now, FecGroup& group, FecPacket& packet, bool isCe);
    void Decode(int64_t now, const Packet& shard, FecGroup& group);

    const FecSpec& m_spec;
    FecLog& m_log;
    uint64_t m_newest{0}; //!< group of which a shard arrived
    int64_t m_longest{0}; //!< that a shard took, ns
    Histogram m_recoveryDelay;
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_DECODER_H
