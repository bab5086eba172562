# SPDX-License-Identifier: GPL-2.0-only
"""WireGuard's transport data message."""

from typing import Literal

from tunnelcc.catalog.layers.layer import PacketLayer, Place, Surroundings

# Type 1, reserved 3, receiver 4, counter 8; ChaCha20-Poly1305's tag.
_HEADER = 16
_TAG = 16
_PADDING = 16


class WireGuard(PacketLayer):
    """WireGuard (Donenfeld, NDSS 2017, section 5.4.6).

    The packet is padded with zeros to a multiple of 16 bytes, but at most to the device's MTU.
    """

    layer: Literal["wireguard"]
    place = Place.DATAGRAM

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return the cipher's operation."""
        return (f"chacha20-poly1305-{'encrypt' if encapsulates else 'decrypt'}",)

    def size(self, inner: int, around: Surroundings) -> int:
        """Pad, and add header and tag."""
        padded = -(-inner // _PADDING) * _PADDING
        return _HEADER + max(inner, min(padded, around.device_mtu)) + _TAG
