# SPDX-License-Identifier: GPL-2.0-only
"""Bytes that a program puts around a packet, in a format of its own."""

from __future__ import annotations

from typing import Annotated, Literal

from tunnelcc.catalog.layers.layer import Frame, FramedLayer
from tunnelcc.schema import whole


class Header(FramedLayer):
    """A header or trailer of a number of bytes that the catalogue gives."""

    layer: Literal["header"]
    is_plain = True
    bytes: Annotated[int, whole(1, 65535)]

    def frame(self) -> Frame:
        """Return the bytes."""
        return Frame(header=self.bytes)
