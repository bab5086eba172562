# SPDX-License-Identifier: GPL-2.0-only
"""Layers that tunnels put around packets, one module for each specification.

A layer maps the size of its input to the exact size of its output. A catalogue entry lists layers
from the innermost outwards. A new layer adds its class to ``PACKET_LAYERS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Field

from tunnelcc import payloads
from tunnelcc.catalog.layers.aead import Aead
from tunnelcc.catalog.layers.cbc import Cbc
from tunnelcc.catalog.layers.compression import Compression, Lz4, Lzo, Zlib
from tunnelcc.catalog.layers.esp import Esp
from tunnelcc.catalog.layers.ethernet import Ethernet
from tunnelcc.catalog.layers.ethudp import EthUdpFragments
from tunnelcc.catalog.layers.fec import Fec
from tunnelcc.catalog.layers.gost import GostDatagram
from tunnelcc.catalog.layers.header import Header
from tunnelcc.catalog.layers.hmac import Hmac
from tunnelcc.catalog.layers.ip import Ip
from tunnelcc.catalog.layers.layer import FramedLayer, PacketLayer, Place, Surroundings
from tunnelcc.catalog.layers.openvpn import OpenVpn
from tunnelcc.catalog.layers.snappy import Snappy
from tunnelcc.catalog.layers.ssh import SshPackets, SshTun
from tunnelcc.catalog.layers.stream import StreamLayer, in_streams
from tunnelcc.catalog.layers.tinc import Tinc, TincTcp
from tunnelcc.catalog.layers.tls import Tls
from tunnelcc.catalog.layers.udp import Udp
from tunnelcc.catalog.layers.vtun import Vtun
from tunnelcc.catalog.layers.vxlan import Vxlan
from tunnelcc.catalog.layers.websocket import WebSocket
from tunnelcc.catalog.layers.wireguard import WireGuard

__all__ = [
    "PACKET_LAYERS",
    "STREAM_LAYERS",
    "Fec",
    "PacketLayer",
    "PacketLayers",
    "Place",
    "StreamLayer",
    "StreamLayers",
    "Surroundings",
    "compression",
    "wrap",
]

PACKET_LAYERS: tuple[type[PacketLayer], ...] = (
    Aead, Cbc, Esp, EthUdpFragments, Ethernet, Fec, GostDatagram, Header, Hmac, Ip, Lz4, Lzo,
    OpenVpn, SshTun, Tinc, TincTcp, Udp, Vtun, Vxlan, WireGuard, Zlib,
)  # fmt: skip

#: Layers around streams: their own, and those of packets that are frames.
STREAM_LAYERS: tuple[type[StreamLayer], ...] = (
    WebSocket,
    Tls,
    SshPackets,
    Snappy,
    *(
        in_streams(layer)
        for layer in PACKET_LAYERS
        if issubclass(layer, FramedLayer) and layer.place in (Place.PACKET, Place.STREAM)
    ),
)


def _in_full(value: Any) -> Any:
    """Return the table that a name alone stands for."""
    return {"layer": value} if isinstance(value, str) else value


if TYPE_CHECKING:
    PacketLayers = tuple[PacketLayer, ...]
    StreamLayers = tuple[StreamLayer, ...]
else:
    _Packet = Annotated[Union[PACKET_LAYERS], Field(discriminator="layer")]  # noqa: UP007
    _Stream = Annotated[Union[STREAM_LAYERS], Field(discriminator="layer")]  # noqa: UP007
    PacketLayers = tuple[Annotated[_Packet, BeforeValidator(_in_full)], ...]
    StreamLayers = tuple[_Stream, ...]


def wrap(layers: Sequence[PacketLayer], inner: int, around: Surroundings) -> list[int]:
    """Return the sizes of the outermost packets for an IP packet of ``inner`` bytes."""
    around = replace(around, ip_bytes=inner)
    sizes = [inner]
    for layer in layers:
        sizes = [outer for size in sizes for outer in layer.wrap(size, around)]
    return sizes


def compression(
    layers: Sequence[PacketLayer], inner: int, around: Surroundings, expands: bool
) -> tuple[float, float]:
    """Return the compression of an IP packet of ``inner`` bytes, and its effort.

    The first value is the share of the bytes that remains. The second is the effort
    (``payloads.effort``) of compressing or expanding.
    """
    around = replace(around, ip_bytes=inner)
    for layer in layers:
        if isinstance(layer, Compression):
            share = layer.size(inner, around) / inner
            return share, payloads.effort(around.payload, layer.algorithm, expands)
    return 1.0, 1.0
