# SPDX-License-Identifier: GPL-2.0-only
"""WebSocket."""

from typing import Annotated, ClassVar, Literal

from tunnelcc.catalog.layers.stream import FrameSize, StreamLayer
from tunnelcc.schema import SWITCH


class WebSocket(StreamLayer):
    """RFC 6455, section 5.2: a header of 2, 4 or 10 bytes, and 4 of a client's mask.

    ``max_payload``: of a frame; 0: one frame for each write. ``first_write``: bytes of a frame that
    are written separately first; 0: none.
    """

    title: ClassVar[str] = "WebSocket"

    layer: Literal["websocket"]
    max_payload: FrameSize = 0
    masked: Annotated[bool, SWITCH] = False
    first_write: FrameSize = 0

    def adds(self) -> str:
        """Return the header by size of the payload."""
        header = "6, 8 or 14 B (masked)" if self.masked else "2, 4 or 10 B"
        limit = f"≤ {self.max_payload} B" if self.max_payload else "any size"
        return f"{header} per frame of {limit}"
