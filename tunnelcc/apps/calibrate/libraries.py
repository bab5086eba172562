# SPDX-License-Identifier: GPL-2.0-only
"""Time ciphers and compression in the libraries that tunnels use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tunnelcc import payloads
from tunnelcc.apps.calibrate import compressors, libcrypto
from tunnelcc.apps.calibrate.compressors import Run
from tunnelcc.apps.calibrate.timing import (
    SMALL,
    Calls,
    Measurement,
    Sized,
    measure,
    repeated,
)
from tunnelcc.errors import TunnelccError

_PACKETS = 512  # different ones, so that no branch predictor learns the data: 32 are too few


def check() -> None:
    """Raise TunnelccError without a library that is measured."""
    try:
        compressors.load()
    except ImportError:
        raise TunnelccError("calibrate-host needs lz4: pip install lz4") from None
    if libcrypto.load() is None:
        raise TunnelccError(
            "calibrate-host needs libcrypto, OpenSSL's library, 1.1 or later: apt install libssl3"
        )


def measurements() -> Iterator[tuple[str, Measurement]]:
    """Yield operations and their costs."""
    openssl = libcrypto.load()
    assert openssl is not None
    for name, measured in libcrypto.measurements(openssl):
        yield name, replace(measured, means=f"{openssl.version}, context kept")
    found = compressors.load()
    for name in payloads.ALGORITHMS:
        if name in found:
            nothing = over_packets("text", found[name].nothing)(SMALL)
            yield f"{name}-compress", measure(over_packets("text", found[name].run), nothing)
    for library, name in payloads.EXPANDED.items():
        if name in found:
            it = found[name]
            expand = over_packets("text", it.run_back, before=it.compress)
            yield (
                f"{library}-decompress",
                measure(expand, over_packets("text", it.nothing)(SMALL)),
            )


def over_packets(corpus: str, run: Run, before: Callable[[bytes], bytes] | None = None) -> Sized:
    """Run on packets of ``corpus`` in turn, unchanged or after ``before``."""

    def sized(size: int) -> Calls:
        packets = payloads.packets(corpus, size, _PACKETS)
        if before is not None:
            packets = [before(packet) for packet in packets]

        def all_of_them() -> None:
            for data in packets:
                run(data)

        calls = repeated(all_of_them)
        return lambda count: (
            calls(-(-count // _PACKETS)) * count / (-(-count // _PACKETS) * _PACKETS)
        )

    return sized
