# SPDX-License-Identifier: GPL-2.0-only
"""vtun's frames."""

from typing import Literal

from tunnelcc.catalog.layers.layer import FixedHeader


class Vtun(FixedHeader):
    """The length before each frame, with flags in its upper bits (tcp_proto.c, udp_proto.c)."""

    layer: Literal["vtun"]
    header = 2
