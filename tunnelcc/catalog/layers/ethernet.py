# SPDX-License-Identifier: GPL-2.0-only
"""Ethernet headers inside a tunnel."""

from typing import Annotated, Literal

from tunnelcc.catalog.layers.layer import Frame, FramedLayer
from tunnelcc.schema import whole

#: Addresses 6 + 6, type 2 (IEEE 802.3). Inside a tunnel there is no preamble, FCS or gap.
_HEADER = 14

#: Type 2, priority and VLAN 2 (IEEE 802.1Q).
_TAG = 4


class Ethernet(FramedLayer):
    """The header of a frame, with the tags of its VLANs."""

    layer: Literal["ethernet"]
    is_plain = True
    tags: Annotated[int, whole(0, 2)] = 0

    def frame(self) -> Frame:
        """Return the header."""
        return Frame(header=_HEADER + _TAG * self.tags)
