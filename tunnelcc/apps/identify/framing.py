# SPDX-License-Identifier: GPL-2.0-only
"""The law of a carrier's bytes: what a write of n bytes adds, as frames in reads of a buffer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_TLS = 22  # RFC 8446, section 5: header 5, content type 1, tag 16
_LARGEST_RECORD = 16384
_LEAST_PADDING = 4  # RFC 4253, section 6
_SSH_DATA = 9  # RFC 4254, section 5.2: message 1, channel 4, length 4


@dataclass(frozen=True)
class Law:
    """Frames of at most ``most`` bytes of data (0: no limit) with ``overhead`` each.

    Reads of ``buffer`` bytes begin a frame each (0: not seen). ``block``: of SSH, whose packets of
    ``overhead`` are padded to it; 0: nothing is padded. ``misses``: sizes of writes that it does
    not tell exactly, of ``seen``.
    """

    overhead: int = 0
    most: int = 0
    buffer: int = 0
    block: int = 0
    misses: int = 0
    seen: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether it tells the bytes of each write that was tried."""
        return self.misses == 0

    def added(self, size: int) -> int:
        """Return what a write of ``size`` bytes adds."""
        return sum(map(self._frame, self._frames(size)))

    def _frames(self, size: int) -> Iterator[int]:
        while size > 0:
            read = min(size, self.buffer or size)
            size -= read
            while read > 0:
                frame = min(read, self.most or read)
                read -= frame
                yield frame

    def _frame(self, size: int) -> int:
        if not self.block:
            return self.overhead
        # RFC 4253, section 6, as an AEAD of OpenSSH: the length, 4, is not part of the blocks.
        padding = self.block - (1 + _SSH_DATA + size) % self.block
        padding += self.block if padding < _LEAST_PADDING else 0
        return 4 + 1 + _SSH_DATA + padding + self.overhead

    def layer(self) -> dict[str, object]:
        """Return the layer of an entry that adds this."""
        if self.block:
            return {"layer": "ssh", "block": self.block, "overhead": self.overhead}
        if self.overhead == _TLS and self.most == _LARGEST_RECORD:
            return {"layer": "tls", "max_payload": self.most, "overhead": self.overhead}
        return {"layer": "header", "bytes": self.overhead, "max_payload": self.most}


def fit(added: Mapping[int, int]) -> Law:
    """Return the law that tells best what writes added (size → bytes)."""
    found = [_counted(law, added) for law in _candidates(added)]
    return min(found, key=lambda law: law.misses)


def _candidates(added: Mapping[int, int]) -> Iterator[Law]:
    first = added[min(added)]
    for block in (8, 16):
        for overhead in (16, 20, 32):
            for most in (0, 32768):
                yield Law(overhead, most, block=block)
    yield Law(first)
    sizes = sorted(added)
    # The last size before each step is where a frame, or a read, is full.
    edges = [low for low, high in itertools.pairwise(sizes) if added[low] != added[high]]
    for most in edges[:3]:
        yield Law(first, most)
        for buffer in edges[:12]:
            if buffer > most:
                yield Law(first, most, buffer)


def _counted(law: Law, added: Mapping[int, int]) -> Law:
    misses = sum(law.added(size) != it for size, it in added.items())
    return Law(law.overhead, law.most, law.buffer, law.block, misses, len(added))
