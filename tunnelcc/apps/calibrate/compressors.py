# SPDX-License-Identifier: GPL-2.0-only
"""Compression functions of tunnel programs, called in the same way: packet by packet.

Python's bindings of LZ4 and LZO call other functions (LZ4's streaming function finds fewer short
matches) or allocate memory for each packet. Therefore ctypes calls the libraries directly: LZ4 from
the package ``lz4``, LZO from the system's liblzo2 if it is installed.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

_ROOM = 1 << 14  # bytes, for what comes out
_LZO_MEMORY = 1 << 19  # bytes; LZO1X_999_MEM_COMPRESS is 14 * 16384 * 2 (lzo1x.h)

#: Takes a packet and returns how many bytes come out.
Run = Callable[[bytes], int]


@dataclass(frozen=True)
class Compressor:
    """One algorithm at one level."""

    run: Run  # compresses
    run_back: Run  # expands
    nothing: Run  # the same call of something that returns at once
    room: ctypes.Array[ctypes.c_char]  # what run and run_back have written

    def compress(self, data: bytes) -> bytes:
        """Return ``data`` compressed."""
        return ctypes.string_at(self.room, self.run(data))

    def expand(self, data: bytes) -> bytes:
        """Return the expanded ``data``."""
        return ctypes.string_at(self.room, self.run_back(data))


@cache
def load() -> dict[str, Compressor]:
    """Return the compressors by their names in ``tunnelcc.payloads.ALGORITHMS``.

    LZO, and ``lzo-1-15`` (vtun's fast one), are included only if liblzo2 is installed. Raises
    ImportError without the package ``lz4``.
    """
    return {"lz4": _lz4(), "zlib-1": _zlib(1), "zlib-9": _zlib(9), **_lzo()}


def _lz4() -> Compressor:
    library = ctypes.CDLL(importlib.import_module("lz4.block._block").__file__)
    room = ctypes.create_string_buffer(_ROOM)

    def call(name: str) -> Run:
        function = library[name]
        function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
        return lambda data: int(function(data, room, len(data), _ROOM))

    return Compressor(
        call("LZ4_compress_default"), call("LZ4_decompress_safe"), call("LZ4_versionNumber"), room
    )


def _zlib(level: int) -> Compressor:
    room = ctypes.create_string_buffer(_ROOM)

    def call(function: Callable[[bytes], bytes]) -> Run:
        def run(data: bytes) -> int:
            result = function(data)
            ctypes.memmove(room, result, len(result))
            return len(result)

        return run

    return Compressor(
        call(lambda data: zlib.compress(data, level)),
        call(zlib.decompress),
        call(lambda data: data),
        room,
    )


def _lzo() -> dict[str, Compressor]:
    name = ctypes.util.find_library("lzo2")
    if name is None:
        return {}
    library = ctypes.CDLL(name)
    room, memory = ctypes.create_string_buffer(_ROOM), ctypes.create_string_buffer(_LZO_MEMORY)
    size = ctypes.c_size_t()
    pointer = ctypes.byref(size)

    def call(name: str) -> Run:
        function = library[name]
        function.argtypes = (
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
        )  # fmt: skip

        def run(data: bytes) -> int:
            size.value = _ROOM
            function(data, len(data), room, pointer, memory)
            return size.value

        return run

    back, nothing = call("lzo1x_decompress_safe"), call("lzo_version")
    return {
        f"lzo-{level.replace('_', '-')}": Compressor(
            call(f"lzo1x_{level}_compress"), back, nothing, room
        )
        for level in ("1", "1_15", "999")
    }
