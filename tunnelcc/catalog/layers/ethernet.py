# SPDX-License-Identifier: GPL-2.0-only
"""Ethernet headers inside a tunnel."""

from typing import Literal

from tunnelcc.catalog.layers.layer import FixedHeader


class Ethernet(FixedHeader):
    """IEEE 802.3: addresses 6 + 6, type 2. Inside a tunnel there is no preamble, FCS or gap."""

    layer: Literal["ethernet"]
    header = 14
