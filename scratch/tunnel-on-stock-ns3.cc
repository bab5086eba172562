/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * GOST's relay over WebSocket on ns-3's own TCP and topology helpers, beside a plain transfer.
 *
 * The tunnel is an ns-3 application (models/tunnel/tunnel-application.h): put it on any nodes. Here
 * two hosts talk across a router; the far link is the bottleneck. Copy this file to
 * scratch/NAME.cc, run `make models`, then `build/release/scratch/NAME --help`. Where to start:
 * another topology in main(), other layers in MakeGostRelay().
 */
#include "tunnel/tunnel-application.h"

#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <iomanip>
#include <iostream>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 8443;

/// relay+ws as in tunnelcc/catalog/tunnels/gost-relay-ws.toml, or no tunnel at all.
tunnelcc::RelaySpec
MakeGostRelay(bool isTunnelled)
{
    tunnelcc::RelaySpec relay;
    if (isTunnelled)
    {
        relay.handshake = {{{186}, {129}}};
        relay.requestBytes = 11;
        relay.responseBytes = 4;
        tunnelcc::LayerSpec websocket;
        websocket.kind = "websocket";
        websocket.maxPayload = 4096;
        websocket.masked = true;
        relay.toServer = {websocket};
    }
    return relay;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string cc = "ns3::TcpCubic";
    std::string rate = "10Mbps";
    std::string delay = "20ms";
    double seconds = 5;
    CommandLine cmd(__FILE__);
    cmd.AddValue("cc", "TypeId of the congestion control", cc);
    cmd.AddValue("rate", "of the bottleneck", rate);
    cmd.AddValue("delay", "of the bottleneck, one way", delay);
    cmd.AddValue("duration", "s", seconds);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(cc));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));

    for (bool isTunnelled : {false, true})
    {
        NodeContainer nodes(3); // client, router, server
        InternetStackHelper().Install(nodes);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
        auto access = link.Install(nodes.Get(0), nodes.Get(1));
        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetChannelAttribute("Delay", StringValue(delay));
        auto bottleneck = link.Install(nodes.Get(1), nodes.Get(2));
        Ipv4AddressHelper("10.0.1.0", "255.255.255.0").Assign(access);
        auto interfaces = Ipv4AddressHelper("10.0.2.0", "255.255.255.0").Assign(bottleneck);
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();

        const auto relay = MakeGostRelay(isTunnelled);
        InetSocketAddress address(interfaces.GetAddress(1), PORT);
        auto client = CreateObject<tunnelcc::TunnelApplication>();
        client->SetClient(relay);
        client->SetAttribute("Remote", AddressValue(address));
        client->SetAttribute("MaxBytes", UintegerValue(UINT64_MAX));
        nodes.Get(0)->AddApplication(client);
        auto server = CreateObject<tunnelcc::TunnelApplication>();
        server->SetServer(relay, client);
        server->SetAttribute("Local", AddressValue(address));
        nodes.Get(2)->AddApplication(server);

        Simulator::Stop(Seconds(seconds));
        Simulator::Run();
        auto received = static_cast<double>(server->ReceivedBytes());
        std::cout << std::fixed << std::setprecision(2) << (isTunnelled ? "relay+ws " : "plain    ")
                  << 8e-6 * received / seconds << " Mbit/s\n";
        Simulator::Destroy();
    }
    return 0;
}
