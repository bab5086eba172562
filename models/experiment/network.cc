/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network.h"

#include <algorithm>

namespace tunnelcc
{

Network::Network(const ExperimentSpec& spec, Capture* capture)
    : m_spec(spec),
      m_capture(capture)
{
    for (uint32_t number = 0; number < spec.links.size(); ++number)
    {
        m_links.emplace_back(spec.links[number], spec.seed, number);
    }
    for (const HostSpec& host : spec.hosts)
    {
        m_machines.emplace_back(spec.hosts.at(host.machine)); // idle if it is another host's
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
Network::ChannelFrom(uint32_t route, End sender, int64_t extraDelay)
{
    const std::vector<RouteStepSpec>& steps = m_spec.routes.at(route).sent[sender];
    Channel channel(DirectionOf(steps.back()), SpecOf(steps.back()).delay + extraDelay);
    channel = Captured(steps.back(), channel);
    // From the receiver to the sender, as each router knows the next one.
    for (size_t left = steps.size() - 1; left > 0; --left)
    {
        RouteHop* next = left + 1 < steps.size() ? &m_hops.back() : nullptr;
        RouteHop& hop = m_hops.emplace_back(channel, next);
        const RouteStepSpec& step = steps[left - 1];
        channel = Captured(step, Channel(DirectionOf(step), SpecOf(step).delay));
        if (left == 1)
        {
            channel = Channel(m_entries.emplace_back(channel, hop));
        }
    }
    return channel;
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
