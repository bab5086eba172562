# SPDX-License-Identifier: GPL-2.0-only
"""Ciphers and compression to time, through Python's bindings of the libraries that tunnels use."""

from __future__ import annotations

import hmac
import importlib
import zlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tunnelcc import payloads
from tunnelcc.calibrate.timing import Calls, Measurement, Sized, measure, measure_call, repeated
from tunnelcc.errors import TunnelccError

_PACKETS = 32  # different ones, so that no branch predictor learns the data
_KEYS = {"aes-128": 16, "aes-256": 32}


def load() -> tuple[ModuleType, ModuleType, ModuleType | None]:
    """Return lz4's and cryptography's modules, and lzo's if there is one. Raises TunnelccError."""
    missing = []
    modules = []
    for package, module in (
        ("lz4", "lz4.block"),
        ("cryptography", "cryptography.hazmat.primitives.ciphers"),
    ):
        try:
            modules.append(importlib.import_module(module))
        except ImportError:
            missing.append(package)
    if missing:
        raise TunnelccError(
            f"calibrate-host needs {' and '.join(missing)}: pip install 'tunnelcc[calibrate]'"
        )
    try:
        lzo = importlib.import_module("lzo")
    except ImportError:
        lzo = None
    return modules[0], modules[1], lzo


def measurements() -> Iterator[tuple[str, Measurement]]:
    """Yield operations and what they cost."""
    lz4, ciphers, lzo = load()
    yield from _cipher_measurements(ciphers)
    for name in ("sha1", "sha256"):
        yield f"hmac-{name}", measure(_hmac(name))
    pairs: dict[str, tuple[Any, Any]] = {
        "lz4": (lambda data: lz4.compress(data, store_size=False),
                lambda data: lz4.decompress(data, uncompressed_size=2048)),
        "zlib-1": (lambda data: zlib.compress(data, 1), None),
        "zlib-9": (lambda data: zlib.compress(data, 9), zlib.decompress),
    }  # fmt: skip
    if lzo is not None:
        pairs["lzo-1"] = (lambda data: lzo.compress(data, 1, False), None)
        pairs["lzo-999"] = (
            lambda data: lzo.compress(data, 9, False),
            lambda data: lzo.decompress(data, False, 2048),
        )
    for name, (compress, expand) in pairs.items():
        yield f"{name}-compress", measure(_over_packets(compress))
        if expand is not None:
            yield f"{name.split('-')[0]}-decompress", measure(_over_packets(expand, compress))


def _over_packets(call: Any, before: Any = None) -> Sized:
    """Call with packets of prose in turn, as they are or as ``before`` leaves them."""

    def sized(size: int) -> Calls:
        packets = payloads.packets("text", size, _PACKETS)
        if before is not None:
            packets = [before(packet) for packet in packets]

        def all_of_them() -> None:
            for data in packets:
                call(data)

        calls = repeated(all_of_them)
        return lambda count: (
            calls(-(-count // _PACKETS)) * count / (-(-count // _PACKETS) * _PACKETS)
        )

    return sized


def _hmac(name: str) -> Sized:
    def sized(size: int) -> Calls:
        key, data = bytes(20), bytes(size)
        return repeated(lambda: hmac.digest(key, data, name))

    return sized


def _cipher_measurements(ciphers: Any) -> Iterator[tuple[str, Measurement]]:
    aead = importlib.import_module("cryptography.hazmat.primitives.ciphers.aead")
    for key, size in _KEYS.items():
        cipher = ciphers.Cipher(ciphers.algorithms.AES(bytes(size)), ciphers.modes.CBC(bytes(16)))
        for verb, make in (("encrypt", cipher.encryptor), ("decrypt", cipher.decryptor)):
            yield f"{key}-cbc-{verb}", measure(*_stream(make))
        yield from _aead_measurements(f"{key}-gcm", aead.AESGCM(bytes(size)))
    yield from _aead_measurements("chacha20-poly1305", aead.ChaCha20Poly1305(bytes(32)))
    cipher = ciphers.Cipher(ciphers.algorithms.AES(bytes(16)), ciphers.modes.CBC(bytes(16)))
    # The object for the mode stands for what the binding itself does to make one.
    made = repeated(lambda: ciphers.modes.CBC(bytes(16)))
    yield "cipher-init", measure_call(repeated(lambda: cipher.encryptor().finalize()), made)


def _stream(make: Any) -> tuple[Sized, Calls]:
    """Return a cipher without its set-up, and the same call on no bytes."""
    context, room = make(), bytearray(4096)

    def sized(size: int) -> Calls:
        data = bytes(size // 16 * 16)
        return repeated(lambda: context.update_into(data, room))

    return sized, sized(0)


def _aead_measurements(name: str, cipher: Any) -> Iterator[tuple[str, Measurement]]:
    nonce = bytes(12)

    def encrypt(size: int) -> Calls:
        data = bytes(size)
        return repeated(lambda: cipher.encrypt(nonce, data, None))

    def decrypt(size: int) -> Calls:
        data = cipher.encrypt(nonce, bytes(size), None)
        return repeated(lambda: cipher.decrypt(nonce, data, None))

    yield f"{name}-encrypt", measure(encrypt)
    yield f"{name}-decrypt", measure(decrypt)
