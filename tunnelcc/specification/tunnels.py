# SPDX-License-Identifier: GPL-2.0-only
"""The specification of tunnels, and of the flows in them, by their kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunnelcc.catalog.stream import StreamEntry
from tunnelcc.network.resolved import ResolvedTunnel
from tunnelcc.network.traffic import Traffic
from tunnelcc.network.transport import Transport
from tunnelcc.network.tunnels import Gateways, Relays
from tunnelcc.specification import packets as spec_packets
from tunnelcc.specification import relay as spec_relay
from tunnelcc.specification.parts import Spec

#: Kind of tunnel → functions that write it, and the TCP settings of the flows in it.
_KINDS: dict[str, tuple[Callable[..., Spec], Callable[[Any, Traffic], dict[str, Spec]]]] = {
    "relay": (spec_relay.relay_tunnel, spec_relay.flow_tcp),
    "datagram": (spec_packets.datagram_tunnel, spec_packets.flow_tcp),
    "stream": (spec_packets.stream_tunnel, spec_packets.flow_tcp),
    "quic-datagram": (spec_packets.quic_tunnel, spec_packets.flow_tcp),
}


def tunnel_spec(placed: ResolvedTunnel, hops: Sequence[Spec]) -> Spec:
    """A tunnel. ``hops``: what it crosses, in order from the client."""
    entry = placed.keys.entry
    return _KINDS[entry.kind][0](entry, placed, hops)


def flow_tcp(traffic: Traffic) -> dict[str, Spec]:
    """The TCP settings of a flow's connections in its tunnel."""
    assert traffic.tunnel is not None
    entry = traffic.tunnel.keys.entry
    return _KINDS[entry.kind][1](entry, traffic)


def nested_tcp(placed: ResolvedTunnel) -> Spec:
    """The TCP settings of what a tunnel sends through another one.

    Those of its own carrier, or of relays' carriers that take its datagrams.
    """
    layer, entry = placed.layer, placed.keys.entry
    if isinstance(entry, StreamEntry):
        return spec_packets.carrier_tcp(entry, placed)
    gateways = layer.below
    assert isinstance(gateways, Gateways)
    lower = gateways.below
    if isinstance(lower, Relays):
        return spec_relay.carrier(lower)
    transport = Transport(gateways, layer.route, layer.sender)
    return spec_packets.tcp_through(gateways, transport, placed.contents.window)
