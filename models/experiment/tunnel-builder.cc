/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tunnel-builder.h"

namespace tunnelcc
{

PerEnd<Channel>
Site::ChannelsOf(uint32_t route, const FlowSpec& flow) const
{
    return MakePerEnd(flow.sender, [&](End sender) {
        return network.ChannelFrom(route, sender, flow.extraDelay[sender]);
    });
}

PerEnd<Channel>
Site::ChannelsThrough(uint32_t tunnel, const FlowSpec& flow) const
{
    return dynamic_cast<PacketTunnelBuilder*>(tunnels.at(tunnel).get())->ChannelsFor(flow);
}

CaptureInterface
Site::InterfaceOf(const FlowSpec& flow) const
{
    if (!IsInside(flow))
    {
        return CaptureInterface::LINK;
    }
    return std::holds_alternative<RelaySpec>(spec.tunnels.at(*flow.tunnel))
               ? CaptureInterface::LOOPBACK
               : CaptureInterface::DEVICE;
}

Channel
PacketTunnelBuilder::BetweenGateways(const FlowSpec& flow, End sender, const Channel& tunnel)
{
    Channel channel = tunnel;
    if (const auto& behind = flow.access.routes[Other(sender)])
    {
        const Channel onward = m_site.network.ChannelFrom(*behind, sender, flow.extraDelay[sender]);
        channel = Channel(m_gateways.emplace_back(channel, onward, m_site.spec.tcp.at(flow.tcp)));
    }
    if (const auto& before = flow.access.routes[sender])
    {
        channel = m_site.network.ChannelFrom(*before, sender, 0, &channel);
    }
    return channel;
}

PerEnd<int64_t>
DelaysInTunnel(const FlowSpec& flow)
{
    return MakePerEnd(End::CLIENT, [&](End near) {
        const End sender = flow.access.Near(near); // turned twice is not turned
        return flow.access.routes[Other(sender)] ? int64_t{0} : flow.extraDelay[sender];
    });
}

} // namespace tunnelcc
