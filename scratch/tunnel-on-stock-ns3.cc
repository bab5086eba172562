/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * GOST's relay over WebSocket, or that in TLS, on ns-3's own TCP and topology helpers, beside a
 * plain transfer.
 *
 * The tunnel is an ns-3 application (models/interop/tunnel-application.h): put it on any nodes.
 * Here two hosts talk across a router; the far link is the bottleneck. Copy this file to
 * scratch/NAME.cc, run `make models`, then `build/release/scratch/NAME --help`. Where to start:
 * another topology in Run(), other layers in MakeGostRelay().
 */
#include "interop/tunnel-application.h"

#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/uinteger.h"

#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 8443;

/// What the command line sets.
struct Options
{
    std::string tunnel{"ws"};
    std::string cc{"ns3::TcpCubic"};
    DataRate rate{"10Mbps"};
    Time delay{MilliSeconds(20)};
    Time duration{Seconds(5)};
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("tunnel", "ws or wss", options.tunnel);
    cmd.AddValue("cc", "TypeId of the congestion control", options.cc);
    cmd.AddValue("rate", "of the bottleneck, such as 10Mbps", options.rate);
    cmd.AddValue("delay", "of the bottleneck, one way, such as 20ms", options.delay);
    cmd.AddValue("duration", "simulated time, such as 5s", options.duration);
    cmd.Parse(argc, argv);
    if (options.tunnel != "ws" && options.tunnel != "wss")
    {
        throw std::invalid_argument("tunnel must be ws or wss");
    }
    TypeId cc;
    if (!TypeId::LookupByNameFailSafe(options.cc, &cc) ||
        !cc.IsChildOf(TcpCongestionOps::GetTypeId()))
    {
        throw std::invalid_argument("cc must be the TypeId of a congestion control, such as "
                                    "ns3::TcpBbr, not " +
                                    options.cc);
    }
    if (options.rate.GetBitRate() == 0 || options.delay.IsStrictlyNegative() ||
        !options.duration.IsStrictlyPositive())
    {
        throw std::invalid_argument("rate and duration must be more than 0, delay not negative");
    }
    return options;
}

tunnelcc::LayerSpec
MakeTls()
{
    return tunnelcc::TlsLayerSpec{.maxPayload = 16384,
                                  .overhead = 22,
                                  .rampBytes = 1186,
                                  .rampUntil = 131072,
                                  .recordsBefore = 1};
}

/// What all relays here have: GOST's copy buffer, and neither handshake nor layers.
tunnelcc::RelaySpec
MakePlainRelay()
{
    tunnelcc::RelaySpec relay;
    relay.copyBuffer = 32768;
    return relay;
}

/// As in tunnelcc/catalog/tunnels/gost-relay-ws.toml and gost-relay-wss.toml.
tunnelcc::RelaySpec
MakeGostRelay(bool isTls)
{
    tunnelcc::RelaySpec relay = MakePlainRelay();
    relay.handshake = {{{186}, {129}}};
    relay.sent.client.prefix = 11;
    relay.sent.server.prefix = 4;
    tunnelcc::WebSocketLayerSpec toClient;
    relay.sent.client.layers = {tunnelcc::WebSocketLayerSpec{.maxPayload = 4096, .masked = true}};
    if (isTls)
    {
        relay.handshake = {{{1483}, {1887}}, {{64, 208}, {151}}};
        relay.sent.client.layers.push_back(MakeTls());
        toClient.firstWrite = 4086;
    }
    relay.sent.server.layers = {toClient};
    if (isTls)
    {
        relay.sent.server.layers.push_back(MakeTls());
    }
    return relay;
}

/// Carry data from one host to the other, and print how fast.
void
Run(const Options& options, const std::string& name, const tunnelcc::RelaySpec& relay)
{
    NodeContainer nodes(3); // client, router, server
    InternetStackHelper().Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    auto access = link.Install(nodes.Get(0), nodes.Get(1));
    link.SetDeviceAttribute("DataRate", DataRateValue(options.rate));
    link.SetChannelAttribute("Delay", TimeValue(options.delay));
    auto bottleneck = link.Install(nodes.Get(1), nodes.Get(2));
    Ipv4AddressHelper("10.0.1.0", "255.255.255.0").Assign(access);
    auto interfaces = Ipv4AddressHelper("10.0.2.0", "255.255.255.0").Assign(bottleneck);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

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

    Simulator::Stop(options.duration);
    Simulator::Run();
    auto received = static_cast<double>(server->ReceivedBytes());
    std::cout << std::left << std::setw(10) << name << std::fixed << std::setprecision(2)
              << 8e-6 * received / options.duration.GetSeconds() << " Mbit/s\n";
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        const Options options = ParseOptions(argc, argv);
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(options.cc));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
        Run(options, "plain", MakePlainRelay());
        Run(options, "relay+" + options.tunnel, MakeGostRelay(options.tunnel == "wss"));
    }
    catch (const std::invalid_argument& error)
    {
        std::cerr << error.what() << std::endl;
        return 2;
    }
    return 0;
}
