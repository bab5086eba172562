# SPDX-License-Identifier: GPL-2.0-only
"""tinc 1.0's packets."""

from __future__ import annotations

from typing import Literal

from tunnelcc.catalog.layers.layer import FixedHeader, PacketLayer, Place, Surroundings

# Of PACKET requests on tinc's meta connection (protocol.h).
_PACKET = 17


class Tinc(FixedHeader):
    """The sequence number that tinc 1.0 puts before each frame on UDP (net_packet.c)."""

    layer: Literal["tinc"]
    place = Place.DATAGRAM
    header = 4


class TincTcp(PacketLayer):
    """A frame on tinc's meta connection: a line of text with its length goes before it."""

    layer: Literal["tinc-tcp"]
    place = Place.STREAM
    is_plain = True

    def size(self, inner: int, around: Surroundings) -> int:
        """Add the line, `17 LENGTH` and a newline."""
        return len(f"{_PACKET} {inner}\n") + inner
