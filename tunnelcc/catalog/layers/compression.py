# SPDX-License-Identifier: GPL-2.0-only
"""Compression of single packets."""

from __future__ import annotations

from tunnelcc.catalog.layers.layer import PacketLayer, Surroundings


class Lz4(PacketLayer):
    """LZ4 (block format 1.6) as EthUDP uses it.

    A frame that does not shrink is sent as it is; a byte behind it tells which. Payload counts as
    incompressible.
    """

    name = "lz4"

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return LZ4's operation."""
        return ("lz4-compress" if encapsulates else "lz4-decompress",)

    def size(self, inner: int, around: Surroundings) -> int:
        """Add the byte that tells whether the frame was compressed."""
        return inner + 1


class Lzo(PacketLayer):
    """LZO1X, as vtun uses it: what does not shrink grows. Payload counts as incompressible.

    The compressed form of data without matches is one run of literals, whose length takes one byte
    up to 238 and more above (LZO stream format as in Linux's documentation of lzo), and an end
    mark of 3 bytes.
    """

    name = "lzo"

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return LZO's operation."""
        return ("lzo-1-compress" if encapsulates else "lzo-decompress",)

    def size(self, inner: int, around: Surroundings) -> int:
        """Add the run's length and the end mark."""
        return _run_length_bytes(inner) + inner + _END_MARK


_END_MARK = 3
_SHORT_RUN = 238
_LONG_RUN_BASE = 18
_LENGTH_BYTE = 255


def _run_length_bytes(run: int) -> int:
    if run <= _SHORT_RUN:
        return 1
    return 1 + -(-(run - _LONG_RUN_BASE) // _LENGTH_BYTE)
