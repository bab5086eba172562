# SPDX-License-Identifier: GPL-2.0-only
"""UDP."""

from typing import Literal

from tunnelcc.catalog.layers.layer import FixedHeader, Place


class Udp(FixedHeader):
    """RFC 768: ports 2 + 2, length 2, checksum 2."""

    layer: Literal["udp"]
    place = Place.TRANSPORT
    header = 8
