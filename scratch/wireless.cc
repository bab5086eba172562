/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * \file
 * Stations of an 802.11ac network, or phones of an LTE cell, download from a server: with this
 * project's TCP or with that of ns-3, plainly or through a tunnel of the catalogue. Any application
 * and device of ns-3 can use both. Copy this file to scratch/NAME.cc, run `make programs`, then
 * `build/release/scratch/NAME --help`.
 */
#include "nodes/tunnel-helper.h"
#include "socket/linux-tcp-socket-factory.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/wifi-module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5001;
constexpr uint16_t RELAY_PORT = 1080;
constexpr int INTERVALS = 50; // of the goodput over time

/// What the command line sets.
struct Options
{
    std::string network{"wifi"};
    std::string cc{"bbr"};
    bool isStock{false};
    std::string tunnel;
    uint32_t stations{2};
    uint32_t width{80}; //!< MHz
    double distance{5}; //!< m
    Time delay{MilliSeconds(20)};
    Time warmup{Seconds(0)};
    Time duration{Seconds(1)};
    std::string pcap;
    bool isJson{false};
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("network", "wifi or lte", options.network);
    cmd.AddValue("cc",
                 "congestion control, such as bbr, or a TypeId such as ns3::TcpBbr",
                 options.cc);
    cmd.AddValue("stock", "use the TCP of ns-3, of which cc is a TypeId then", options.isStock);
    cmd.AddValue("tunnel", "a name of `tunnelcc list`; empty: none", options.tunnel);
    cmd.AddValue("stations", "stations, each of which downloads", options.stations);
    cmd.AddValue("width", "of the channel of Wi-Fi: 20, 40 or 80 MHz", options.width);
    cmd.AddValue("distance", "between a station and the access point, m", options.distance);
    cmd.AddValue("delay", "one way, between the server and the access point", options.delay);
    cmd.AddValue("warmup", "time before the measurement", options.warmup);
    cmd.AddValue("duration", "time that is measured", options.duration);
    cmd.AddValue("pcap", "begin of the names of capture files; empty: none", options.pcap);
    cmd.AddValue("json", "print a line of JSON", options.isJson);
    cmd.Parse(argc, argv);
    if (options.stations < 1 || options.stations > 200 || !options.duration.IsStrictlyPositive() ||
        options.warmup.IsStrictlyNegative() ||
        (options.network != "wifi" && options.network != "lte"))
    {
        throw std::invalid_argument("expected a network wifi or lte, 1 to 200 stations, a warm-up "
                                    "of 0 or more and a duration of more than 0");
    }
    if (TypeId id; options.isStock && !TypeId::LookupByNameFailSafe(options.cc, &id))
    {
        throw std::invalid_argument("with --stock, cc must be a TypeId such as ns3::TcpBbr, not " +
                                    options.cc);
    }
    return options;
}

/// Place nodes on a circle.
void
Place(const NodeContainer& nodes, double distance)
{
    MobilityHelper mobility;
    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < nodes.GetN(); ++i)
    {
        const double angle = 2 * M_PI * i / nodes.GetN();
        places->Add(Vector(distance * std::cos(angle), distance * std::sin(angle), 0));
    }
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
}

/// A server, stations, and what lies between them.
struct Network
{
    NodeContainer stations;
    Ptr<Node> server;
    Ptr<NetDevice> serverDevice;
    Ipv4Address serverAddress;
    std::vector<Ipv4Address> addresses; //!< of the stations
    Ptr<LteHelper> lte;
};

PointToPointHelper
MakeCable(const Options& options)
{
    PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    cable.SetChannelAttribute("Delay", TimeValue(options.delay));
    return cable;
}

void
BuildWifi(const Options& options, Network& network)
{
    NodeContainer wired(2); // access point, server
    network.server = wired.Get(1);
    PointToPointHelper cable = MakeCable(options);
    const NetDeviceContainer cableEnds = cable.Install(wired);
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings",
            StringValue("{0, " + std::to_string(options.width) + ", BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ac);
    wifi.SetRemoteStationManager("ns3::IdealWifiManager");
    WifiMacHelper mac;
    const Ssid ssid("tunnelcc");
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid));
    const NetDeviceContainer radios = wifi.Install(phy, mac, network.stations);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid));
    const NetDeviceContainer apRadio = wifi.Install(phy, mac, NodeContainer(wired.Get(0)));
    Place(NodeContainer(wired.Get(0)), 0);
    Place(network.stations, options.distance);
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    network.serverAddress = addresses.Assign(cableEnds).GetAddress(1);
    addresses.NewNetwork();
    addresses.Assign(apRadio);
    const Ipv4InterfaceContainer clients = addresses.Assign(radios);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (uint32_t i = 0; i < options.stations; ++i)
    {
        network.addresses.push_back(clients.GetAddress(i));
    }
    network.serverDevice = cableEnds.Get(1);
    if (!options.pcap.empty())
    {
        cable.EnablePcapAll(options.pcap);
        phy.SetPcapDataLinkType(WifiPhyHelper::DLT_IEEE802_11_RADIO);
        phy.EnablePcap(options.pcap, apRadio);
    }
}

void
BuildLte(const Options& options, Network& network)
{
    // A buffer of ns-3's default, 10 KiB, has room for seven packets.
    Config::SetDefault("ns3::LteRlcUm::MaxTxBufferSize", UintegerValue(750'000));
    network.lte = CreateObject<LteHelper>();
    LteHelper& lte = *network.lte;
    auto epc = CreateObject<PointToPointEpcHelper>();
    lte.SetEpcHelper(epc);
    NodeContainer base(1);
    NodeContainer servers(1);
    network.server = servers.Get(0);
    InternetStackHelper internet;
    internet.Install(servers);
    PointToPointHelper cable = MakeCable(options);
    const NetDeviceContainer cableEnds = cable.Install(epc->GetPgwNode(), network.server);
    network.serverDevice = cableEnds.Get(1);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    network.serverAddress = addresses.Assign(cableEnds).GetAddress(1);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(network.server->GetObject<Ipv4>())
        ->AddNetworkRouteTo("7.0.0.0", "255.0.0.0", 1);
    Place(base, 0);
    Place(network.stations, options.distance);
    const NetDeviceContainer baseRadio = lte.InstallEnbDevice(base);
    const NetDeviceContainer radios = lte.InstallUeDevice(network.stations);
    internet.Install(network.stations);
    const Ipv4InterfaceContainer clients = epc->AssignUeIpv4Address(radios);
    for (uint32_t i = 0; i < options.stations; ++i)
    {
        routing.GetStaticRouting(network.stations.Get(i)->GetObject<Ipv4>())
            ->SetDefaultRoute(epc->GetUeDefaultGatewayAddress(), 1);
        lte.Attach(radios.Get(i), baseRadio.Get(0));
        network.addresses.push_back(clients.GetAddress(i));
    }
    if (!options.pcap.empty())
    {
        cable.EnablePcapAll(options.pcap);
    }
}

/// How many packets come to the server together, most of them ACKs.
class Bursts
{
  public:
    void OnPacket(Ptr<const Packet> /* packet */)
    {
        const Time now = Simulator::Now();
        m_bursts += now - m_last > MicroSeconds(500);
        m_last = now;
        ++m_packets;
    }

    void Reset()
    {
        m_packets = m_bursts = 0;
    }

    /// Mean number of packets of a burst.
    double Mean() const
    {
        return static_cast<double>(m_packets) / static_cast<double>(std::max(m_bursts, 1UL));
    }

  private:
    Time m_last;
    uint64_t m_packets{0};
    uint64_t m_bursts{0};
};

/// Put a tunnel between the server and a station. \returns what the server's application connects
/// to
Address
AddTunnel(const Options& options, const Network& network, uint32_t station)
{
    const auto number = static_cast<uint16_t>(station);
    const Ipv4Address address = network.addresses[station];
    const auto tunnel = tunnelcc::TunnelHelper(options.tunnel)
                            .Install(network.server, network.stations.Get(station), address);
    if (tunnel->IsRelay())
    {
        if (options.isStock)
        {
            throw std::invalid_argument("applications of a relay need our sockets, not --stock");
        }
        tunnel->Forward(RELAY_PORT + number, InetSocketAddress(address, PORT));
        return InetSocketAddress(Ipv4Address::GetLoopback(), RELAY_PORT + number);
    }
    const std::string inside = "10.8." + std::to_string(station) + ".0";
    Ipv4AddressHelper addresses(Ipv4Address(inside.c_str()), "255.255.255.0");
    const auto interfaces = addresses.Assign(tunnel->GetDevices());
    return InetSocketAddress(interfaces.GetAddress(1), PORT);
}

/// Mean time that packets took from the server to a station, s.
double
MeanDelay(FlowMonitorHelper& helper, const Ptr<FlowMonitor>& monitor, const Network& network)
{
    uint64_t packets = 0;
    double sum = 0;
    const auto classifier = DynamicCast<Ipv4FlowClassifier>(helper.GetClassifier());
    for (const auto& [flow, stats] : monitor->GetFlowStats())
    {
        if (classifier->FindFlow(flow).sourceAddress == network.serverAddress)
        {
            packets += stats.rxPackets;
            sum += stats.delaySum.GetSeconds();
        }
    }
    return sum / static_cast<double>(std::max<uint64_t>(packets, 1));
}

/// What a simulation shows.
struct Outcome
{
    std::vector<double> goodputs;                       //!< of each station, Mbit/s
    std::vector<Ptr<tunnelcc::LinuxTcpSocket>> sockets; //!< of the server; null: of ns-3
    double delay{0};                                    //!< mean of packets to a station, s
    double burst{0};            //!< packets that come to the server together
    std::vector<double> series; //!< goodput of all in each of INTERVALS, Mbit/s

    double Total() const
    {
        return std::accumulate(goodputs.begin(), goodputs.end(), 0.0);
    }
};

void
Print(const Outcome& outcome)
{
    for (size_t i = 0; i < outcome.goodputs.size(); ++i)
    {
        std::printf("station %zu: %6.1f Mbit/s", i, outcome.goodputs[i]);
        if (const auto& socket = outcome.sockets[i])
        {
            std::printf(", RTT %5.1f ms, %llu segments sent again",
                        1e3 * socket->GetRtt().GetSeconds(),
                        static_cast<unsigned long long>(socket->GetRetransmits()));
        }
        std::printf("\n");
    }
    std::printf(
        "together:  %6.1f Mbit/s; packets took %.1f ms to a station, ACKs came to the server "
        "in bursts of %.1f\n",
        outcome.Total(),
        1e3 * outcome.delay,
        outcome.burst);
}

void
PrintJson(const Outcome& outcome)
{
    std::printf("{\"goodput\": %.3f, \"delay\": %.3f, \"burst\": %.2f, \"stations\": [",
                outcome.Total(),
                1e3 * outcome.delay,
                outcome.burst);
    for (size_t i = 0; i < outcome.goodputs.size(); ++i)
    {
        std::printf("%s%.3f", i > 0 ? ", " : "", outcome.goodputs[i]);
    }
    std::printf("], \"series\": [");
    for (size_t i = 0; i < outcome.series.size(); ++i)
    {
        std::printf("%s%.3f", i > 0 ? ", " : "", outcome.series[i]);
    }
    std::printf("]}\n");
}

Outcome
Run(const Options& options)
{
    if (options.isStock)
    {
        // Windows that do not limit, and segments as on Ethernet.
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(options.cc));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    }
    Network network;
    network.stations.Create(options.stations);
    options.network == "wifi" ? BuildWifi(options, network) : BuildLte(options, network);

    const std::string type =
        options.isStock ? "ns3::TcpSocketFactory" : "tunnelcc::LinuxTcpSocketFactory";
    if (!options.isStock)
    {
        tunnelcc::LinuxTcpHelper tcp;
        tcp.SetAttribute("CongestionControl", StringValue(options.cc));
        tcp.InstallAll();
    }
    const Time start = MilliSeconds(300); // stations have joined the network
    const Time begin = start + options.warmup;
    PacketSinkHelper sink(type, InetSocketAddress(Ipv4Address::GetAny(), PORT));
    const ApplicationContainer sinks = sink.Install(network.stations);
    ApplicationContainer sources;
    for (uint32_t i = 0; i < options.stations; ++i)
    {
        const Address to = options.tunnel.empty()
                               ? Address(InetSocketAddress(network.addresses[i], PORT))
                               : AddTunnel(options, network, i);
        BulkSendHelper source(type, to);
        source.SetAttribute("SendSize", UintegerValue(16'384));
        sources.Add(source.Install(network.server));
    }
    sources.Start(start);
    FlowMonitorHelper flows;
    flows.SetMonitorAttribute("StartTime", TimeValue(begin));
    const auto monitor = flows.Install(NodeContainer(network.stations, network.server));
    Bursts bursts;
    network.serverDevice->TraceConnectWithoutContext("MacRx",
                                                     MakeCallback(&Bursts::OnPacket, &bursts));
    Simulator::Schedule(begin, &Bursts::Reset, &bursts);
    const auto received = [&] {
        std::vector<uint64_t> bytes;
        for (uint32_t i = 0; i < options.stations; ++i)
        {
            bytes.push_back(DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx());
        }
        return bytes;
    };
    std::vector<std::vector<uint64_t>> counts;
    for (int i = 0; i <= INTERVALS; ++i)
    {
        Simulator::Schedule(begin + i * options.duration / INTERVALS,
                            [&] { counts.push_back(received()); });
    }

    // What happens at the end is counted before the simulation stops.
    Simulator::Stop(begin + options.duration + NanoSeconds(1));
    Simulator::Run();
    Outcome outcome;
    const auto& before = counts.front();
    const auto& after = counts.back();
    const auto sum = [](const auto& bytes) {
        return std::accumulate(bytes.begin(), bytes.end(), 0.0);
    };
    for (size_t i = 1; i < counts.size(); ++i)
    {
        outcome.series.push_back(8e-6 * (sum(counts[i]) - sum(counts[i - 1])) * INTERVALS /
                                 options.duration.GetSeconds());
    }
    for (uint32_t i = 0; i < options.stations; ++i)
    {
        outcome.goodputs.push_back(8e-6 * static_cast<double>(after[i] - before[i]) /
                                   options.duration.GetSeconds());
        outcome.sockets.push_back(DynamicCast<tunnelcc::LinuxTcpSocket>(
            DynamicCast<BulkSendApplication>(sources.Get(i))->GetSocket()));
    }
    outcome.delay = MeanDelay(flows, monitor, network);
    outcome.burst = bursts.Mean();
    return outcome;
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        const Options options = ParseOptions(argc, argv);
        const Outcome outcome = Run(options);
        options.isJson ? PrintJson(outcome) : Print(outcome);
    }
    catch (const std::invalid_argument& error)
    {
        std::cerr << error.what() << std::endl;
        return 2;
    }
    Simulator::Destroy();
    return 0;
}
