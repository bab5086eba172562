# SPDX-License-Identifier: GPL-2.0-only
"""Message authentication codes."""

from __future__ import annotations

from typing import Annotated

from tunnelcc.catalog.layers.layer import PacketLayer, Surroundings
from tunnelcc.schema import choice, whole


class Hmac(PacketLayer):
    """HMAC (RFC 2104), of which ``bytes`` are sent."""

    name = "hmac"
    is_plain = True
    digest: Annotated[str, choice("sha1", "sha256")]
    bytes: Annotated[int, whole(1, 64)]

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return the digest's operation, the same at both ends."""
        return (f"hmac-{self.digest}",)

    def size(self, inner: int, around: Surroundings) -> int:
        """Add the code."""
        return inner + self.bytes
