# SPDX-License-Identifier: GPL-2.0-only
"""IPv4, which fragments packets that do not fit."""

from __future__ import annotations

from typing import Literal

from tunnelcc.catalog.layers.layer import PacketLayer, Place, Surroundings

HEADER = 20
#: Offsets of fragments count in so many bytes.
_UNIT = 8


class Ipv4(PacketLayer):
    """RFC 791: a header of 20 bytes, without options.

    A packet that exceeds the path's MTU leaves in fragments. Each has its own header, and all
    except the last have a multiple of 8 bytes (section 3.2). Don't-fragment is not set.
    """

    layer: Literal["ipv4"]
    place = Place.NETWORK

    def wrap(self, inner: int, around: Surroundings) -> list[int]:
        """Return the IP bytes of the fragments, or of the one packet."""
        if HEADER + inner <= around.path_mtu:
            return [HEADER + inner]
        most = (around.path_mtu - HEADER) // _UNIT * _UNIT
        leads, last = divmod(inner, most)
        if last == 0:
            leads, last = leads - 1, most
        return [HEADER + most] * leads + [HEADER + last]
