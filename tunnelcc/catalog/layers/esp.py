# SPDX-License-Identifier: GPL-2.0-only
"""IPsec's Encapsulating Security Payload with AES-GCM."""

from typing import Literal

from tunnelcc.catalog.layers.layer import Frame, FramedLayer, Place

# RFC 4303, section 2: security parameters index 4, sequence number 4.
_HEADER = 8
# RFC 4106, section 3.1; section 6: the integrity check value has 16 bytes.
_IV = 8
_ICV = 16
# RFC 4303, section 2.4: pad length 1 and next header 1 end on a 4-byte boundary.
_TRAILER = 2
_ALIGNMENT = 4


class Esp(FramedLayer):
    """RFC 4303 with AES-GCM after RFC 4106: header, IV, padding, trailer, check value."""

    layer: Literal["esp"]
    place = Place.DATAGRAM

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return the cipher's operation."""
        return (f"aes-256-gcm-{'encrypt' if encapsulates else 'decrypt'}",)

    def frame(self) -> Frame:
        """Return header and vector, the padding with its trailer, and the check value."""
        return Frame(_HEADER + _IV, padding=_TRAILER, block=_ALIGNMENT, trailer=_ICV)
