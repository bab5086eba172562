# SPDX-License-Identifier: GPL-2.0-only
"""Message authentication codes."""

from typing import Annotated, Literal

from tunnelcc.catalog.layers.layer import Frame, FramedLayer
from tunnelcc.schema import choice, whole

_BEFORE = {"kept": (), "rekeyed": ("hmac-key",), "new": ("hmac-init",)}


class Hmac(FramedLayer):
    """HMAC (RFC 2104). ``bytes``: sent bytes of the code.

    ``context``: kept with its key, kept but given the key again for each packet, or new for each.
    """

    layer: Literal["hmac"]
    is_plain = True
    digest: Annotated[str, choice("sha1", "sha256")]
    bytes: Annotated[int, whole(1, 64)]
    context: Annotated[str, choice(*_BEFORE)] = "kept"

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return the operations, the same at both ends."""
        return (*_BEFORE[self.context], f"hmac-{self.digest}")

    def frame(self) -> Frame:
        """Return the code."""
        return Frame(trailer=self.bytes)
