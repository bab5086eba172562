# SPDX-License-Identifier: GPL-2.0-only
"""Authenticated encryption."""

from typing import Annotated, Literal

from tunnelcc.catalog.layers.layer import Frame, FramedLayer
from tunnelcc.schema import choice, whole

_TAG = 16


class Aead(FramedLayer):
    """AES-GCM (RFC 5116, section 5) or ChaCha20-Poly1305 (RFC 8439, section 2.8).

    Neither pads. Both add a tag of 16 bytes. ``nonce``: bytes of the nonce in each packet.
    """

    layer: Literal["aead"]
    cipher: Annotated[str, choice("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305")]
    nonce: Annotated[int, whole(0, 255)] = 0

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return the cipher's operation."""
        return (f"{self.cipher}-{'encrypt' if encapsulates else 'decrypt'}",)

    def frame(self) -> Frame:
        """Return nonce and tag."""
        return Frame(header=self.nonce, trailer=_TAG)
