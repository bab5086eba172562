/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_FEC_DIRECTION_H
#define TUNNELCC_FEC_DIRECTION_H

#include "fec/fec-decoder.h"
#include "fec/fec-encoder.h"
#include "packet-tunnel.h"
#include "path/path.h"
#include "reassembler.h"

#include <cstdint>
#include <vector>

namespace tunnelcc
{

/// Sizes of the outer IP packets of a datagram, by the size of its content, bytes.
using OuterSizes = std::vector<std::vector<uint32_t>>;

/**
 * FEC in one direction of a datagram tunnel: encoder → shards on the path → socket → decoder. A
 * group has packets of all connections.
 *
 * A shard that is larger than the MTU leaves in fragments, and arrives if all of them arrive.
 */
class FecDirection final : private ShardSender, private PacketSink, private PacketHandler
{
  public:
    /**
     * \param spec the code; outlives the direction
     * \param sizes sizes of the outer packets of a shard
     * \param socket the socket of the far end's program
     * \param counters the counters of the direction
     */
    FecDirection(EventLoop& loop,
                 const FecSpec& spec,
                 const OuterSizes& sizes,
                 ProgramQueue& socket,
                 OuterCounters& counters)
        : m_sizes(sizes),
          m_socket(socket),
          m_counters(counters),
          m_encoder(loop, spec, m_log, *this),
          m_decoder(spec, m_log)
    {
    }

    /**
     * Send a packet, protected by parity.
     * \param now ns
     * \param packet the packet; its sink receives it at the far end
     * \param ipBytes its size, bytes
     * \param extras its extras, if Packet::HasExtras()
     * \param path the path that it takes
     */
    void Send(int64_t now,
              const Packet& packet,
              uint32_t ipBytes,
              const PacketExtras* extras,
              Channel& path)
    {
        m_path = &path;
        m_encoder.Send(now, packet, ipBytes, extras);
    }

    /// Begin to measure: count the groups that begin from now on.
    void StartMeasuring()
    {
        m_log.StartMeasuring();
    }

    FecReport Report(int64_t now) const
    {
        return {m_parity, m_decoder.Counters(now), m_decoder.RecoveryDelay()};
    }

  private:
    void SendShard(int64_t now, Packet& shard, uint32_t bytes) override;
    void Receive(int64_t now, const Packet& packet, const PacketExtras* extras) override;
    void OnHandled(int64_t now,
                   Packet& packet,
                   uint32_t ipBytes,
                   const PacketExtras* extras) override;

    const OuterSizes& m_sizes;
    ProgramQueue& m_socket;
    OuterCounters& m_counters; //!< counters of all shards
    OuterCounters m_parity;
    Channel* m_path{nullptr}; //!< path of the latest packet
    FecLog m_log;
    FecEncoder m_encoder;
    FecDecoder m_decoder;
    Reassembler m_reassembler;
};

} // namespace tunnelcc

#endif // TUNNELCC_FEC_DIRECTION_H
