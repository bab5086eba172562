/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Stations of an 802.11ac network download from a server behind the access point, with this
 * project's TCP or with that of ns-3: any application and device of ns-3 can use
 * tunnelcc::LinuxTcpSocket. Copy this file to scratch/NAME.cc, run `make models`, then
 * `build/release/scratch/NAME --help`.
 */
#include "socket/linux-tcp-socket-factory.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// What the command line sets.
struct Options
{
    std::string cc{"bbr"};
    bool isStock{false};
    uint32_t stations{2};
    double distance{5}; //!< m
    Time delay{MilliSeconds(20)};
    Time duration{Seconds(1)};
    std::string pcap;
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("cc",
                 "congestion control, such as bbr, or a TypeId such as ns3::TcpBbr",
                 options.cc);
    cmd.AddValue("stock", "use the TCP of ns-3, of which cc is a TypeId then", options.isStock);
    cmd.AddValue("stations", "stations, each of which downloads", options.stations);
    cmd.AddValue("distance", "between a station and the access point, m", options.distance);
    cmd.AddValue("delay", "one way, between the server and the access point", options.delay);
    cmd.AddValue("duration", "simulated time", options.duration);
    cmd.AddValue("pcap", "begin of the names of capture files; empty: none", options.pcap);
    cmd.Parse(argc, argv);
    if (options.stations < 1 || options.stations > 200 || !options.duration.IsStrictlyPositive())
    {
        std::cerr << "expected 1 to 200 stations and a duration of more than 0\n";
        std::exit(2);
    }
    return options;
}

/// Place the nodes: the access point in the middle of a circle.
void
Place(const NodeContainer& accessPoint, const NodeContainer& stations, double distance)
{
    MobilityHelper mobility;
    auto places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t i = 0; i < stations.GetN(); ++i)
    {
        const double angle = 2 * M_PI * i / stations.GetN();
        places->Add(Vector(distance * std::cos(angle), distance * std::sin(angle), 0));
    }
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(accessPoint);
    mobility.Install(stations);
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options options = ParseOptions(argc, argv);
    if (options.isStock)
    {
        // Windows that do not limit, and segments as on Ethernet.
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(options.cc));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    }
    NodeContainer wired(2); // server, access point
    NodeContainer stations(options.stations);
    const NodeContainer accessPoint(wired.Get(1));

    PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    cable.SetChannelAttribute("Delay", TimeValue(options.delay));
    const NetDeviceContainer cableEnds = cable.Install(wired);

    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue("{0, 80, BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ac);
    wifi.SetRemoteStationManager("ns3::IdealWifiManager");
    WifiMacHelper mac;
    const Ssid ssid("tunnelcc");
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid));
    NetDeviceContainer radios = wifi.Install(phy, mac, stations);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid));
    const NetDeviceContainer apRadio = wifi.Install(phy, mac, accessPoint);
    Place(accessPoint, stations, options.distance);

    InternetStackHelper().InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(cableEnds);
    addresses.NewNetwork();
    addresses.Assign(apRadio);
    const Ipv4InterfaceContainer clients = addresses.Assign(radios);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const std::string type =
        options.isStock ? "ns3::TcpSocketFactory" : "tunnelcc::LinuxTcpSocketFactory";
    if (!options.isStock)
    {
        tunnelcc::LinuxTcpHelper tcp;
        tcp.SetAttribute("CongestionControl", StringValue(options.cc));
        tcp.InstallAll();
    }
    constexpr uint16_t PORT = 5001;
    const Time start = MilliSeconds(200); // stations have joined the network
    PacketSinkHelper sink(type, InetSocketAddress(Ipv4Address::GetAny(), PORT));
    const ApplicationContainer sinks = sink.Install(stations);
    ApplicationContainer sources;
    for (uint32_t i = 0; i < options.stations; ++i)
    {
        BulkSendHelper source(type, InetSocketAddress(clients.GetAddress(i), PORT));
        source.SetAttribute("SendSize", UintegerValue(16'384));
        sources.Add(source.Install(wired.Get(0)));
    }
    sources.Start(start);
    if (!options.pcap.empty())
    {
        cable.EnablePcapAll(options.pcap);
        phy.SetPcapDataLinkType(WifiPhyHelper::DLT_IEEE802_11_RADIO);
        phy.EnablePcap(options.pcap, apRadio);
    }

    Simulator::Stop(start + options.duration);
    Simulator::Run();
    double total = 0;
    for (uint32_t i = 0; i < options.stations; ++i)
    {
        const auto bytes = DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
        const double goodput = 8e-6 * static_cast<double>(bytes) / options.duration.GetSeconds();
        total += goodput;
        std::printf("station %u: %6.1f Mbit/s", i, goodput);
        const auto socket = DynamicCast<tunnelcc::LinuxTcpSocket>(
            DynamicCast<BulkSendApplication>(sources.Get(i))->GetSocket());
        if (socket)
        {
            std::printf(", RTT %5.1f ms, %llu segments sent again",
                        1e3 * socket->GetRtt().GetSeconds(),
                        static_cast<unsigned long long>(socket->GetRetransmits()));
        }
        std::printf("\n");
    }
    std::printf("together:  %6.1f Mbit/s\n", total);
    Simulator::Destroy();
    return 0;
}
