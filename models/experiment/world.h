/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WORLD_H
#define TUNNELCC_WORLD_H

#include "event/random-stream.h"
#include "hop-path.h"
#include "host/cpu.h"
#include "host/tcp-memory.h"
#include "leg.h"
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
#include <vector>

namespace tunnelcc
{

/// Two hosts with their processors, and the path between them.
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

    /// Cores, and a kernel with memory for TCP.
    struct Machine
    {
        explicit Machine(const HostSpec& spec)
            : memory(spec.tcpMemory, spec.tcpReserve),
              cores(spec.cores, spec.switchCost)
        {
        }

        TcpMemory memory;
        Cores cores;
    };

    /// What runs on a machine, perhaps beside another host.
    struct Host
    {
        Host(Machine& machine, const HostSpec& spec)
            : memory(machine.memory),
              cpu(machine.cores, spec.speed)
        {
        }

        TcpMemory& memory;
        Cpu cpu;
    };

    /// A host between two hops of a chain, and the path beyond it.
    struct RelayHost
    {
        RelayHost(const HopSpec& spec, uint64_t seed, uint32_t hop, End dataSender)
            : machine(spec.relay),
              host(machine, spec.relay),
              path(spec.path, seed, hop, dataSender)
        {
        }

        Machine machine;
        Host host;
        HopPath path;
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
    const std::deque<Leg>& Legs() const
    {
        return m_legs;
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

    /// The end that sends the flows' data.
    End DataSender() const
    {
        return m_dataSender;
    }

    /// The path across the first hop.
    HopPath& Path()
    {
        return m_path;
    }

    /// The tunnel that carries the flows' packets, or null.
    PacketTunnel* GetPacketTunnel()
    {
        return m_datagramTunnel ? static_cast<PacketTunnel*>(&*m_datagramTunnel)
                                : m_streamTunnel.get();
    }

    /// The hosts at both ends.
    const PerEnd<Host>& Hosts() const
    {
        return m_hosts;
    }

    /// Relays between the first hop and the last.
    std::deque<RelayHost>& RelayHosts()
    {
        return m_relayHosts;
    }

  private:
    /// A host's loopback: what both ends of its connections send into, without limits.
    using Loopback = PerEnd<PathDirection>;

    /// The application of a host: one thread for all flows.
    struct Application
    {
        CpuThread thread;
        double costPerByte; //!< CPU ns
    };

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

    void AddFlow(uint32_t index);
    Leg& AddLeg(const LegParts& parts);
    std::unique_ptr<TcpEndpoint> MakeEndpoint(const LegParts& parts, End end) const;
    HopPath& PathOf(size_t hop);
    Host& HostAt(size_t place);
    PerEnd<Host&> HostsOf(size_t hop);

    Lookahead LookaheadOf(const DatagramTunnelSpec& tunnel, End sender);
    Channel TunnelChannel(End sender, int64_t rtt);
    const PerEnd<Channel>& TunnelChannels(int64_t rtt);
    void AddDatagramTunnel(const DatagramTunnelSpec& spec);
    void AddStreamTunnel(const StreamTunnelSpec& spec);
    Leg& AddDatagramLeg(uint32_t flow);
    Leg& AddLegInStream(uint32_t flow);

    void AddRelayedLegs(uint32_t index, Flow& flow);
    void AddRelays(uint32_t index, Flow& flow);
    Leg& AddLoopbackLeg(LegRole role, uint32_t flow, const TcpSpec& tcp, End end);
    Carrier& AddCarrier(size_t hop, uint32_t flow);
    const CongestionSpec& CarrierCongestion(size_t hop, uint32_t flow) const;
    std::unique_ptr<RelaySide> MakeSide(Carrier& carrier, End end) const;

    const ExperimentSpec m_spec;
    const RelaySpec* const m_relaySpec; //!< in m_spec, if the tunnel is of relays
    const std::vector<HopSpec> m_hops;  //!< beyond the first
    const End m_dataSender;
    HopPath m_path;
    PerEnd<Loopback> m_loopbacks;
    PerEnd<Machine> m_machines; //!< the server's is idle if both hosts are on one
    PerEnd<Host> m_hosts;
    PerEnd<Application> m_applications;
    PerEnd<Lookahead> m_lookaheads;         //!< of the tunnel
    std::deque<ClockedPath> m_clockedPaths; //!< of the tunnel
    std::optional<DatagramTunnel> m_datagramTunnel;
    std::map<int64_t, PerEnd<Channel>> m_tunnelChannels; //!< by RTT, ns
    std::unique_ptr<StreamTunnel> m_streamTunnel;
    Leg* m_streamCarrier{nullptr};
    std::deque<RelayHost> m_relayHosts;
    std::vector<std::deque<Carrier>> m_carriers; //!< by hop
    std::deque<Leg> m_legs;
    std::vector<std::unique_ptr<Flow>> m_flows;
    std::vector<std::unique_ptr<EventSource>> m_starts;
    std::vector<std::unique_ptr<DatagramSource>> m_crossTraffic;
};

} // namespace tunnelcc

#endif // TUNNELCC_WORLD_H
