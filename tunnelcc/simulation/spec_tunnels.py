# SPDX-License-Identifier: GPL-2.0-only
"""The specification of tunnels, and of the flows in them, by their kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from tunnelcc.catalog import Entry
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.relay import RelayEntry
from tunnelcc.catalog.stream import StreamEntry
from tunnelcc.network.connection import Connection
from tunnelcc.simulation import spec_packets, spec_relay
from tunnelcc.simulation.spec_parts import Spec


@singledispatch
def tunnel_spec(entry: Entry, connection: Connection, hops: Sequence[Spec]) -> Spec:
    """The tunnel of ``connection``. ``hops``: what it crosses, in order from the client."""
    raise AssertionError(f"no specification for tunnels of kind {entry.kind}")


tunnel_spec.register(RelayEntry, spec_relay.relay_tunnel)
tunnel_spec.register(DatagramEntry, spec_packets.datagram_tunnel)
tunnel_spec.register(StreamEntry, spec_packets.stream_tunnel)


@singledispatch
def flow_tcp(entry: Entry, connection: Connection) -> dict[str, Spec]:
    """The TCP settings of a flow's connections."""
    raise AssertionError(f"no specification for flows in tunnels of kind {entry.kind}")


def nested_tcp(entry: Entry, connection: Connection) -> Spec:
    """The TCP settings of what the tunnel of ``connection`` sends through another one.

    Those of its own carrier, or of relays' carriers that take its datagrams.
    """
    under = connection.under
    assert under is not None
    assert under.tunnel is not None
    if isinstance(entry, StreamEntry):
        return spec_packets.carrier_tcp(entry, connection)
    return flow_tcp(under.tunnel.entry, under)["tcp"]


flow_tcp.register(RelayEntry, spec_relay.flow_tcp)
flow_tcp.register(PacketEntry, spec_packets.flow_tcp)
