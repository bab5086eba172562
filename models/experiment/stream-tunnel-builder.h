/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_STREAM_TUNNEL_BUILDER_H
#define TUNNELCC_STREAM_TUNNEL_BUILDER_H

#include "tunnel-builder.h"
#include "tunnel/stream-tunnel.h"

namespace tunnelcc
{

/// Makes a stream tunnel.
class StreamTunnelBuilder final : public CarriedTunnelBuilder
{
  public:
    /// \param number,firstCarrier as of CarriedTunnelBuilder
    StreamTunnelBuilder(const Site& site,
                        const StreamTunnelSpec& spec,
                        uint32_t number,
                        uint32_t firstCarrier);

    void Begin() override;
    EventSources Dial() override;

    PacketTunnel* Packets() const override
    {
        return m_packets.get();
    }

  private:
    PacketDevice& Device(End sender) override
    {
        return m_packets->Device(sender);
    }

    PerEnd<StreamContents*> AddCarrier(const LegParts& parts);
    /// What the program at one end reads and writes.
    ByteStream& Carrier(End end) const;

    const StreamTunnelSpec& m_spec;
    std::unique_ptr<StreamTunnel> m_packets; //!< from Begin() on
};

} // namespace tunnelcc

#endif // TUNNELCC_STREAM_TUNNEL_BUILDER_H
