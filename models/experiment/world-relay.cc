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

World::RelayHost::RelayHost(const HopSpec& spec, uint64_t seed, uint32_t hop)
    : memory(spec.relay.tcpMemory, spec.relay.tcpReserve),
      cores(spec.relay.cores, spec.relay.switchCost),
      cpu(cores, spec.relay.speed),
      forward(spec.path.forward, PathStreams::Forward(seed, hop)),
      reverse(spec.path.reverse, PathStreams::Reverse(seed, hop))
{
}

World::HopEnd
World::ClientEnd(size_t hop)
{
    return hop == 0 ? HopEnd{m_clientMemory, m_clientCpu}
                    : HopEnd{m_relayHosts[hop - 1].memory, m_relayHosts[hop - 1].cpu};
}

World::HopEnd
World::ServerEnd(size_t hop)
{
    return hop == m_relayHosts.size() ? HopEnd{ServerMemory(), m_serverCpu} : ClientEnd(hop + 1);
}

const CongestionSpec&
World::CarrierCongestion(size_t hop, uint32_t flow) const
{
    const CongestionSpec& first = m_spec.flows[flow].carrierCc;
    return hop == 0 || m_hops[hop - 1].cc.name.empty() ? first : m_hops[hop - 1].cc;
}

World::Connection&
World::AddLoopbackLeg(const char* name,
                      const CongestionDraws& draws,
                      const TcpSpec& tcp,
                      Loopback& loopback,
                      TcpMemory& memory)
{
    int64_t delay = m_relaySpec->loopbackRtt / 2;
    return AddConnection(name,
                         draws,
                         tcp,
                         m_spec.flows[draws.number].cc,
                         Channel(loopback.toServer, delay),
                         Channel(loopback.toClient, delay),
                         memory,
                         memory);
}

World::Carrier&
World::AddCarrier(size_t hop, uint32_t flow)
{
    const FlowSpec& spec = m_spec.flows[flow];
    Carrier& carrier = m_carriers[hop].emplace_back();
    uint32_t number = static_cast<uint32_t>(hop) * MAX_CARRIERS + spec.carrier;
    carrier.leg = &AddPathLeg(hop == 0 ? "carrier" : "carrier" + std::to_string(hop + 1),
                              {RandomComponent::CARRIER_CONGESTION, number},
                              CarrierCongestion(hop, flow),
                              hop,
                              hop == 0 ? spec.rtt : m_hops[hop - 1].path.rtt);
    if (m_relaySpec->mux)
    {
        auto makeSession = [&](End end, TcpEndpoint& socket, Cpu& cpu) {
            return std::make_unique<MuxSession>(*m_relaySpec, end, socket, cpu, carrier.muxLogs);
        };
        carrier.sessions.client =
            makeSession(End::CLIENT, *carrier.leg->client, ClientEnd(hop).cpu);
        carrier.sessions.server =
            makeSession(End::SERVER, *carrier.leg->server, ServerEnd(hop).cpu);
    }
    return carrier;
}

void
World::AddRelayedLegs(uint32_t index, Flow& flow)
{
    const RelaySpec& relay = *m_relaySpec;
    flow.legs.push_back(&AddLoopbackLeg("app",
                                        {RandomComponent::APP_CONGESTION, index},
                                        relay.appTcp,
                                        m_clientLoopback,
                                        m_clientMemory));
    for (size_t hop = 0; hop < m_carriers.size(); ++hop)
    {
        uint32_t number = m_spec.flows[index].carrier;
        bool isNew = number == m_carriers[hop].size();
        Carrier& carrier = isNew ? AddCarrier(hop, index) : m_carriers[hop][number];
        flow.legs.push_back(carrier.leg);
    }
    flow.legs.push_back(&AddLoopbackLeg("target",
                                        {RandomComponent::TARGET_CONGESTION, index},
                                        relay.targetTcp,
                                        m_serverLoopback,
                                        ServerMemory()));
}

std::unique_ptr<RelaySide>
World::MakeSide(Carrier& carrier, End end) const
{
    if (m_relaySpec->mux)
    {
        return carrier.sessions[end]->AddStream();
    }
    return std::make_unique<CarrierSide>(*m_relaySpec,
                                         end,
                                         end == End::CLIENT ? *carrier.leg->client
                                                            : *carrier.leg->server,
                                         carrier.logs);
}

void
World::AddRelays(uint32_t index, Flow& flow)
{
    // A relay learns where to dial with the first data, or before them: from the handshake, or
    // from the frame that opens a stream and that the other end wants answered.
    const RelaySpec& relay = *m_relaySpec;
    bool isTold = relay.requestBytes == 0 || (relay.mux && relay.mux->acceptBytes > 0);
    std::vector<std::unique_ptr<RelaySide>>& sides = flow.sides;
    sides.push_back(std::make_unique<PlainSide>(*flow.legs.front()->server));
    for (size_t hop = 0; hop < m_carriers.size(); ++hop)
    {
        Carrier& carrier = m_carriers[hop][m_spec.flows[index].carrier];
        sides.push_back(MakeSide(carrier, End::CLIENT));
        sides.push_back(MakeSide(carrier, End::SERVER));
    }
    sides.push_back(std::make_unique<PlainSide>(*flow.legs.back()->client));
    for (size_t hop = 0; hop <= m_carriers.size(); ++hop)
    {
        bool isFirst = hop == 0;
        Cpu& cpu = isFirst ? m_clientCpu : ServerEnd(hop - 1).cpu;
        flow.relays.push_back(std::make_unique<Relay>(
            *sides[2 * hop],
            *sides[2 * hop + 1],
            isFirst || isTold ? Relay::Dials::AT_ONCE : Relay::Dials::AT_FIRST_DATA,
            m_relaySpec->copyBuffer,
            cpu));
    }
}

} // namespace tunnelcc
