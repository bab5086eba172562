# SPDX-License-Identifier: GPL-2.0-only
"""The specification of tunnels that carry packets, as datagrams or in a stream."""

from __future__ import annotations

from collections.abc import Sequence

from tunnelcc.catalog import packets
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.layers import Fec, PacketLayers
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.quic_datagram import QuicDatagramEntry
from tunnelcc.catalog.stream import StreamEntry
from tunnelcc.network.layers import Layer
from tunnelcc.network.resolved import ResolvedTunnel
from tunnelcc.network.traffic import Traffic
from tunnelcc.network.transport import Transport
from tunnelcc.network.tunnels import Gateways, PacketTunnel
from tunnelcc.specification.parts import Spec, congestion, handshake, same
from tunnelcc.specification.quic import quic_connection, udp_socket
from tunnelcc.specification.tcp import carrier_tcp as tcp_of_carrier
from tunnelcc.specification.tcp import flow_tcp as tcp_of_flow
from tunnelcc.specification.tcp import with_options_of


def flow_tcp(entry: PacketEntry, traffic: Traffic) -> dict[str, Spec]:
    """The TCP settings of a flow in the tunnel."""
    return {"tcp": tcp_through(traffic.below, traffic.transport, traffic.flow.window)}


def tcp_through(below: Layer, transport: Transport, window: int | None) -> Spec:
    """The TCP settings of a connection through a tunnel, whose device does not merge segments.

    ``window``: as in spec_tcp.flow_tcp().
    """
    tcp = tcp_of_flow(transport, window, below.versions.inner)
    # Behind a gateway, the receiver's own network card merges them.
    is_behind = isinstance(below, Gateways) and transport.receiver in below.access
    return tcp if is_behind else tcp | {"gro": 0}


def datagram_tunnel(entry: DatagramEntry, placed: ResolvedTunnel, hops: Sequence[Spec]) -> Spec:
    """A tunnel that sends each packet in a datagram."""
    tunnel, route = _layer(placed), {"route": hops[0]["route"]}
    keys = tunnel.keys
    spec = {
        "kind": "datagram",
        "end": _tunnel_end(placed, entry) | {"socket": {"queue": tunnel.socket_queue}},
        "ecn": same(entry.ecn, "EcnSpec"),
        "dont_fragment": entry.outer_df.df if entry.outer_df else "wanted",
    }
    fec = entry.fec(keys.mode, keys.fec, keys.fec_timeout)
    if fec is None:
        return spec | {"outer": _sizes(placed, entry.layers(keys.mode))} | route
    inside, outside = entry.around_fec(keys.mode)
    inner = [sum(parts) for parts in _sizes(placed, inside)]
    largest = fec.header + (fec.blob.mtu if fec.blob else inner[-1])
    around = tunnel.surroundings(placed.contents.payload)
    outer = packets.sizes(outside, around, largest)[fec.header :]
    return spec | {"outer": outer, "fec": _fec(fec, inner)} | route


def stream_tunnel(entry: StreamEntry, placed: ResolvedTunnel, hops: Sequence[Spec]) -> Spec:
    """A tunnel that carries packets in a TCP connection."""
    return {
        "kind": "stream",
        "end": _tunnel_end(placed, entry),
        "writes": _sizes(placed, entry.layers(placed.keys.mode)),
        "handshake": handshake(entry.handshake),
        "layers": {
            "client": [layer.spec() for layer in entry.to_server],
            "server": [layer.spec() for layer in entry.to_client],
        },
        "carrier_tcp": carrier_tcp(entry, placed),
        "carrier_cc": congestion(placed.keys.carrier_cc or placed.contents.cc),
        "route": hops[0]["route"],
        "multipath": hops[0]["multipath"],
    }


def quic_tunnel(entry: QuicDatagramEntry, placed: ResolvedTunnel, hops: Sequence[Spec]) -> Spec:
    """A tunnel that carries packets in DATAGRAM frames of a QUIC connection."""
    tunnel, keys = _layer(placed), placed.keys
    stripped = entry.stripped(tunnel.versions.inner)
    sizes = [sum(parts) for parts in _sizes(placed, entry.layers(keys.mode))]
    payloads = [sizes[max(inner - stripped, 0)] for inner in range(len(sizes))]
    datagrams = {
        "queue": keys.datagram_queue or entry.datagrams.queue,
        "blocks": entry.datagrams.when_full == "waits",
        "are_alone": not entry.datagrams.several,
        "reserve": entry.datagrams.reserve,
        "header": sizes[0],
        "splits": entry.datagrams.too_large == "split",
    }
    assert keys.carrier_cc is not None  # the entry has one
    end = _tunnel_end(placed, entry)
    if entry.carries.what == "udp":  # as models/tunnel/udp-socket.h has it
        end["device"] |= {"release": end["device"]["queue"] // 4 + 1}
    return {
        "kind": "quic-datagram",
        "end": end
        | {
            "socket": {"queue": entry.arrived.queue},
            "decapsulate": {"per_packet": 0, "per_byte": 0},  # the UDP socket has it
        },
        "payloads": payloads,
        "datagrams": datagrams,
        "quic": quic_connection(
            entry.quic, tunnel.below.mtu, tunnel.versions.outer, has_paths=tunnel.paths is not None
        ),
        "sockets": {
            it: udp_socket(placed, it, entry.asked_buffer, _cost(placed, encapsulates=False))
            for it in ("client", "server")
        },
        "carrier_cc": congestion(keys.carrier_cc),
        "route": hops[0]["route"],
        "multipath": hops[0]["multipath"],
    }


def carrier_tcp(entry: StreamEntry, placed: ResolvedTunnel) -> Spec:
    """The TCP settings of a stream tunnel's carrier."""
    tunnel = _layer(placed)
    mss, ip = tunnel.below.segment, tunnel.versions.outer
    spec = tcp_of_carrier(tunnel.transport, mss, ip, entry.carrier, tunnel.keys)
    return with_options_of(tunnel.paths, spec)


def _layer(placed: ResolvedTunnel) -> PacketTunnel:
    assert isinstance(placed.layer, PacketTunnel)
    return placed.layer


def _fec(fec: Fec, inner: list[int]) -> Spec:
    parity = fec.parity_counts
    return same(fec, "FecSpec") | {
        "data": len(parity),
        "parity": parity,
        "blob": fec.blob and same(fec.blob, "FecBlobSpec"),
        "inner": inner,
    }


def _sizes(placed: ResolvedTunnel, layers: PacketLayers) -> Sequence[Sequence[int]]:
    """What the tunnel's layers do to packets of every size up to the largest one."""
    contents, tunnel = placed.contents, _layer(placed)
    largest = tunnel.largest_packet(only_tcp=contents.only_tcp)
    return packets.sizes(layers, tunnel.surroundings(contents.payload), largest)


def _tunnel_end(placed: ResolvedTunnel, entry: PacketEntry) -> Spec:
    return {
        "device": same(entry.device, "TunnelQueueSpec") | same(placed.keys, "TunnelQueueSpec"),
        "shares_thread": entry.threads.threads == 1,
        "encapsulate": _cost(placed, encapsulates=True),
        "decapsulate": _cost(placed, encapsulates=False),
    }


def _cost(placed: ResolvedTunnel, *, encapsulates: bool) -> Spec:
    cost = _layer(placed).cost(placed.contents.payload, encapsulates=encapsulates)
    return {"per_packet": cost.per_call, "per_byte": cost.per_byte}
