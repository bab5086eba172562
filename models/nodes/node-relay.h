/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNNELCC_NODE_RELAY_H
#define TUNNELCC_NODE_RELAY_H

#include "carrier-bytes.h"
#include "carrier-door.h"
#include "datagram-gate.h"
#include "experiment/leg-ends.h"
#include "experiment/relay-carrier.h"
#include "node-socket.h"
#include "node-tunnel-parts.h"
#include "socket/stream-bytes.h"
#include "wire/quic-format.h"

#include <deque>
#include <memory>
#include <variant>
#include <vector>

namespace tunnelcc
{

/**
 * A relay between two nodes: it listens on the client, and for each connection there it opens one
 * from the server to a target. Between the two are carriers, as the catalogue has them: over TCP,
 * KCP, RUDP or QUIC, of a connection's own or shared.
 *
 * Connections and carriers stay in memory until the simulation ends, as the models' do.
 */
class NodeRelay final : public NodeTunnelParts
{
  public:
    /// \param place of the tunnel  \param spec of it. Both outlive them
    NodeRelay(const TunnelPlace& place, const RelaySpec& spec);
    ~NodeRelay() override;

    void Forward(uint16_t port, const ns3::Address& target) override;
    void Start(int64_t now) override;
    void Stop(int64_t now) override;

  private:
    /// Ways of datagrams of UDP between the two relays.
    struct Ways
    {
        std::unique_ptr<DatagramGate> gate; //!< of the client
        PerEnd<std::unique_ptr<DatagramWay>> sent;

        PerEnd<Channel> Channels()
        {
            return {Channel(*sent.client), Channel(*sent.server)};
        }
    };

    /// A connection between the two relays.
    struct Carrier final : RelayCarrier
    {
        std::variant<PerEnd<NodeSocket>,
                     LegEnds<KcpEndpoint>,
                     LegEnds<RudpEndpoint>,
                     LegEnds<QuicConnection>>
            ends;
        PerEnd<std::unique_ptr<CarrierBytes>> bytes; //!< of TCP
        Ways ways;                                   //!< of KCP and QUIC
        PerEnd<std::unique_ptr<QuicFormat>> formats;
        PacketImage image;

        ByteStream& Stream(End end) override;

        void ConnectQuic(int64_t now) override
        {
            std::get<LegEnds<QuicConnection>>(ends).client->Connect(now);
        }
    };

    /// Where the client listens, and what connections go to.
    struct Port
    {
        NodeRelay& relay;
        ns3::Ptr<ns3::Socket> listener;
        ns3::Address target;

        void OnAccepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from);
    };

    /// A connection through the relay.
    struct Flow
    {
        PerEnd<NodeSocket> sockets;  //!< towards the application, and towards the target
        PerEnd<ArrivedBytes> bytes;  //!< by the end where they came in
        PerEnd<uint64_t> read{0, 0}; //!< bytes that came in
        CarrierSide::Logs logs;
        std::vector<std::unique_ptr<RelaySide>> sides; //!< from the client on
        std::vector<std::unique_ptr<Relay>> relays;
    };

    void AddFlow(ns3::Ptr<ns3::Socket> socket, const ns3::Address& target);
    Carrier& CarrierOfNext();
    Carrier& AddCarrier();
    Ways MakeWays();
    /// Draws of the next carrier's ends.
    MakerForEnd<RandomStream> DrawsOf(RandomComponent component) const;
    void AddKcp(Carrier& carrier);
    void AddRudp(Carrier& carrier);
    void AddQuic(Carrier& carrier);

    const TunnelPlace& m_place;
    const RelaySpec& m_spec;
    std::deque<Port> m_ports;
    std::unique_ptr<DatagramGate> m_gate; //!< of the server, if carriers are of UDP
    Ways m_rudpWays;                      //!< of all carriers
    LegEnds<RudpSession> m_rudpSessions;
    std::deque<Carrier> m_carriers;
    std::deque<Flow> m_flows;
    CarrierDoor m_door;
    bool m_isRunning{false};
};

} // namespace tunnelcc

#endif // TUNNELCC_NODE_RELAY_H
