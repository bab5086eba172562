# SPDX-License-Identifier: GPL-2.0-only
"""Compression of single packets.

A packet's ratio depends on its payload (``flows.payload``). It is the mean ratio that the real
library reached on packets of that corpus. Headers before IP count as incompressible, and so do the
20 bytes by which a header of IPv6 is longer than that of IPv4, which was measured.
"""

from abc import abstractmethod
from typing import Annotated, Literal

from tunnelcc import payloads
from tunnelcc.catalog.layers.layer import PacketLayer, Surroundings
from tunnelcc.catalog.values import IP_HEADERS
from tunnelcc.schema import choice_of


class Compression(PacketLayer):
    """Compression of each packet alone."""

    @property
    @abstractmethod
    def algorithm(self) -> str:
        """Name in ``tunnelcc.payloads.ALGORITHMS``."""

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return the algorithm's operation."""
        if encapsulates:
            return (f"{self.algorithm}-compress",)
        return (f"{self.algorithm.split('-')[0]}-decompress",)

    def size(self, inner: int, around: Surroundings) -> int:
        """Return the size after the library has compressed the packet."""
        measured = around.ip_bytes - (IP_HEADERS[around.versions.inner] - IP_HEADERS[4])
        after = payloads.after(around.payload, self.algorithm, measured)
        return inner - measured + round(after)


class Lz4(Compression):
    """LZ4 (block format 1.6) as in EthUDP.

    A frame that does not shrink is sent unchanged. One more byte says whether it is compressed.
    """

    layer: Literal["lz4"]

    @property
    def algorithm(self) -> str:
        """LZ4's only one here."""
        return "lz4"

    def size(self, inner: int, around: Surroundings) -> int:
        """Add the byte that says whether the frame is compressed."""
        return min(inner, super().size(inner, around)) + 1


class Lzo(Compression):
    """LZO1X as in vtun and tinc. Incompressible data grow.

    ``level``: 1 (fast) or 999 (small). Data without matches become one run of literals and an end
    mark of 3 bytes. The length of the run takes one byte up to 238, and more above (LZO stream
    format as in Linux's documentation of lzo).
    """

    layer: Literal["lzo"]
    level: Annotated[int, choice_of(1, 999)] = 1

    @property
    def algorithm(self) -> str:
        """LZO at this level."""
        return f"lzo-{self.level}"

    def size(self, inner: int, around: Surroundings) -> int:
        """Return the size of one run of literals for random bytes; otherwise liblzo2's size."""
        if around.payload == "random":
            return _run_length_bytes(inner) + inner + _END_MARK
        return super().size(inner, around)


class Zlib(Compression):
    """compress2() of zlib (RFC 1950, 1951), as tinc uses it. ``level``: 1, fast, or 9, small."""

    layer: Literal["zlib"]
    level: Annotated[int, choice_of(1, 9)] = 9

    @property
    def algorithm(self) -> str:
        """Deflate at this level."""
        return f"zlib-{self.level}"


_END_MARK = 3
_SHORT_RUN = 238
_LONG_RUN_BASE = 18
_LENGTH_BYTE = 255


def _run_length_bytes(run: int) -> int:
    if run <= _SHORT_RUN:
        return 1
    return 1 + -(-(run - _LONG_RUN_BASE) // _LENGTH_BYTE)
