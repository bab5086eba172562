/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WORLD_H
#define TUNNELCC_WORLD_H

#include "leg.h"
#include "modules/module-loader.h"
#include "network.h"
#include "path/clocked-path.h"
#include "relay-carrier.h"
#include "spec/experiment-spec.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "traffic/datagram-sender.h"
#include "tunnel/datagram-side.h"
#include "tunnel/datagram-tunnel.h"
#include "tunnel/gateway.h"
#include "tunnel/nested-packets.h"
#include "tunnel/stream-tunnel.h"
#include "tunnel/uplinks.h"
#include "wire/capture.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace tunnelcc
{

/// Given a congestion control, its specification and the seed of its random numbers, it returns
/// what runs in its place: for observers.
using AlgorithmWrapper =
    std::function<std::unique_ptr<CongestionControl>(std::unique_ptr<CongestionControl> algorithm,
                                                     const CongestionSpec& spec,
                                                     int64_t stream)>;

/// A network of hosts, with the flows and the tunnels that run on them.
class World
{
  public:
    /// The applications of a flow of datagrams.
    struct Datagrams
    {
        /// \param playout of the receiver's playout buffer, see DatagramMeter
        explicit Datagrams(int64_t playout)
            : meter(playout)
        {
        }

        DatagramMeter meter;
        std::unique_ptr<DatagramSender> sender; //!< from World::Start() on
        std::unique_ptr<DatagramReceiver> receiver;
        DatagramSide::Logs logs;        //!< of what is in a relay's carriers
        PerEnd<DatagramSide*> relays{}; //!< that take what each end sends; null: there is none
    };

    /// Everything that belongs to one flow.
    struct Flow
    {
        std::vector<Leg*> legs;     //!< from the client's application to the server's
        ByteStream* first{nullptr}; //!< what the client's application opens; null: datagrams
        std::unique_ptr<BulkSender> sender;
        std::unique_ptr<BulkReceiver> receiver;
        std::unique_ptr<Datagrams> datagrams;       //!< in place of sender and receiver
        std::vector<std::unique_ptr<Relay>> relays; //!< from the client on
        std::vector<std::unique_ptr<RelaySide>> sides;
    };

    /// A tunnel's connection across one hop, and the contents of what it carries.
    struct Carrier final : RelayCarrier
    {
        Leg* leg{nullptr};
        std::deque<CarrierSide::Logs> logs; //!< of each flow

        ByteStream& Stream(End end) override
        {
            return leg->Stream(end);
        }

        void ConnectQuic(int64_t now) override
        {
            leg->Quic().client->Connect(now);
        }
    };

    /// A hop of a relay tunnel.
    struct Hop
    {
        std::deque<Carrier> carriers;
        LegEnds<RudpSession> sessions; //!< what carriers of RUDP share
    };

    /// What a relay tunnel is made of.
    struct RelayParts
    {
        const RelaySpec& spec;
        std::vector<Hop> hops;
    };

    /// The flow's extra delays (ns) by the tunnel's end that sends, and the number of the uplink.
    using ChannelKey = std::tuple<int64_t, int64_t, uint32_t>;

    /// What a datagram tunnel is made of.
    struct DatagramParts
    {
        const DatagramTunnelSpec& spec;
        uint32_t number; //!< in the experiment's list
        PerEnd<Lookahead> lookaheads;
        std::unique_ptr<DatagramTunnel> packets;
        std::map<ChannelKey, PerEnd<Channel>> channels;
        std::optional<PerEnd<Channel>> below; //!< the way of its packets through another tunnel, or
                                              //!< over several routes
        PerEnd<DatagramSide*> relays{};       //!< as Datagrams::relays, of what it sends
    };

    /// What a stream tunnel is made of.
    struct StreamParts
    {
        const StreamTunnelSpec& spec;
        uint32_t number; //!< in the experiment's list
        Leg* carrier{nullptr};
        std::unique_ptr<StreamTunnel> packets;
    };

    /// A tunnel between two hosts.
    using Tunnel = std::variant<RelayParts, DatagramParts, StreamParts>;

    /// What carries a tunnel's packets, or null.
    static PacketTunnel* PacketTunnelOf(const Tunnel& tunnel)
    {
        auto find = [](const auto& parts) -> PacketTunnel* {
            if constexpr (requires { parts.packets; })
            {
                return parts.packets.get();
            }
            else
            {
                return nullptr;
            }
        };
        return std::visit(find, tunnel);
    }

    /// The relays that take what each end of a tunnel sends through them, or null.
    static PerEnd<DatagramSide*> RelaysBelow(const Tunnel& tunnel)
    {
        const auto* datagrams = std::get_if<DatagramParts>(&tunnel);
        return datagrams ? datagrams->relays : PerEnd<DatagramSide*>{};
    }

    /// \param spec the experiment
    /// \param capture of packets, which outlives the world; null: there is none
    /// \param wrap may put something in place of each congestion control; may be empty
    explicit World(const ExperimentSpec& spec,
                   Capture* capture = nullptr,
                   AlgorithmWrapper wrap = {});
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

  private:
    /// What is needed to make a leg.
    struct LegParts
    {
        LegRole role;
        std::optional<uint32_t> hop; //!< as Leg::hop
        uint32_t number;             //!< of the draws of its congestion control, for its role
        const TcpSpec& tcp;
        const CongestionSpec& cc;
        PerEnd<Channel> channels; //!< that its ends send into
        PerEnd<Host&> hosts;
        std::optional<uint32_t> tunnel; //!< whose carrier it is
        std::optional<uint32_t> inside; //!< number of the tunnel that carries its packets
        bool isOnLoopback{false};
    };

    /// What is captured of what ends send over UDP. \param header IP bytes around a shard, if there
    /// is FEC
    LegParts WithUdpTaps(const LegParts& parts, uint32_t header = 0);
    WireEnds WireEndsOf(const LegParts& parts) const;
    CaptureInterface InterfaceOf(const FlowSpec& flow) const;
    /// Where servers listen in a capture, as iperf3.
    static constexpr uint16_t APP_PORT = 5201;
    /// Numbers of carriers are apart by so much from hop to hop.
    static constexpr uint32_t MAX_CARRIERS = 1 << 16;

    /// The name of a connection's logs.
    static std::string LogTitleOf(const LegParts& parts);
    /// What is captured of the streams of a tunnel's carrier over TCP, the latest leg.
    PerEnd<CarrierContents*> ContentsOf(uint32_t tunnel,
                                        const std::vector<HandshakeTurn>& handshake,
                                        const PerEnd<const std::vector<LayerSpec>*>& layers);

    /// The sockets of a flow's applications.
    using Sockets = PerEnd<ByteStream&>;

    /// The ends of a flow of datagrams, and what relays need of it.
    struct UdpParts
    {
        Flow& flow;
        PerEnd<PacketSink*> sockets;
        PerEnd<PacketSink*> peers; //!< what each sends to
        DatagramSide::Logs& logs;
        PerEnd<bool> areTapped{}; //!< what the sockets send into is captured
    };

    void AddTunnel(uint32_t number);
    void AddFlow(uint32_t index);
    void AddDatagrams(uint32_t index, Flow& flow);
    void StartDatagrams(uint32_t index);
    Leg& AddLeg(const LegParts& parts);
    Sockets AddAppLeg(uint32_t index,
                      Flow& flow,
                      std::optional<uint32_t> hop,
                      const PerEnd<Channel>& channels);
    std::unique_ptr<CongestionControl> MakeAlgorithm(const LegParts& parts, End end) const;
    std::unique_ptr<CongestionControl> MakeAlgorithm(const LegParts& parts,
                                                     End end,
                                                     const QuicSpec& quic) const;
    std::unique_ptr<TcpEndpoint> MakeEndpoint(const LegParts& parts, End end) const;
    PerEnd<Channel> ChannelsOf(uint32_t route, const FlowSpec& flow);

    // For each kind of tunnel: make it, add what a flow through it needs, and dial what does not
    // wait for a flow.
    RelayParts MakeTunnel(const RelaySpec& spec, uint32_t number);
    DatagramParts MakeTunnel(const DatagramTunnelSpec& spec, uint32_t number);
    StreamParts MakeTunnel(const StreamTunnelSpec& spec, uint32_t number);
    void AddCarrier(StreamParts& tunnel);
    Sockets AddThrough(RelayParts& tunnel, uint32_t index, Flow& flow);
    Sockets AddThrough(DatagramParts& tunnel, uint32_t index, Flow& flow);
    Sockets AddThrough(StreamParts& tunnel, uint32_t index, Flow& flow);
    // … and the same for a flow of datagrams, or a tunnel's packets: what its sockets send into.
    PerEnd<Channel> UdpThrough(RelayParts& tunnel, const FlowSpec& spec, UdpParts& parts);
    PerEnd<Channel> UdpThrough(DatagramParts& tunnel, const FlowSpec& spec, UdpParts& parts);
    PerEnd<Channel> UdpThrough(StreamParts& tunnel, const FlowSpec& spec, UdpParts& parts);
    PerEnd<Channel> PacketsThrough(DatagramParts& upper);
    PerEnd<Channel> ChannelsThrough(uint32_t tunnel, const FlowSpec& flow);
    void Dial(RelayParts& tunnel);
    void Dial(DatagramParts& tunnel);
    void Dial(StreamParts& tunnel);

    Lookahead LookaheadOf(const DatagramTunnelSpec& tunnel, uint32_t number, End sender);
    Channel PathChannel(DatagramParts& tunnel, End sender, int64_t extraDelay, uint32_t uplink);
    Channel TunnelChannel(DatagramParts& tunnel, End sender, int64_t extraDelay, uint32_t uplink);
    PerEnd<Channel> UplinkChannels(const DatagramParts& tunnel);
    const PerEnd<Channel>& TunnelChannels(DatagramParts& tunnel, const FlowSpec& flow);
    PerEnd<Channel> DatagramChannels(DatagramParts& tunnel, const FlowSpec& flow);
    PerEnd<Channel> StreamChannels(StreamParts& tunnel, const FlowSpec& flow);
    Channel BetweenGateways(const FlowSpec& flow, End sender, const Channel& tunnel);

    PerEnd<Host&> HostsBeside(const FlowSpec& flow, End end);
    Channel BesideRelay(const RelaySpec& tunnel, const FlowSpec& flow, End end, End sender);
    Leg& AddAccessLeg(const RelaySpec& tunnel, uint32_t index, End end);
    PerEnd<Channel> CarrierChannels(const HopSpec& hop, const FlowSpec& flow);
    Carrier& AddCarrier(RelayParts& tunnel, size_t hop, const FlowSpec& flow);
    MakerForEnd<RandomStream> DrawsOf(RandomComponent component, uint32_t number) const;
    Leg& AddKcpLeg(const LegParts& parts, const KcpSpec& kcp);
    Leg& AddRudpLeg(const LegParts& parts, const RudpSpec& rudp, LegEnds<RudpSession>& sessions);
    Leg& AddQuicLeg(const LegParts& parts, const QuicSpec& quic);
    void AddCarriers(RelayParts& tunnel, const FlowSpec& spec, Flow& flow);
    void AddRelays(RelayParts& tunnel,
                   const FlowSpec& flowSpec,
                   Flow& flow,
                   PerEnd<std::unique_ptr<RelaySide>> toApplications);

    const ExperimentSpec m_spec;
    Capture* const m_capture;
    const AlgorithmWrapper m_wrap;
    mutable ModuleLoader m_modules; //!< of algorithms that are files; outlives them
    Network m_network;
    std::deque<Tunnel> m_tunnels;
    std::vector<uint32_t> m_firstCarriers;  //!< of each tunnel: carriers of those before it
    std::deque<ClockedPath> m_clockedPaths; //!< of datagram tunnels
    std::deque<Gateway> m_gateways;
    std::deque<NestedPackets> m_nestedPackets;
    std::deque<Uplinks> m_uplinks;
    std::deque<Leg> m_legs;
    PerEnd<StreamContents*> m_latestStreams{}; //!< captured of the latest TCP connection
    std::deque<Flow> m_nestedFlows;            //!< what tunnels send through others
    std::vector<std::unique_ptr<Flow>> m_flows;
    std::vector<std::unique_ptr<EventSource>> m_starts;
};

} // namespace tunnelcc

#endif // TUNNELCC_WORLD_H
