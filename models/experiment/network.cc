/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network.h"

#include <algorithm>

namespace tunnelcc
{

Network::Network(EventLoop& loop, const ExperimentSpec& spec, Capture* capture)
    : m_spec(spec),
      m_capture(capture),
      m_hostItself(loop)
{
    for (uint32_t number = 0; number < spec.links.size(); ++number)
    {
        m_links.emplace_back(loop, spec.links[number], spec.seed, number);
    }
    for (const HostSpec& host : spec.hosts)
    {
        m_machines.emplace_back(loop, spec.hosts.at(host.machine)); // idle if it is another host's
    }
    for (const HostSpec& host : spec.hosts)
    {
        m_hosts.emplace_back(m_machines.at(host.machine), host);
    }
}

PerEnd<Host&>
Network::HostsOf(uint32_t route)
{
    const PerEnd<uint32_t>& numbers = m_spec.routes.at(route).hosts;
    return {m_hosts.at(numbers.client), m_hosts.at(numbers.server)};
}

Channel
Network::ChannelFrom(uint32_t route, End sender, int64_t extraDelay, const Channel* onward)
{
    const std::vector<RouteStepSpec>& steps = m_spec.routes.at(route).sent[sender];
    MtuSource* source = nullptr;
    if (const LinkMtuSpec* mtu = MtuOn(route, sender))
    {
        source = &m_mtuSources.emplace_back(m_hostItself.Loop(), mtu->ipHeader);
        source->Share(m_routeMtus[{route, sender}]);
    }
    const PerEnd<uint32_t>& ends = m_spec.routes.at(route).hosts;
    const FlowHosts hosts{ends[sender], ends[Other(sender)]};
    auto into = [&](size_t place, int64_t extra) {
        const RouteStepSpec& step = steps[place];
        const Channel link(DirectionOf(step), SpecOf(step).delay + extra, hosts);
        const Channel out = Passing(steps, place, CaptureDirection::OUT, Captured(step, link));
        return Passing(steps,
                       place,
                       CaptureDirection::IN,
                       Gated(steps, place, out, source, hosts.source));
    };
    Channel channel = into(steps.size() - 1, extraDelay);
    // From the receiver to the sender, as each router knows the next one.
    RouteHop* next = onward ? &m_hops.emplace_back(*onward, nullptr) : nullptr;
    for (size_t left = steps.size() - 1; left > 0; --left)
    {
        next = &m_hops.emplace_back(channel, next);
        channel = into(left - 1, 0);
    }
    if (next)
    {
        channel = Channel(m_entries.emplace_back(channel, *next));
    }
    if (source)
    {
        source->SetOnward(channel);
        return Channel(*source);
    }
    return channel;
}

const LinkMtuSpec*
Network::MtuOn(uint32_t route, End sender) const
{
    for (const RouteStepSpec& step : m_spec.routes.at(route).sent[sender])
    {
        if (SpecOf(step).mtu.IsOn())
        {
            return &SpecOf(step).mtu;
        }
    }
    return nullptr;
}

Channel
Network::BackFrom(const std::vector<RouteStepSpec>& steps, size_t step)
{
    if (step == 0)
    {
        return Channel(m_hostItself, 0);
    }
    // From the sender to the router, as each knows the next one.
    auto turned = [&](size_t place) {
        return RouteStepSpec{steps[place].link, !steps[place].isReverse};
    };
    Channel channel = Captured(turned(0), Channel(DirectionOf(turned(0)), SpecOf(turned(0)).delay));
    for (size_t place = 1; place < step; ++place)
    {
        RouteHop& hop = m_hops.emplace_back(channel, place > 1 ? &m_hops.back() : nullptr);
        channel = Captured(turned(place),
                           Channel(DirectionOf(turned(place)), SpecOf(turned(place)).delay));
        if (place + 1 == step)
        {
            channel = Channel(m_entries.emplace_back(channel, hop));
        }
    }
    return channel;
}

Channel
Network::Gated(const std::vector<RouteStepSpec>& steps,
               size_t step,
               const Channel& channel,
               MtuSource* source,
               uint32_t host)
{
    const LinkMtuSpec& spec = SpecOf(steps[step]).mtu;
    if (!spec.IsOn())
    {
        return channel;
    }
    MtuMessages* messages = nullptr;
    if (spec.mtu > 0 && spec.tooBig == TooBig::TELL)
    {
        messages = &m_mtuMessages.emplace_back(*source, spec);
        Channel back = BackFrom(steps, step);
        if (m_capture)
        {
            back = m_capture->AddMessages(*messages, host, steps[step].link, back);
        }
        messages->SetBack(back);
    }
    return Channel(m_mtuGates.emplace_back(spec,
                                           channel,
                                           *DirectionOf(steps[step]).GetBottleneck(),
                                           *source,
                                           messages));
}

Channel
Network::InsideOf(const Channel& inside, Channel outer, const DatagramTunnelSpec& spec)
{
    MtuSource* outside = outer.GetMtuSource();
    if (!outside)
    {
        return inside;
    }
    MtuSource& source = m_mtuSources.emplace_back(outside->Loop(), outside->IpHeader());
    source.SetOnward(inside);
    source.SetDontFragment(DontFragment::SET); // a tunnel does not tell datagrams
    outside->SetDontFragment(spec.dontFragment);
    if (!spec.fec)
    {
        outside->AddInside(source, spec.outer);
    }
    return Channel(source);
}

Channel
Network::Passing(const std::vector<RouteStepSpec>& steps,
                 size_t place,
                 CaptureDirection direction,
                 const Channel& channel)
{
    return m_capture && place > 0
               ? m_capture->AddPassingBehind(steps[place - 1], direction, channel)
               : channel;
}

Channel
Network::Captured(const RouteStepSpec& step, const Channel& channel)
{
    return m_capture ? m_capture->AddLink(step.link, step.isReverse, DirectionOf(step), channel)
                     : channel;
}

uint32_t
Network::NumberOf(const Host& host) const
{
    const auto found =
        std::find_if(m_hosts.begin(), m_hosts.end(), [&](const Host& it) { return &it == &host; });
    return static_cast<uint32_t>(found - m_hosts.begin());
}

PathDirection*
Network::OnlyLink(uint32_t route, End sender)
{
    const std::vector<RouteStepSpec>& steps = m_spec.routes.at(route).sent[sender];
    return steps.size() == 1 ? &DirectionOf(steps.front()) : nullptr;
}

int64_t
Network::LastDelay(uint32_t route, End sender) const
{
    return SpecOf(m_spec.routes.at(route).sent[sender].back()).delay;
}

const LinkSpec&
Network::SpecOf(const RouteStepSpec& step) const
{
    const DuplexLinkSpec& link = m_spec.links.at(step.link);
    return step.isReverse ? link.reverse : link.forward;
}

PathDirection&
Network::DirectionOf(const RouteStepSpec& step)
{
    DuplexLink& link = m_links.at(step.link);
    return step.isReverse ? link.reverse : link.forward;
}

} // namespace tunnelcc
