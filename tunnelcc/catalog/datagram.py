# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels in which each packet becomes a datagram."""

from __future__ import annotations

from typing import Annotated, ClassVar

from tunnelcc.catalog.cited import Cited
from tunnelcc.catalog.layers import Place
from tunnelcc.catalog.packets import PacketEntry, QueuePackets
from tunnelcc.schema import SWITCH


class Socket(Cited):
    """How many packets wait at the far end's UDP socket for the program."""

    queue: QueuePackets  # 0: no limit


class Ecn(Cited):
    """Whether marks pass between inner and outer headers (RFC 6040)."""

    copied: Annotated[bool, SWITCH]


class DatagramEntry(PacketEntry):
    """A tunnel that sends each packet in a datagram of its own."""

    OVERRIDES: ClassVar[tuple[str, ...]] = ("mode", "mtu", "mss", "queue")
    PLACES: ClassVar[tuple[Place, ...]] = (
        Place.PACKET,
        Place.DATAGRAM,
        Place.TRANSPORT,
        Place.NETWORK,
    )

    socket: Socket
    ecn: Ecn
