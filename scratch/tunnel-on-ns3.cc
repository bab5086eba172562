/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * A tunnel of the catalogue between two hosts of ns-3, beside a plain transfer. The two talk across
 * a router; the far link is the bottleneck. Copy this file to scratch/NAME.cc, run `make programs`,
 * then `build/release/scratch/NAME --help`. Where to start: another topology in Run().
 */
#include "nodes/tunnel-helper.h"
#include "socket/linux-tcp-socket-factory.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5001;
constexpr uint16_t RELAY_PORT = 1080;

/// What the command line sets.
struct Options
{
    std::string tunnel{"gost-relay-ws"};
    std::string cc{"cubic"};
    std::string carrier{"tunnelcc::LinuxTcpSocketFactory"};
    DataRate rate{"10Mbps"};
    Time delay{MilliSeconds(20)};
    Time duration{Seconds(5)};
    std::string pcap;
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("tunnel", "a name of `tunnelcc list`", options.tunnel);
    cmd.AddValue("cc", "congestion control, such as bbr", options.cc);
    cmd.AddValue("carrier",
                 "TypeId of the sockets of the tunnel's carrier, such as ns3::TcpSocketFactory",
                 options.carrier);
    cmd.AddValue("rate", "of the bottleneck, such as 10Mbps", options.rate);
    cmd.AddValue("delay", "of the bottleneck, one way, such as 20ms", options.delay);
    cmd.AddValue("duration", "simulated time, such as 5s", options.duration);
    cmd.AddValue("pcap", "begin of the names of capture files; empty: none", options.pcap);
    cmd.Parse(argc, argv);
    if (options.rate.GetBitRate() == 0 || options.delay.IsStrictlyNegative() ||
        !options.duration.IsStrictlyPositive())
    {
        throw std::invalid_argument("rate and duration must be more than 0, delay not negative");
    }
    return options;
}

/// Carry data from one host to the other, and print how fast. \param name of the tunnel; empty:
/// there is none
void
Run(const Options& options, const std::string& name)
{
    NodeContainer nodes(3); // client, router, server
    InternetStackHelper().Install(nodes);
    tunnelcc::LinuxTcpHelper tcp;
    tcp.SetAttribute("CongestionControl", StringValue(options.cc));
    tcp.InstallAll();
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    auto access = link.Install(nodes.Get(0), nodes.Get(1));
    link.SetDeviceAttribute("DataRate", DataRateValue(options.rate));
    link.SetChannelAttribute("Delay", TimeValue(options.delay));
    auto bottleneck = link.Install(nodes.Get(1), nodes.Get(2));
    Ipv4AddressHelper("10.0.1.0", "255.255.255.0").Assign(access);
    auto interfaces = Ipv4AddressHelper("10.0.2.0", "255.255.255.0").Assign(bottleneck);
    const Ipv4Address server = interfaces.GetAddress(1);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    InetSocketAddress to(server, PORT);
    if (!name.empty())
    {
        tunnelcc::TunnelHelper helper(name);
        helper.SetAttribute("Protocol", TypeIdValue(TypeId::LookupByName(options.carrier)));
        const auto tunnel = helper.Install(nodes.Get(0), nodes.Get(2), server);
        if (tunnel->IsRelay())
        {
            // As `gost -L tcp://:1080/…`, `ssh -L 1080:…` or kcptun do.
            tunnel->Forward(RELAY_PORT, to);
            to = InetSocketAddress(Ipv4Address::GetLoopback(), RELAY_PORT);
        }
        else
        {
            Ipv4AddressHelper inside("10.8.0.0", "255.255.255.0");
            to = InetSocketAddress(inside.Assign(tunnel->GetDevices()).GetAddress(1), PORT);
        }
    }
    const std::string type = "tunnelcc::LinuxTcpSocketFactory";
    BulkSendHelper source(type, to);
    source.SetAttribute("SendSize", UintegerValue(16'384));
    source.Install(nodes.Get(0));
    PacketSinkHelper sink(type, InetSocketAddress(Ipv4Address::GetAny(), PORT));
    const ApplicationContainer sinks = sink.Install(nodes.Get(2));
    if (!options.pcap.empty())
    {
        link.EnablePcapAll(options.pcap + (name.empty() ? "plain" : name));
    }

    Simulator::Stop(options.duration);
    Simulator::Run();
    const auto received = static_cast<double>(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx());
    std::printf("%-16s %.2f Mbit/s\n",
                name.empty() ? "plain" : name.c_str(),
                8e-6 * received / options.duration.GetSeconds());
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        const Options options = ParseOptions(argc, argv);
        Run(options, "");
        Run(options, options.tunnel);
    }
    catch (const std::invalid_argument& error)
    {
        std::cerr << error.what() << std::endl;
        return 2;
    }
    return 0;
}
