# SPDX-License-Identifier: GPL-2.0-only
"""Stations of an 802.11ac network download from a server behind the access point, in Python.

The same network as in wifi-stations.cc, with ns-3's Python bindings: any device and application of
ns-3 can use this project's TCP. Run it with ``.venv/bin/python scratch/wifi_stations.py --help``.
``pip install "tunnelcc[ns3-bindings]"`` installs the bindings; in a clone, ``make check-bindings``.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from tunnelcc.errors import TunnelccError

try:
    from tunnelcc.ns3 import ns
except TunnelccError as error:
    sys.exit(str(error))

PORT = 5001
START = ns.MilliSeconds(200)  # stations have joined the network


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cc", default="bbr", help="congestion control, or a TypeId of ns-3's")
    parser.add_argument("--stock", action="store_true", help="the TCP of ns-3, of which cc is then")
    parser.add_argument("--stations", type=int, default=2, help="stations, each of which downloads")
    parser.add_argument("--distance", type=float, default=5, help="to the access point, m")
    parser.add_argument("--delay", type=float, default=20, help="one way to the server, ms")
    parser.add_argument("--duration", type=float, default=1, help="simulated time, s")
    options = parser.parse_args()
    if not 1 <= options.stations <= 200 or options.duration <= 0:
        parser.error("expected 1 to 200 stations and a duration of more than 0")
    return options


def place(access_point: Any, stations: Any, distance: float) -> None:
    """Place the nodes: the access point in the middle of a circle."""
    places = ns.CreateObject[ns.ListPositionAllocator]()
    places.Add(ns.Vector(0, 0, 0))
    for i in range(stations.GetN()):
        angle = 2 * math.pi * i / stations.GetN()
        places.Add(ns.Vector(distance * math.cos(angle), distance * math.sin(angle), 0))
    mobility = ns.MobilityHelper()
    mobility.SetPositionAllocator(places)
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    mobility.Install(access_point)
    mobility.Install(stations)


def network(options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return the server's node, the stations and their addresses."""
    wired = ns.NodeContainer(2)  # server, access point
    stations = ns.NodeContainer(options.stations)
    access_point = ns.NodeContainer(wired.Get(1))
    cable = ns.PointToPointHelper()
    cable.SetDeviceAttribute("DataRate", ns.StringValue("1Gbps"))
    cable.SetChannelAttribute("Delay", ns.StringValue(f"{options.delay}ms"))
    cable_ends = cable.Install(wired)

    phy = ns.YansWifiPhyHelper()
    phy.SetChannel(ns.YansWifiChannelHelper.Default().Create())
    phy.Set("ChannelSettings", ns.StringValue("{0, 80, BAND_5GHZ, 0}"))
    wifi = ns.WifiHelper()
    wifi.SetStandard(ns.WIFI_STANDARD_80211ac)
    wifi.SetRemoteStationManager("ns3::IdealWifiManager")
    mac = ns.WifiMacHelper()
    ssid = ns.SsidValue(ns.Ssid("tunnelcc"))
    mac.SetType("ns3::StaWifiMac", "Ssid", ssid)
    radios = wifi.Install(phy, mac, stations)
    mac.SetType("ns3::ApWifiMac", "Ssid", ssid)
    ap_radio = wifi.Install(phy, mac, access_point)
    place(access_point, stations, options.distance)

    ns.InternetStackHelper().InstallAll()
    addresses = ns.Ipv4AddressHelper(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(cable_ends)
    addresses.NewNetwork()
    addresses.Assign(ap_radio)
    clients = addresses.Assign(radios)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return wired.Get(0), stations, clients


def main() -> None:
    """Simulate, and print the goodput of each station."""
    options = parse()
    if options.stock:  # windows that do not limit, and segments as on Ethernet
        ns.Config.SetDefault("ns3::TcpL4Protocol::SocketType", ns.StringValue(options.cc))
        ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1448))
        ns.Config.SetDefault("ns3::TcpSocket::SndBufSize", ns.UintegerValue(4 << 20))
        ns.Config.SetDefault("ns3::TcpSocket::RcvBufSize", ns.UintegerValue(4 << 20))
    server, stations, clients = network(options)
    protocol = "ns3::TcpSocketFactory"
    if not options.stock:
        protocol = "tunnelcc::LinuxTcpSocketFactory"
        tcp = ns.tunnelcc.LinuxTcpHelper()
        tcp.SetAttribute("CongestionControl", ns.StringValue(options.cc))
        tcp.InstallAll()
    anyone = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), PORT).ConvertTo()
    sinks = ns.PacketSinkHelper(protocol, anyone).Install(stations)
    end = START + ns.Seconds(options.duration)
    sources = []
    for i in range(options.stations):
        client = ns.InetSocketAddress(clients.GetAddress(i), PORT).ConvertTo()
        helper = ns.BulkSendHelper(protocol, client)
        helper.SetAttribute("SendSize", ns.UintegerValue(16_384))
        helper.SetAttribute("MaxBytes", ns.UintegerValue(0))
        source = helper.Install(server)
        source.Start(START)
        sources.append(source.Get(0))
    ns.Simulator.Stop(end)
    ns.Simulator.Run()
    total = 0.0
    for i in range(options.stations):
        received = sinks.Get(i).GetObject[ns.PacketSink]().__deref__().GetTotalRx()
        goodput = 8e-6 * received / options.duration
        total += goodput
        line = f"station {i}: {goodput:6.1f} Mbit/s"
        if not options.stock:
            sender = sources[i].GetObject[ns.BulkSendApplication]().GetSocket()
            socket = ns.DynamicCast[ns.tunnelcc.LinuxTcpSocket](sender)
            rtt = socket.GetRtt().GetSeconds()
            line += f", RTT {1e3 * rtt:5.1f} ms, {socket.GetRetransmits()} segments sent again"
        print(line)
    print(f"together:  {total:6.1f} Mbit/s")
    ns.Simulator.Destroy()


if __name__ == "__main__":
    main()
