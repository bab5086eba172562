# SPDX-License-Identifier: GPL-2.0-only
"""tinc 1.0's packets."""

from typing import Literal

from tunnelcc.catalog.layers.layer import FixedHeader, PacketLayer, Place, Surroundings

# Of PACKET requests on tinc's meta connection (protocol.h).
_PACKET = 17


class Tinc(FixedHeader):
    """The sequence number before each frame of tinc 1.0 on UDP (net_packet.c)."""

    layer: Literal["tinc"]
    place = Place.DATAGRAM
    header = 4


class TincTcp(PacketLayer):
    """A frame on tinc's meta connection, after a line of text with its length."""

    layer: Literal["tinc-tcp"]
    place = Place.STREAM
    is_plain = True

    def size(self, inner: int, around: Surroundings) -> int:
        """Add the line, `17 LENGTH` and a newline."""
        return len(f"{_PACKET} {inner}\n") + inner
