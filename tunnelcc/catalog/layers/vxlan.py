# SPDX-License-Identifier: GPL-2.0-only
"""VXLAN."""

from typing import Literal

from tunnelcc.catalog.layers.layer import FixedHeader, Place


class Vxlan(FixedHeader):
    """RFC 7348, section 5: flags 1, reserved 3, network identifier 3, reserved 1."""

    layer: Literal["vxlan"]
    place = Place.DATAGRAM
    header = 8
