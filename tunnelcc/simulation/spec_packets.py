# SPDX-License-Identifier: GPL-2.0-only
"""The specification of tunnels that carry packets, as datagrams or in a stream."""

from __future__ import annotations

from collections.abc import Sequence

from tunnelcc.catalog import DatagramEntry, PacketEntry, StreamEntry, packets
from tunnelcc.catalog.layers import Fec, PacketLayers
from tunnelcc.config import derived
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.simulation.spec_parts import Spec, congestion, handshake, same
from tunnelcc.simulation.spec_tcp import own_socket, path_tcp


def flow_tcp(entry: PacketEntry, experiment: ExperimentKeys) -> dict[str, Spec]:
    """The TCP settings of a flow in the tunnel, whose device does not merge segments."""
    return {"tcp": path_tcp(experiment, derived.mss(experiment)) | {"gro": 0}}


def datagram_tunnel(entry: DatagramEntry, experiment: ExperimentKeys, hops: Sequence[Spec]) -> Spec:
    """A tunnel that sends each packet in a datagram."""
    tunnel, route = experiment.tunnel, {"route": hops[0]["route"]}
    assert tunnel is not None
    spec = {
        "kind": "datagram",
        "end": _tunnel_end(experiment, entry) | {"socket": same(entry.socket, "tunnel_queue")},
        "ecn": same(entry.ecn, "ecn"),
    }
    fec = entry.fec(tunnel.mode, tunnel.fec, tunnel.fec_timeout)
    if fec is None:
        return spec | {"outer": _sizes(experiment, entry, entry.layers(tunnel.mode))} | route
    inside, outside = entry.around_fec(tunnel.mode)
    inner = [sum(parts) for parts in _sizes(experiment, entry, inside)]
    largest = fec.header + (fec.blob.mtu if fec.blob else inner[-1])
    around = derived.surroundings(experiment, entry)
    outer = packets.sizes(outside, around, largest)[fec.header :]
    return spec | {"outer": outer, "fec": _fec(fec, inner)} | route


def stream_tunnel(entry: StreamEntry, experiment: ExperimentKeys, hops: Sequence[Spec]) -> Spec:
    """A tunnel that carries packets in a TCP connection."""
    assert experiment.tunnel is not None
    carrier_tcp = path_tcp(experiment, derived.path_mss(experiment))
    carrier_tcp |= own_socket(entry.carrier)
    return {
        "kind": "stream",
        "end": _tunnel_end(experiment, entry),
        "writes": _sizes(experiment, entry, entry.layers(experiment.tunnel.mode)),
        "handshake": handshake(entry.handshake),
        "layers": {
            "client": [layer.spec() for layer in entry.to_server],
            "server": [layer.spec() for layer in entry.to_client],
        },
        "carrier_tcp": carrier_tcp,
        "carrier_cc": congestion(experiment.tunnel.carrier_cc or experiment.flows[0].cc),
        "route": hops[0]["route"],
    }


def _fec(fec: Fec, inner: list[int]) -> Spec:
    parity = fec.parity_counts
    return same(fec, "fec") | {
        "data": len(parity),
        "parity": parity,
        "blob": fec.blob and same(fec.blob, "fec_blob"),
        "inner": inner,
    }


def _sizes(
    experiment: ExperimentKeys, entry: PacketEntry, layers: PacketLayers
) -> Sequence[Sequence[int]]:
    """What the tunnel's layers do to packets of every size up to the largest one."""
    around = derived.surroundings(experiment, entry)
    largest = derived.mss(experiment) + experiment.tcp.header_bytes
    return packets.sizes(layers, around, largest)


def _tunnel_end(experiment: ExperimentKeys, entry: PacketEntry) -> Spec:
    tunnel = experiment.tunnel
    assert tunnel is not None
    return {
        "device": same(entry.device, "tunnel_queue") | same(tunnel, "tunnel_queue"),
        "shares_thread": entry.threads.threads == 1,
        "encapsulate": _packet_cost(experiment, entry, encapsulates=True),
        "decapsulate": _packet_cost(experiment, entry, encapsulates=False),
    }


def _packet_cost(experiment: ExperimentKeys, entry: PacketEntry, encapsulates: bool) -> Spec:
    cost = derived.packet_cost(experiment, entry, encapsulates)
    return {"per_packet": cost.per_call, "per_byte": cost.per_byte}
