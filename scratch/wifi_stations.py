# SPDX-License-Identifier: GPL-2.0-only
"""Stations of an 802.11ac network download from a server behind the access point, in Python.

The same network as in wireless.cc, with ns-3's Python bindings: any device and application of ns-3
can use this project's TCP and tunnels. ``.venv/bin/python scratch/wifi_stations.py --help`` tells
the options. ``pip install "tunnelcc[ns3-bindings]"`` installs the bindings; in a clone, ``make
check-bindings``.
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
RELAY_PORT = 1080
START = ns.MilliSeconds(300)  # stations have joined the network


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cc", default="bbr", help="congestion control, or a TypeId of ns-3's")
    parser.add_argument("--stock", action="store_true", help="the TCP of ns-3, of which cc is then")
    parser.add_argument("--tunnel", help="a name of `tunnelcc list`; with --stock no relay")
    parser.add_argument("--stations", type=int, default=2, help="stations, each of which downloads")
    parser.add_argument("--distance", type=float, default=5, help="to the access point, m")
    parser.add_argument("--delay", type=float, default=20, help="one way to the server, ms")
    parser.add_argument("--duration", type=float, default=1, help="simulated time, s")
    options = parser.parse_args()
    if not 1 <= options.stations <= 200 or options.duration <= 0:
        parser.error("expected 1 to 200 stations and a duration of more than 0")
    return options


def place(nodes: Any, distance: float) -> None:
    """Place nodes on a circle."""
    places = ns.CreateObject[ns.ListPositionAllocator]()
    for i in range(nodes.GetN()):
        angle = 2 * math.pi * i / nodes.GetN()
        places.Add(ns.Vector(distance * math.cos(angle), distance * math.sin(angle), 0))
    mobility = ns.MobilityHelper()
    mobility.SetPositionAllocator(places)
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    mobility.Install(nodes)


def network(options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return the server's node, the stations and their addresses."""
    stations = ns.NodeContainer(options.stations)
    wired = ns.NodeContainer(2)  # access point, server
    access_point = ns.NodeContainer(wired.Get(0))
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
    place(access_point, 0)
    place(stations, options.distance)

    ns.InternetStackHelper().InstallAll()
    addresses = ns.Ipv4AddressHelper(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(cable_ends)
    addresses.NewNetwork()
    addresses.Assign(ap_radio)
    clients = addresses.Assign(radios)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return wired.Get(1), stations, clients


def entry(tunnel: str | None, server: Any, stations: Any, clients: Any, station: int) -> Any:
    """Return what the server's application connects to."""
    address = clients.GetAddress(station)
    target = ns.InetSocketAddress(address, PORT).ConvertTo()
    if not tunnel:
        return target
    helper = ns.tunnelcc.TunnelHelper(tunnel)
    made = helper.Install(server, stations.Get(station), address.ConvertTo())
    if made.IsRelay():
        made.Forward(RELAY_PORT + station, target)
        port = ns.InetSocketAddress(ns.Ipv4Address.GetLoopback(), RELAY_PORT + station)
        return port.ConvertTo()
    inside = ns.Ipv4AddressHelper(ns.Ipv4Address(f"10.8.{station}.0"), ns.Ipv4Mask("255.255.255.0"))
    return ns.InetSocketAddress(inside.Assign(made.GetDevices()).GetAddress(1), PORT).ConvertTo()


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
        helper = ns.BulkSendHelper(protocol, entry(options.tunnel, server, stations, clients, i))
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
