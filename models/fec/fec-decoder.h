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

/// The receiving end of FEC. It takes shards and delivers packets to their sinks.
class FecDecoder
{
  public:
    /**
     * \param spec the code; outlives the decoder
     * \param log has the packets that were sent
     */
    FecDecoder(const FecSpec& spec, FecLog& log)
        : m_spec(spec),
          m_log(log)
    {
    }

    /// Receive a shard.
    void Receive(int64_t now, const Packet& shard);

    /// Counts of the measured groups whose shards are no longer on the path: they were sent longer
    /// ago than any shard took so far. The other groups are neither lost nor repaired yet.
    FecCounters Counters(int64_t now) const
    {
        return m_log.CountUntil(now - m_longest);
    }

    /// Delays of recovered packets, ns: from the time a packet was sent to the time at which the
    /// shard was sent that recovered it.
    const Histogram& RecoveryDelay() const
    {
        return m_recoveryDelay;
    }

  private:
    /// Time at which a shard left the encoder, ns.
    int64_t SentTime(const Packet& shard, const FecGroup& group);
    /// A data shard arrived after its group was decoded without it.
    void TakeLate(FecGroup& group) const;
    void Deliver(int64_t now, FecGroup& group, FecPacket& packet, bool isCe);
    void Decode(int64_t now, const Packet& shard, FecGroup& group);

    const FecSpec& m_spec;
    FecLog& m_log;
    uint64_t m_newest{0}; //!< the newest group of which a shard arrived
    int64_t m_longest{0}; //!< the longest time that a shard took, ns
    Histogram m_recoveryDelay;
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_DECODER_H
