# SPDX-License-Identifier: GPL-2.0-only
"""IPv4 and IPv6, which fragment packets that do not fit."""

from typing import Literal

from tunnelcc.catalog.layers.layer import PacketLayer, Place, Surroundings
from tunnelcc.catalog.values import IP_HEADERS

#: IPv6's fragment header (RFC 8200, section 4.5).
_FRAGMENT_HEADER = 8
#: Offsets of fragments count in so many bytes.
_UNIT = 8


class Ip(PacketLayer):
    """RFC 791 or RFC 8200, as ``path.ip`` says: a header of 20 or 40 bytes, without options.

    A packet that exceeds the path's MTU leaves in fragments. Each has its own header, with IPv6
    also a fragment header, and all except the last have a multiple of 8 bytes. Don't-fragment is
    not set.
    """

    layer: Literal["ip"]
    place = Place.NETWORK

    def wrap(self, inner: int, around: Surroundings) -> list[int]:
        """Return the IP bytes of the fragments, or of the one packet."""
        version = around.versions.outer
        header = IP_HEADERS[version]
        if header + inner <= around.path_mtu:
            return [header + inner]
        if version == 6:
            header += _FRAGMENT_HEADER
        most = (around.path_mtu - header) // _UNIT * _UNIT
        leads, last = divmod(inner, most)
        if last == 0:
            leads, last = leads - 1, most
        return [header + most] * leads + [header + last]
