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
class QuicTunnelBuilder final : public PacketTunnelBuilder
{
  public:
    /// \param number of the tunnel in the experiment's list
    /// \param firstCarrier as of RelayBuilder
    QuicTunnelBuilder(const Site& site,
                      const QuicTunnelSpec& spec,
                      uint32_t number,
                      uint32_t firstCarrier);

    void Begin() override;
    Sockets AddFlow(uint32_t index, Flow& flow) override;
    PerEnd<Channel> AddDatagrams(const FlowSpec& spec, UdpParts& parts) override;
    PerEnd<Channel> ChannelsFor(const FlowSpec& flow) override;
    EventSources Dial() override;

    PacketTunnel* Packets() const override
    {
        return m_packets.get();
    }

  private:
    const QuicTunnelSpec& m_spec;
    const uint32_t m_number;
    const uint32_t m_firstCarrier;
    Leg* m_carrier{nullptr}; //!< from Begin() on, as the next
    std::unique_ptr<QuicTunnel> m_packets;
};

} // namespace tunnelcc

#endif // TUNNELCC_QUIC_TUNNEL_BUILDER_H
