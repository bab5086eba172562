/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WORLD_H
#define TUNNELCC_WORLD_H

#include "leg.h"
#include "network.h"
#include "path/clocked-path.h"
#include "spec/experiment-spec.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "traffic/datagram-source.h"
#include "tunnel/carrier-side.h"
#include "tunnel/datagram-tunnel.h"
#include "tunnel/mux-session.h"
#include "tunnel/plain-side.h"
#include "tunnel/relay.h"
#include "tunnel/stream-tunnel.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tunnelcc
{

/// A network of hosts, and what runs on them: flows, and the tunnels they go through.
class World
{
  public:
    /// Everything that belongs to one flow.
    struct Flow
    {
        std::vector<Leg*> legs; //!< from the client's application to the server's
        std::unique_ptr<BulkSender> sender;
        std::unique_ptr<BulkReceiver> receiver;
        std::vector<std::unique_ptr<Relay>> relays; //!< from the client on
        std::vector<std::unique_ptr<RelaySide>> sides;
    };

    /// A tunnel's connection across one hop, and what is under way in it.
    struct Carrier
    {
        Leg* leg{nullptr};
        CarrierSide::Logs logs;
        MuxLogs muxLogs;
        PerEnd<std::unique_ptr<MuxSession>> sessions; //!< if flows share it
    };

    /// A tunnel between two hosts, of one of three kinds.
    struct Tunnel
    {
        /// What carries packets, or null.
        PacketTunnel* CarriesPackets()
        {
            return datagram ? static_cast<PacketTunnel*>(&*datagram) : stream.get();
        }

        uint32_t firstCarrier{0};                  //!< carriers of the tunnels before it
        std::vector<std::deque<Carrier>> carriers; //!< of relays, by hop
        std::vector<PerEnd<std::unique_ptr<RudpSession>>>
            rudp; //!< what carriers of RUDP share, by hop
        std::optional<DatagramTunnel> datagram;
        PerEnd<Lookahead> lookaheads; //!< of it
        std::map<std::pair<int64_t, int64_t>, PerEnd<Channel>>
            channels; //!< of it, by extra delays, ns
        std::unique_ptr<StreamTunnel> stream;
        Leg* streamCarrier{nullptr};
    };

    explicit World(const ExperimentSpec& spec);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Schedule the start of every flow.
    void Start();

    Network& GetNetwork()
    {
        return m_network;
    }

    std::deque<Tunnel>& Tunnels()
    {
        return m_tunnels;
    }

    std::vector<std::unique_ptr<Flow>>& Flows()
    {
        return m_flows;
    }

    /// Every connection there is, in the order in which flows first use them.
    const std::deque<Leg>& Legs() const
    {
        return m_legs;
    }

    const std::vector<std::unique_ptr<DatagramSource>>& CrossTraffic() const
    {
        return m_crossTraffic;
    }

  private:
    /// What a leg is made of.
    struct LegParts
    {
        LegRole role;
        std::optional<uint32_t> hop; //!< as Leg::hop
        uint32_t number;             //!< of the draws of its congestion control, for its role
        const TcpSpec& tcp;
        const CongestionSpec& cc;
        PerEnd<Channel> channels; //!< that its ends send into
        PerEnd<Host&> hosts;
    };

    void AddTunnel(uint32_t number);
    void AddFlow(uint32_t index);
    Leg& AddLeg(const LegParts& parts);
    Leg& AddKcpLeg(const LegParts& parts, const KcpSpec& kcp);
    Leg& AddRudpLeg(const LegParts& parts,
                    const RudpSpec& rudp,
                    PerEnd<std::unique_ptr<RudpSession>>& sessions);
    std::unique_ptr<TcpEndpoint> MakeEndpoint(const LegParts& parts, End end) const;
    PerEnd<Channel> ChannelsOf(uint32_t route, const FlowSpec& flow);

    Lookahead LookaheadOf(uint32_t tunnel, End sender);
    Channel TunnelChannel(Tunnel& tunnel, uint32_t route, End sender, int64_t extraDelay);
    const PerEnd<Channel>& TunnelChannels(Tunnel& tunnel, uint32_t route, const FlowSpec& flow);
    void AddDatagramTunnel(uint32_t number, const DatagramTunnelSpec& spec);
    void AddStreamTunnel(uint32_t number, const StreamTunnelSpec& spec);
    PerEnd<Channel> DatagramChannels(uint32_t tunnel, const FlowSpec& flow);
    void AddDatagramLeg(uint32_t index, Flow& flow);
    void AddLegInStream(uint32_t index, Flow& flow);

    void AddRelayedLegs(uint32_t index, Flow& flow);
    void AddRelays(uint32_t index, Flow& flow);
    Leg& AddLoopbackLeg(LegRole role, uint32_t index, const TcpSpec& tcp, End end);
    PerEnd<Channel> CarrierChannels(const HopSpec& hop, const FlowSpec& flow);
    Carrier& AddCarrier(Tunnel& tunnel, size_t hop, uint32_t index);

    const ExperimentSpec m_spec;
    Network m_network;
    std::deque<Tunnel> m_tunnels;
    std::deque<ClockedPath> m_clockedPaths; //!< of datagram tunnels
    std::deque<Leg> m_legs;
    std::vector<std::unique_ptr<Flow>> m_flows;
    std::vector<std::unique_ptr<EventSource>> m_starts;
    std::vector<std::unique_ptr<DatagramSource>> m_crossTraffic;
};

} // namespace tunnelcc

#endif // TUNNELCC_WORLD_H
