/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_DATAGRAM_TUNNEL_BUILDER_H
#define TUNNELCC_DATAGRAM_TUNNEL_BUILDER_H

#include "path/clocked-path.h"
#include "tunnel-builder.h"
#include "tunnel/datagram-tunnel.h"
#include "tunnel/nested-packets.h"
#include "tunnel/uplinks.h"

#include <deque>
#include <map>
#include <optional>
#include <tuple>

namespace tunnelcc
{

/// Makes a datagram tunnel.
class DatagramTunnelBuilder final : public PacketTunnelBuilder
{
  public:
    /// \param number of the tunnel in the experiment's list
    DatagramTunnelBuilder(const Site& site, const DatagramTunnelSpec& spec, uint32_t number);

    Sockets AddFlow(uint32_t index, Flow& flow) override;
    PerEnd<Channel> AddDatagrams(const FlowSpec& spec, UdpParts& parts) override;
    PerEnd<Channel> ChannelsFor(const FlowSpec& flow) override;

    PacketTunnel* Packets() const override
    {
        return m_packets.get();
    }

    PerEnd<DatagramSide*> RelaysBelow() const override
    {
        return m_nested.datagrams ? m_nested.datagrams->relays : PerEnd<DatagramSide*>{};
    }

  private:
    /// The flow's extra delays (ns) by the tunnel's end that sends, and the number of the uplink.
    using ChannelKey = std::tuple<int64_t, int64_t, uint32_t>;

    Lookahead LookaheadOf(End sender) const;
    Channel PathChannel(End sender, int64_t extraDelay, uint32_t uplink);
    Channel TunnelChannel(End sender, int64_t extraDelay, uint32_t uplink);
    PerEnd<Channel> UplinkChannels();
    PerEnd<Channel> ThroughAnother();
    const PerEnd<Channel>& TunnelChannels(const FlowSpec& flow);

    const DatagramTunnelSpec& m_spec;
    const uint32_t m_number;
    const PerEnd<Lookahead> m_lookaheads;
    const std::unique_ptr<DatagramTunnel> m_packets;
    std::map<ChannelKey, PerEnd<Channel>> m_channels;
    std::optional<PerEnd<Channel>> m_below; //!< the way of its packets through another tunnel, or
                                            //!< over several routes
    std::deque<ClockedPath> m_clockedPaths;
    std::deque<NestedPackets> m_nestedPackets; //!< of each end, through another tunnel
    Flow m_nested;                             //!< what it sends through that
    std::deque<Uplinks> m_uplinks;
};

} // namespace tunnelcc

#endif // TUNNELCC_DATAGRAM_TUNNEL_BUILDER_H
