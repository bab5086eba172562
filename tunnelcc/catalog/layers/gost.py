# SPDX-License-Identifier: GPL-2.0-only
"""Datagrams in GOST's relay protocol."""

from typing import Literal

from tunnelcc.catalog.layers.layer import PacketLayer, Place, Surroundings

_LENGTH = 2


class GostDatagram(PacketLayer):
    """A datagram in a relay's stream: two writes, its length and its data (udpConn.Write())."""

    layer: Literal["gost-datagram"]
    place = Place.STREAM

    def wrap(self, inner: int, around: Surroundings) -> list[int]:
        """Return both writes."""
        return [_LENGTH, inner]
