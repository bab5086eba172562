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

    /// Counts since the simulation began.
    FecCounters Counters() const
    {
        return m_log.CountBefore(m_newest);
    }

    /// How much later than a packet, its group's shard left that brought it back, ns.
    const Histogram& RecoveryDelay() const
    {
        return m_recoveryDelay;
    }

  private:
    void Deliver(int64_t now, FecGroup& group, FecPacket& packet, bool isCe);
    void Decode(int64_t now, const Packet& shard, FecGroup& group);

    const FecSpec& m_spec;
    FecLog& m_log;
    uint64_t m_newest{0}; //!< group of which a shard arrived
    Histogram m_recoveryDelay;
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_DECODER_H
