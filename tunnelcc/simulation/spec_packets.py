# SPDX-License-Identifier: GPL-2.0-only
"""The specification of tunnels that carry packets, as datagrams or in a stream."""

from __future__ import annotations

from collections.abc import Sequence

from tunnelcc.catalog import packets
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.layers import Fec, PacketLayers, Surroundings, compression
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.stream import StreamEntry
from tunnelcc.hosts import costs
from tunnelcc.network.connection import Connection
from tunnelcc.simulation.spec_parts import Spec, congestion, handshake, same
from tunnelcc.simulation.spec_tcp import carrier_tcp as tcp_of_carrier
from tunnelcc.simulation.spec_tcp import flow_tcp as tcp_of_flow


def flow_tcp(entry: PacketEntry, connection: Connection) -> dict[str, Spec]:
    """The TCP settings of a flow in the tunnel, whose device does not merge segments."""
    tcp = tcp_of_flow(connection, connection.mss, connection.versions.inner)
    receiver = "server" if connection.sender == "client" else "client"
    # Behind a gateway, the receiver's own network card merges them.
    return {"tcp": tcp if receiver in connection.access else tcp | {"gro": 0}}


def datagram_tunnel(entry: DatagramEntry, connection: Connection, hops: Sequence[Spec]) -> Spec:
    """A tunnel that sends each packet in a datagram."""
    tunnel, route = connection.tunnel, {"route": hops[0]["route"]}
    assert tunnel is not None
    spec = {
        "kind": "datagram",
        "end": _tunnel_end(connection, entry) | {"socket": {"queue": connection.socket_queue}},
        "ecn": same(entry.ecn, "EcnSpec"),
        "dont_fragment": entry.outer_df.df if entry.outer_df else "wanted",
    }
    fec = entry.fec(tunnel.mode, tunnel.fec, tunnel.fec_timeout)
    if fec is None:
        return spec | {"outer": _sizes(connection, entry, entry.layers(tunnel.mode))} | route
    inside, outside = entry.around_fec(tunnel.mode)
    inner = [sum(parts) for parts in _sizes(connection, entry, inside)]
    largest = fec.header + (fec.blob.mtu if fec.blob else inner[-1])
    around = _surroundings(connection, entry)
    outer = packets.sizes(outside, around, largest)[fec.header :]
    return spec | {"outer": outer, "fec": _fec(fec, inner)} | route


def stream_tunnel(entry: StreamEntry, connection: Connection, hops: Sequence[Spec]) -> Spec:
    """A tunnel that carries packets in a TCP connection."""
    assert connection.tunnel is not None
    return {
        "kind": "stream",
        "end": _tunnel_end(connection, entry),
        "writes": _sizes(connection, entry, entry.layers(connection.tunnel.mode)),
        "handshake": handshake(entry.handshake),
        "layers": {
            "client": [layer.spec() for layer in entry.to_server],
            "server": [layer.spec() for layer in entry.to_client],
        },
        "carrier_tcp": carrier_tcp(entry, connection),
        "carrier_cc": congestion(connection.tunnel.carrier_cc or connection.stream.cc),
        "route": hops[0]["route"],
    }


def carrier_tcp(entry: StreamEntry, connection: Connection) -> Spec:
    """The TCP settings of a stream tunnel's carrier."""
    tunnel, under = connection.tunnel, connection.under
    assert tunnel is not None
    mss = connection.path_mss if under is None else under.mss
    return tcp_of_carrier(connection, mss, connection.path_ip, entry.carrier, tunnel)


def _fec(fec: Fec, inner: list[int]) -> Spec:
    parity = fec.parity_counts
    return same(fec, "FecSpec") | {
        "data": len(parity),
        "parity": parity,
        "blob": fec.blob and same(fec.blob, "FecBlobSpec"),
        "inner": inner,
    }


def _sizes(
    connection: Connection, entry: PacketEntry, layers: PacketLayers
) -> Sequence[Sequence[int]]:
    """What the tunnel's layers do to packets of every size up to the largest one."""
    around = _surroundings(connection, entry)
    return packets.sizes(layers, around, connection.largest_packet)


def _tunnel_end(connection: Connection, entry: PacketEntry) -> Spec:
    tunnel = connection.tunnel
    assert tunnel is not None
    return {
        "device": same(entry.device, "TunnelQueueSpec") | same(tunnel, "TunnelQueueSpec"),
        "shares_thread": entry.threads.threads == 1,
        "encapsulate": _cost(connection, entry, encapsulates=True),
        "decapsulate": _cost(connection, entry, encapsulates=False),
    }


def _surroundings(connection: Connection, entry: PacketEntry) -> Surroundings:
    """Return what the layers of the tunnel ``entry`` need to know."""
    path_mtu, tunnel = connection.mtu, connection.tunnel
    versions = connection.versions
    mtu = entry.mtu(path_mtu, tunnel.mtu if tunnel else None, versions)
    return Surroundings(mtu, path_mtu, connection.stream.payload, versions)


def _cost(connection: Connection, entry: PacketEntry, encapsulates: bool) -> Spec:
    cost = packet_cost(connection, entry, encapsulates)
    return {"per_packet": cost.per_call, "per_byte": cost.per_byte}


def packet_cost(connection: Connection, entry: PacketEntry, encapsulates: bool) -> costs.Cost:
    """Return the CPU cost of a packet where it enters the tunnel ``entry``, or where it leaves.

    The cost is in ns per packet and per inner IP byte. Compression has the ratio of full packets.
    """
    assert connection.tunnel is not None
    mode = connection.tunnel.mode
    full = connection.mss + connection.tcp.header_bytes(connection.versions.inner)
    profile = costs.load(connection.hosts.profile or costs.REFERENCE)
    cost = costs.of(
        profile,
        entry.operations(mode, encapsulates),
        *compression(entry.layers(mode), full, _surroundings(connection, entry), not encapsulates),
    )
    fec = entry.fec(mode, connection.tunnel.fec)
    if fec is None or not encapsulates:
        return cost  # parity is handled as other datagrams where it arrives
    parity = costs.of(profile, entry.cpu.encapsulate[-1:])
    return costs.Cost(*(a + fec.redundancy * b for a, b in zip(cost, parity, strict=True)))
