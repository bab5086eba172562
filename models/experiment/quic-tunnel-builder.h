/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_QUIC_TUNNEL_BUILDER_H
#define TUNNELCC_QUIC_TUNNEL_BUILDER_H

#include "tunnel-builder.h"
#include "tunnel/quic-tunnel.h"

namespace tunnelcc
{

/// Makes a tunnel that carries packets in DATAGRAM frames.
class QuicTunnelBuilder final : public CarriedTunnelBuilder
{
  public:
    /// \param number,firstCarrier as of CarriedTunnelBuilder
    QuicTunnelBuilder(const Site& site,
                      const QuicTunnelSpec& spec,
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

    const LegEnds<QuicConnection>& Ends() const;

    const QuicTunnelSpec& m_spec;
    std::unique_ptr<QuicTunnel> m_packets; //!< from Begin() on
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_TUNNEL_BUILDER_H
