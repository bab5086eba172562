/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WORLD_H
#define TUNNELCC_WORLD_H

#include "event/random-stream.h"
#include "host/cpu.h"
#include "host/tcp-memory.h"
#include "path/clocked-path.h"
#include "path/path.h"
#include "spec/experiment-spec.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "traffic/datagram-source.h"
#include "transport/endpoint.h"
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
#include <string>
#include <vector>

namespace tunnelcc
{

/// Two hosts with their processors, and the path between them.
class World
{
  public:
    /// One TCP connection: `client` is the end that opens it.
    struct Connection
    {
        std::string name; //!< "app", "carrier" or "target"
        std::string cc;   //!< name of its congestion control
        std::unique_ptr<TcpEndpoint> client;
        std::unique_ptr<TcpEndpoint> server;
    };

    /// Everything that belongs to one flow.
    struct Flow
    {
        std::vector<Connection*> legs; //!< from the client's application to the server's
        std::unique_ptr<BulkSender> sender;
        std::unique_ptr<BulkReceiver> receiver;
        std::vector<std::unique_ptr<Relay>> relays; //!< from the client on
        std::vector<std::unique_ptr<RelaySide>> sides;
    };

    /// A tunnel's connection across one hop, and where messages or frames lie in it.
    struct Carrier
    {
        Connection* leg{nullptr};
        CarrierSide::Logs logs;
        MuxLogs muxLogs;
        PerEnd<std::unique_ptr<MuxSession>> sessions; //!< if flows share it
    };

    explicit World(const ExperimentSpec& spec);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Schedule the start of every flow.
    void Start();

    std::vector<std::unique_ptr<Flow>>& Flows()
    {
        return m_flows;
    }

    /// Every connection there is, in the order in which flows first use them.
    const std::deque<Connection>& Connections() const
    {
        return m_connections;
    }

    /// Carriers of one hop, by number.
    std::deque<Carrier>& Carriers(size_t hop = 0)
    {
        return m_carriers[hop];
    }

    const std::vector<std::unique_ptr<DatagramSource>>& CrossTraffic() const
    {
        return m_crossTraffic;
    }

    /// The direction of the data.
    Bottleneck& Forward()
    {
        return *m_forward.GetBottleneck();
    }

    /// The direction of the ACKs.
    Bottleneck& Reverse()
    {
        return *m_reverse.GetBottleneck();
    }

    /// The tunnel that carries the flows' packets, or null.
    PacketTunnel* GetPacketTunnel()
    {
        return m_datagramTunnel ? static_cast<PacketTunnel*>(&*m_datagramTunnel)
                                : m_streamTunnel.get();
    }

    const Cpu& ClientCpu() const
    {
        return m_clientCpu;
    }

    const Cpu& ServerCpu() const
    {
        return m_serverCpu;
    }

    /// A host between two hops of a chain, and the path beyond it.
    struct RelayHost
    {
        RelayHost(const HopSpec& spec, uint64_t seed, uint32_t hop);

        TcpMemory memory;
        Cores cores;
        Cpu cpu;
        PathDirection forward;
        PathDirection reverse;
    };

    /// Relays between the first hop and the last.
    std::deque<RelayHost>& RelayHosts()
    {
        return m_relayHosts;
    }

  private:
    /// A host's loopback: both directions, without limits.
    struct Loopback
    {
        PathDirection toServer;
        PathDirection toClient;
    };

    /// One end of a hop.
    struct HopEnd
    {
        TcpMemory& memory;
        Cpu& cpu;
    };

    /// Ways across a hop, as both ends of a connection see it.
    struct HopChannels
    {
        Channel toServer;
        Channel toClient;
    };

    /// Memory of the server's sockets.
    TcpMemory& ServerMemory()
    {
        return m_spec.oneMachine ? m_clientMemory : m_serverMemory;
    }

    void AddFlow(uint32_t index);

    /// Ways across a hop, of which one is that of the data.
    HopChannels Across(const Channel& forward, const Channel& reverse) const
    {
        return m_spec.download ? HopChannels{reverse, forward} : HopChannels{forward, reverse};
    }

    HopChannels ChannelsFor(size_t hop, int64_t rtt);
    Lookahead LookaheadOf(const DatagramTunnelSpec& tunnel, bool isForward);
    Channel TunnelChannel(bool isForward, int64_t delay);
    HopChannels TunnelChannels(int64_t rtt);
    void AddDatagramTunnel(const DatagramTunnelSpec& spec);
    void AddStreamTunnel(const StreamTunnelSpec& spec);
    Connection& AddDatagramLeg(uint32_t flow);
    Connection& AddLegInStream(uint32_t flow);
    Connection& AddLegInTunnel(uint32_t flow, PacketDevice& toServer, PacketDevice& toClient);
    void AddRelayedLegs(uint32_t index, Flow& flow);
    void AddRelays(uint32_t index, Flow& flow);
    Carrier& AddCarrier(size_t hop, uint32_t flow);
    HopEnd ClientEnd(size_t hop);
    HopEnd ServerEnd(size_t hop);
    const CongestionSpec& CarrierCongestion(size_t hop, uint32_t flow) const;
    std::unique_ptr<RelaySide> MakeSide(Carrier& carrier, End end) const;

    /// Draws of a connection's congestion control.
    struct CongestionDraws
    {
        RandomComponent component;
        uint32_t number;
    };

    Connection& AddConnection(const std::string& name,
                              const CongestionDraws& draws,
                              const TcpSpec& tcp,
                              const CongestionSpec& congestion,
                              const Channel& toServer,
                              const Channel& toClient,
                              TcpMemory& clientMemory,
                              TcpMemory& serverMemory);
    Connection& AddLoopbackLeg(const char* name,
                               const CongestionDraws& draws,
                               const TcpSpec& tcp,
                               Loopback& loopback,
                               TcpMemory& memory);
    Connection& AddPathLeg(const std::string& name,
                           const CongestionDraws& draws,
                           const CongestionSpec& congestion,
                           size_t hop,
                           int64_t rtt);

    const ExperimentSpec m_spec;
    const RelaySpec* const m_relaySpec; //!< in m_spec, if the tunnel is of relays
    const std::vector<HopSpec> m_hops;  //!< beyond the first
    PathDirection m_forward;
    PathDirection m_reverse;
    Loopback m_clientLoopback;
    Loopback m_serverLoopback;
    TcpMemory m_clientMemory;
    TcpMemory m_serverMemory;
    Cores m_clientCores;
    Cores m_serverCores; //!< idle if both hosts are on one machine
    Cpu m_clientCpu;
    Cpu m_serverCpu;
    CpuThread m_clientApp; //!< the application on the client: one thread for all flows
    CpuThread m_serverApp;
    Lookahead m_forwardLookahead; //!< of the tunnel
    Lookahead m_reverseLookahead;
    std::deque<ClockedPath> m_clockedPaths; //!< of the tunnel
    std::optional<DatagramTunnel> m_datagramTunnel;
    std::map<int64_t, HopChannels> m_tunnelChannels; //!< by RTT, ns
    std::unique_ptr<StreamTunnel> m_streamTunnel;
    Connection* m_streamCarrier{nullptr};
    std::deque<RelayHost> m_relayHosts;
    std::vector<std::deque<Carrier>> m_carriers; //!< by hop
    std::deque<Connection> m_connections;
    std::vector<std::unique_ptr<Flow>> m_flows;
    std::vector<std::unique_ptr<EventSource>> m_starts;
    std::vector<std::unique_ptr<DatagramSource>> m_crossTraffic;
};

} // namespace tunnelcc

#endif // TUNNELCC_WORLD_H
