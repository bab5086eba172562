# SPDX-License-Identifier: GPL-2.0-only
"""The specification of tunnels' packets in a capture: their ports and headers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunnelcc.network.resolved import ResolvedTunnel
from tunnelcc.specification.parts import Spec

#: Layer → the port that its program listens at by default, or that IANA gave to its protocol.
_PORTS = {
    "wireguard": 51820,
    "openvpn": 1194,
    "vxlan": 4789,
    "esp": 4500,
    "tinc": 655,
    "tinc-tcp": 655,
    "ssh": 22,
    "tls": 443,
    "websocket": 80,
}
_PROTOCOL_PORTS = {"kcp": 29900, "rudp": 150, "quic": 443}  # kcptun's, FinalSpeed's, HTTP/3's
_OTHER_PORT = 8421  # GOST's relay protocol


def tunnel_packets(placed: ResolvedTunnel) -> Spec:
    """How the packets of a tunnel look."""
    from tunnelcc.catalog.datagram import DatagramEntry
    from tunnelcc.catalog.relay import RelayEntry
    from tunnelcc.catalog.stream import StreamEntry

    entry, tunnel = placed.keys.entry, placed.keys
    inside = {"name": placed.name, "ip": tunnel.ip or placed.layer.versions.outer}
    if isinstance(entry, DatagramEntry):
        return {**inside, **_datagrams(entry, tunnel.mode)}
    if isinstance(entry, RelayEntry):
        if entry.carrier.protocol in _PROTOCOL_PORTS:
            return {**inside, "port": _PROTOCOL_PORTS[entry.carrier.protocol]}
        names = [layer.layer for layer in entry.to_server]
        has_smux = entry.mux is not None and entry.mux.protocol.startswith("smux")
        return {**inside, "port": _port(names), "has_smux": has_smux}
    if entry.kind == "quic-datagram":
        return {**inside, "port": _PROTOCOL_PORTS["quic"]}
    assert isinstance(entry, StreamEntry)
    layers = entry.layers(tunnel.mode)
    names = [it.layer for it in layers] + [it.layer for it in entry.to_server]
    listed = [{"layer": it.layer, "header": _header(it), "is_plain": it.is_plain} for it in layers]
    return {**inside, "port": _port(names), "layers": listed}


def _datagrams(entry: Any, mode: str | None) -> Spec:
    has_fec = entry.fec(mode) is not None
    layers = entry.around_fec(mode)[1] if has_fec else entry.layers(mode)
    names = [layer.layer for layer in layers]
    return {
        "port": _port(names),
        "has_udp": "udp" in names,
        "splits": "ethudp-fragments" in names,
        "layers": [
            {"layer": it.layer, "header": _header(it), "is_plain": it.is_plain and not has_fec}
            for it in layers
            if it.layer not in ("udp", "ip")
        ],
    }


def _header(layer: Any) -> int:
    """The bytes of a layer before the packet."""
    if layer.layer == "wireguard":
        return 16
    return layer.frame().header if hasattr(layer, "frame") else 0


def _port(layers: Sequence[str]) -> int:
    """The port of the outermost of ``layers`` that has one."""
    return next((_PORTS[name] for name in reversed(layers) if name in _PORTS), _OTHER_PORT)
