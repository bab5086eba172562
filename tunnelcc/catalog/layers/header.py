# SPDX-License-Identifier: GPL-2.0-only
"""Headers and trailers in a program's own format."""

from typing import Annotated, Literal

from tunnelcc.catalog.layers.layer import Frame, FramedLayer
from tunnelcc.schema import whole


class Header(FramedLayer):
    """A header or trailer with the size that the catalogue gives."""

    layer: Literal["header"]
    is_plain = True
    bytes: Annotated[int, whole(1, 65535)]

    def frame(self) -> Frame:
        """Return the bytes."""
        return Frame(header=self.bytes)
