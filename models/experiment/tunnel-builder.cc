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

std::vector<PerEnd<Channel>>
Site::ChannelsOf(const MultipathSpec& multipath, const FlowSpec& flow) const
{
    std::vector<PerEnd<Channel>> channels;
    for (const SubflowSpec& path : multipath.paths)
    {
        channels.push_back(ChannelsOf(path.route, flow));
    }
    return channels;
}

PerEnd<Channel>
Site::ChannelsThrough(uint32_t tunnel, const FlowSpec& flow) const
{
    return dynamic_cast<PacketTunnelBuilder*>(tunnels.at(tunnel).get())->ChannelsFor(flow);
}

PerEnd<CaptureInterface>
Site::InterfacesOf(const FlowSpec& flow) const
{
    const PerEnd<std::optional<uint32_t>> inside = InsideOf(flow);
    return MakePerEnd(End::CLIENT, [&](End end) {
        return !inside[end] ? CaptureInterface::LINK
               : std::holds_alternative<RelaySpec>(spec.tunnels.at(*inside[end]))
                   ? CaptureInterface::LOOPBACK
                   : CaptureInterface::DEVICE;
    });
}

Channel
PacketTunnelBuilder::BetweenGateways(const FlowSpec& flow, End sender, const Channel& tunnel)
{
    Channel channel = tunnel;
    if (const auto& behind = flow.access.routes[Other(sender)])
    {
        Channel onward = m_site.network.ChannelFrom(*behind, sender, flow.extraDelay[sender]);
        if (Capture* capture = m_site.capture)
        {
            const uint32_t gateway = m_site.spec.routes[*behind].hosts[sender];
            onward =
                capture->AddPassing(gateway, CaptureInterface::LINK, CaptureDirection::OUT, onward);
            onward = capture->AddPassing(gateway,
                                         CaptureInterface::DEVICE,
                                         CaptureDirection::IN,
                                         onward);
        }
        channel = Channel(m_gateways.emplace_back(channel, onward, m_site.spec.tcp.at(flow.tcp)));
    }
    if (const auto& before = flow.access.routes[sender])
    {
        if (Capture* capture = m_site.capture)
        {
            const uint32_t gateway = m_site.spec.routes[*before].hosts[Other(sender)];
            channel = capture->AddPassing(gateway,
                                          CaptureInterface::DEVICE,
                                          CaptureDirection::OUT,
                                          channel);
            channel =
                capture->AddPassing(gateway, CaptureInterface::LINK, CaptureDirection::IN, channel);
        }
        channel = m_site.network.ChannelFrom(*before, sender, 0, &channel);
    }
    return channel;
}

FlowSpec
CarriedTunnelBuilder::Crossing() const
{
    const FlowSpec& first = FirstThrough(m_site.spec, m_number);
    FlowSpec crossing = first;
    crossing.sender = first.access.Near(first.sender);
    crossing.extraDelay = DelaysInTunnel(first);
    return crossing;
}

LegParts
CarriedTunnelBuilder::CarrierParts(const TcpSpec& tcp,
                                   const CongestionSpec& cc,
                                   uint32_t route,
                                   const std::optional<FlowSpec>& under)
{
    return {LegRole::CARRIER,
            0,
            m_firstCarrier,
            tcp,
            cc,
            under ? m_site.ChannelsThrough(*under->tunnel, *under)
                  : m_site.ChannelsOf(route, Crossing()),
            m_site.network.HostsOf(route),
            m_number,
            under ? InsideOf(*under) : PerEnd<std::optional<uint32_t>>{}};
}

PerEnd<Channel>
CarriedTunnelBuilder::ChannelsFor(const FlowSpec& flow)
{
    Begin();
    return MakePerEnd(End::CLIENT, [&](End sender) {
        const Channel inside(Device(flow.access.Near(sender)));
        return BetweenGateways(flow, sender, inside);
    });
}

Sockets
CarriedTunnelBuilder::AddFlow(uint32_t index, Flow& flow)
{
    const PerEnd<Channel> channels = ChannelsFor(m_site.spec.flows[index]);
    Sockets sockets = m_site.legs.AddApp(index, flow, std::nullopt, channels);
    flow.AddLegs(*m_carrier, m_paths);
    return sockets;
}

PerEnd<Channel>
CarriedTunnelBuilder::AddDatagrams(const FlowSpec& spec, UdpParts& parts)
{
    const PerEnd<Channel> channels = ChannelsFor(spec);
    parts.flow.AddLegs(*m_carrier, m_paths);
    return channels;
}

const FlowSpec&
FirstThrough(const ExperimentSpec& spec, uint32_t number)
{
    for (const FlowSpec& flow : spec.flows)
    {
        if (flow.tunnel == number)
        {
            return flow;
        }
    }
    for (const TunnelSpec& tunnel : spec.tunnels)
    {
        const FlowSpec* under = UnderOf(tunnel);
        if (under && under->tunnel == number)
        {
            return *under;
        }
    }
    return spec.flows.front(); // not reached: a specification without either is refused
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
