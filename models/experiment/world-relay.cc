/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * How a world builds relay tunnels: an application's loopback, a carrier across each hop, the
 * target's loopback, and a relay between each two of these.
 */
#include "world.h"

namespace tunnelcc
{

namespace
{

/// Draws of carriers on different hops lie so far apart.
constexpr uint32_t MAX_CARRIERS = 1 << 16;

} // namespace

const CongestionSpec&
World::CarrierCongestion(size_t hop, uint32_t flow) const
{
    const CongestionSpec& first = m_spec.flows[flow].carrierCc;
    return hop == 0 || m_hops[hop - 1].cc.name.empty() ? first : m_hops[hop - 1].cc;
}

Leg&
World::AddLoopbackLeg(LegRole role, uint32_t flow, const TcpSpec& tcp, End end)
{
    int64_t delay = m_relaySpec->loopbackRtt / 2;
    auto makeChannel = [&](End sender) { return Channel(m_loopbacks[end][sender], delay); };
    return AddLeg({role,
                   std::nullopt,
                   flow,
                   tcp,
                   m_spec.flows[flow].cc,
                   MakePerEnd(End::CLIENT, makeChannel),
                   {m_hosts[end], m_hosts[end]}});
}

World::Carrier&
World::AddCarrier(size_t hop, uint32_t flow)
{
    const FlowSpec& spec = m_spec.flows[flow];
    Carrier& carrier = m_carriers[hop].emplace_back();
    int64_t rtt = hop == 0 ? spec.rtt : m_hops[hop - 1].path.rtt;
    carrier.leg = &AddLeg({LegRole::CARRIER,
                           static_cast<uint32_t>(hop),
                           static_cast<uint32_t>(hop) * MAX_CARRIERS + spec.carrier,
                           m_spec.tcp,
                           CarrierCongestion(hop, flow),
                           PathOf(hop).Channels(rtt),
                           HostsOf(hop)});
    if (m_relaySpec->mux)
    {
        for (End end : ENDS)
        {
            carrier.sessions[end] = std::make_unique<MuxSession>(*m_relaySpec,
                                                                 end,
                                                                 *carrier.leg->ends[end],
                                                                 HostsOf(hop)[end].cpu,
                                                                 carrier.muxLogs);
        }
    }
    return carrier;
}

void
World::AddRelayedLegs(uint32_t index, Flow& flow)
{
    const RelaySpec& relay = *m_relaySpec;
    flow.legs.push_back(&AddLoopbackLeg(LegRole::APP, index, relay.appTcp, End::CLIENT));
    for (size_t hop = 0; hop < m_carriers.size(); ++hop)
    {
        uint32_t number = m_spec.flows[index].carrier;
        bool isNew = number == m_carriers[hop].size();
        Carrier& carrier = isNew ? AddCarrier(hop, index) : m_carriers[hop][number];
        flow.legs.push_back(carrier.leg);
    }
    flow.legs.push_back(&AddLoopbackLeg(LegRole::TARGET, index, relay.targetTcp, End::SERVER));
}

std::unique_ptr<RelaySide>
World::MakeSide(Carrier& carrier, End end) const
{
    if (m_relaySpec->mux)
    {
        return carrier.sessions[end]->AddStream();
    }
    return std::make_unique<CarrierSide>(*m_relaySpec, end, *carrier.leg->ends[end], carrier.logs);
}

void
World::AddRelays(uint32_t index, Flow& flow)
{
    // A relay learns where to dial with the first data, or before them: from the handshake, or
    // from the frame that opens a stream and that the other end wants answered.
    const RelaySpec& relay = *m_relaySpec;
    bool isTold = relay.sent.client.prefix == 0 || (relay.mux && relay.mux->acceptBytes > 0);
    std::vector<std::unique_ptr<RelaySide>>& sides = flow.sides;
    sides.push_back(std::make_unique<PlainSide>(*flow.legs.front()->ends.server));
    for (size_t hop = 0; hop < m_carriers.size(); ++hop)
    {
        Carrier& carrier = m_carriers[hop][m_spec.flows[index].carrier];
        for (End end : ENDS)
        {
            sides.push_back(MakeSide(carrier, end));
        }
    }
    sides.push_back(std::make_unique<PlainSide>(*flow.legs.back()->ends.client));
    for (size_t hop = 0; hop <= m_carriers.size(); ++hop)
    {
        bool isFirst = hop == 0;
        flow.relays.push_back(std::make_unique<Relay>(
            *sides[2 * hop],
            *sides[2 * hop + 1],
            isFirst || isTold ? Relay::Dials::IMMEDIATELY : Relay::Dials::ON_FIRST_DATA,
            m_relaySpec->copyBuffer,
            HostAt(hop).cpu));
    }
}

} // namespace tunnelcc
