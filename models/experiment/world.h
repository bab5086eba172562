/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_WORLD_H
#define TUNNELCC_WORLD_H

#include "event/random-stream.h"
#include "experiment-spec.h"
#include "host/cpu.h"
#include "host/tcp-memory.h"
#include "path/path.h"
#include "traffic/bulk-receiver.h"
#include "traffic/bulk-sender.h"
#include "traffic/datagram-source.h"
#include "transport/endpoint.h"
#include "tunnel/datagram-tunnel.h"
#include "tunnel/relay.h"

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
        std::vector<Connection> legs; //!< from the client's application to the server's
        std::unique_ptr<BulkSender> sender;
        std::unique_ptr<BulkReceiver> receiver;
        CarrierLogs logs;
        std::unique_ptr<Relay> clientRelay;
        std::unique_ptr<Relay> serverRelay;
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

    const std::vector<std::unique_ptr<DatagramSource>>& CrossTraffic() const
    {
        return m_crossTraffic;
    }

    /// The direction of the data.
    Link& Forward()
    {
        return *m_forward.GetLink();
    }

    /// The direction of the ACKs.
    Link& Reverse()
    {
        return *m_reverse.GetLink();
    }

    /// The tunnel that carries the flows' packets, or null.
    DatagramTunnel* GetDatagramTunnel()
    {
        return m_datagramTunnel ? &*m_datagramTunnel : nullptr;
    }

    const Cpu& ClientCpu() const
    {
        return m_clientCpu;
    }

    const Cpu& ServerCpu() const
    {
        return m_serverCpu;
    }

  private:
    /// A host's loopback: both directions, without limits.
    struct Loopback
    {
        PathDirection toServer;
        PathDirection toClient;
    };

    /// Ways across the path, as both ends of a connection see it.
    struct PathChannels
    {
        Channel toServer;
        Channel toClient;
    };

    void AddFlow(uint32_t index);
    PathChannels ChannelsFor(uint32_t flow);
    Connection MakeDatagramLeg(uint32_t flow);
    void ShareMemory(Flow& flow);
    Connection MakeConnection(const char* name,
                              RandomComponent component,
                              uint32_t flow,
                              const TcpSpec& tcp,
                              const CongestionSpec& congestion,
                              const Channel& toServer,
                              const Channel& toClient) const;
    Connection MakeLoopbackLeg(const char* name,
                               RandomComponent component,
                               uint32_t flow,
                               const TcpSpec& tcp,
                               Loopback& loopback) const;
    Connection MakePathLeg(const char* name,
                           RandomComponent component,
                           uint32_t flow,
                           const CongestionSpec& congestion);

    const ExperimentSpec m_spec;
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
    std::optional<DatagramTunnel> m_datagramTunnel;
    std::vector<std::unique_ptr<Flow>> m_flows;
    std::vector<std::unique_ptr<EventSource>> m_starts;
    std::vector<std::unique_ptr<DatagramSource>> m_crossTraffic;
};

} // namespace tunnelcc

#endif // TUNNELCC_WORLD_H
