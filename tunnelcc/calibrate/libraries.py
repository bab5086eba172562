# SPDX-License-Identifier: GPL-2.0-only
"""Time ciphers and compression in the libraries that tunnels use."""

from __future__ import annotations

import hmac
import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

from tunnelcc import payloads
from tunnelcc.calibrate import compressors, libcrypto
from tunnelcc.calibrate.compressors import Run
from tunnelcc.calibrate.timing import (
    SMALL,
    Calls,
    Measurement,
    Sized,
    measure,
    repeated,
)
from tunnelcc.errors import TunnelccError

_PACKETS = 512  # different ones, so that no branch predictor learns the data: 32 are too few
_KEYS = {"aes-128": 16, "aes-256": 32}


def load() -> ModuleType:
    """Return cryptography's module of ciphers. Raises TunnelccError without it or lz4."""
    missing = []
    for package, module in (
        ("lz4", "lz4.block"),
        ("cryptography", "cryptography.hazmat.primitives.ciphers"),
    ):
        try:
            found = importlib.import_module(module)
        except ImportError:
            missing.append(package)
    if missing:
        raise TunnelccError(
            f"calibrate-host needs {' and '.join(missing)}: pip install {' '.join(missing)}"
        )
    return found


def measurements() -> Iterator[tuple[str, Measurement]]:
    """Yield operations and their costs."""
    yield from _ciphers()
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


def _ciphers() -> Iterator[tuple[str, Measurement]]:
    """Yield the costs of ciphers and codes in libcrypto or, without it, in the binding."""
    library, binding = libcrypto.load(), load()
    if library is not None:
        found, means = libcrypto.measurements(library), f"{library.version}, context kept"
    else:
        version = importlib.import_module("cryptography").__version__
        found = _by_binding(binding)
        means = f"no libcrypto: cryptography {version} and hmac, minus the cost of zero bytes"
    for name, it in found:
        yield name, replace(it, means=means)


def _by_binding(ciphers: Any) -> Iterator[tuple[str, Measurement]]:
    """Yield the costs per byte. Python's overhead hides the cost per call."""
    aead = importlib.import_module("cryptography.hazmat.primitives.ciphers.aead")
    for key, size in _KEYS.items():
        cipher = ciphers.Cipher(ciphers.algorithms.AES(bytes(size)), ciphers.modes.CBC(bytes(16)))
        for verb, make in (("encrypt", cipher.encryptor), ("decrypt", cipher.decryptor)):
            yield f"{key}-cbc-{verb}", _beside_nothing(_stream(make))
        yield from _aead(f"{key}-gcm", aead.AESGCM(bytes(size)))
    yield from _aead("chacha20-poly1305", aead.ChaCha20Poly1305(bytes(32)))
    for name in ("sha1", "sha256"):
        yield f"hmac-{name}", _beside_nothing(_hmac(name))


def _beside_nothing(sized: Sized) -> Measurement:
    return measure(sized, sized(0))


def _stream(make: Any) -> Sized:
    context, room = make(), bytearray(4096)

    def sized(size: int) -> Calls:
        data = bytes(size // 16 * 16)
        return repeated(lambda: context.update_into(data, room))

    return sized


def _aead(name: str, cipher: Any) -> Iterator[tuple[str, Measurement]]:
    nonce = bytes(12)

    def encrypt(size: int) -> Calls:
        data = bytes(size)
        return repeated(lambda: cipher.encrypt(nonce, data, None))

    def decrypt(size: int) -> Calls:
        data = cipher.encrypt(nonce, bytes(size), None)
        return repeated(lambda: cipher.decrypt(nonce, data, None))

    yield f"{name}-encrypt", _beside_nothing(encrypt)
    yield f"{name}-decrypt", _beside_nothing(decrypt)


def _hmac(name: str) -> Sized:
    def sized(size: int) -> Calls:
        key, data = bytes(20), bytes(size)
        return repeated(lambda: hmac.digest(key, data, name))

    return sized
