# SPDX-License-Identifier: GPL-2.0-only
"""The layers of a route: which they are, and what each adds."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc.network.layers import Links
from tunnelcc.network.tunnels import Gateways, PacketTunnel, Relays

# WireGuard over IPv4 pads a packet to 16 bytes, and adds IP, UDP, a header and a tag (Donenfeld,
# WireGuard: Next Generation Kernel Network Tunnel, NDSS 2017, section 5.4.6).
PADDED, WIREGUARD = 16, 20 + 8 + 16 + 16

NETWORK = {
    "links": {
        "lan-a": {"between": ["a", "edge-a"], "rtt": "1ms"},
        "wan": {"between": ["edge-a", "edge-b"], "rate": "10Mbps", "rtt": "40ms"},
        "lan-b": {"between": ["edge-b", "b"], "rtt": "3ms"},
    }
}
FLOW = {"from": "a", "to": "b"}


def _traffic(flow=FLOW, **keys):
    experiment = tc.Experiment.parse({"network": NETWORK, "flows": flow, **keys})
    return experiment.resolved.first


def _kinds(traffic):
    return [type(layer) for layer in traffic.layers]


def test_without_a_tunnel_there_are_links_alone():
    traffic = _traffic()
    assert _kinds(traffic) == [Links]
    assert [step.link for step in traffic.loads] == ["lan-a", "wan", "lan-b"]
    assert traffic.rtt == pytest.approx(0.044)


def test_each_tunnel_is_a_layer_and_takes_its_bytes():
    inner = {"name": "wireguard", "mtu": 1300, "between": ["edge-a", "edge-b"], "under": "outer"}
    outer = {"name": "wireguard", "between": ["edge-a", "edge-b"]}
    tunnels = {"inner": inner, "outer": outer}
    traffic = _traffic({**FLOW, "tunnel": "inner"}, tunnels=tunnels)
    assert _kinds(traffic) == [Gateways, PacketTunnel, Gateways, PacketTunnel, Links]
    assert [layer.mtu for layer in traffic.layers] == [1300, 1300, 1420, 1420, 1500]
    size = 1200
    for layer in reversed(traffic.layers):
        if isinstance(layer, PacketTunnel):  # as large as the layers below make it
            size = -(-size // PADDED) * PADDED + WIREGUARD
        assert layer.across(1200, "random") == [size], layer
    assert traffic.mss == 1300 - 40 - 12
    # Two hosts are behind the gateways, and no link is crossed twice.
    assert {end: it.route.ends for end, it in traffic.access.items()} == {
        "client": ("a", "edge-a"),
        "server": ("edge-b", "b"),
    }
    assert traffic.loads == _traffic().loads
    assert traffic.rtt == _traffic().rtt


def test_relays_end_connections_and_their_carriers_go_through_what_is_below():
    traffic = _traffic(tunnel={"name": "gost-relay-ws", "under": "wireguard", "relays": 1})
    assert _kinds(traffic) == [Relays, PacketTunnel, Links]
    relays, wireguard, links = traffic.layers
    assert [hop.ends for hop in relays.hops] == [("a", "edge-b"), ("edge-b", "b")]
    # Datagrams of applications are no packets of WireGuard.
    assert (relays.mtu, wireguard.mtu, links.mtu) == (1500, 1420, 1500)
    assert relays.transport.mss == wireguard.mss == 1420 - 40 - 12


def test_windows_are_of_the_hosts_at_the_ends():
    hosts = {"edge-b": {"tcp_rmem": "64KiB"}, "b": {"tcp_rmem": "1MiB"}}
    keys = {"name": "gost-relay-ws", "between": ["edge-a", "edge-b"]}
    traffic = _traffic(tunnel=keys, network={**NETWORK, "hosts": hosts})
    carrier, own = traffic.tunnel.transport, traffic.transport
    assert carrier.receiving.receive_buffer < own.receiving.receive_buffer
    assert carrier.receive_window < own.receive_window
