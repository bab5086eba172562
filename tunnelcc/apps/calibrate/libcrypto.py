# SPDX-License-Identifier: GPL-2.0-only
"""OpenSSL operations of tunnel programs on each packet, called through ctypes.

Programs keep a cipher's context and key. Each packet has a new IV and, with AEAD, a tag. That takes
up to four C calls, and ctypes takes as long for one as they do. Therefore the time of equally many
calls of an empty function is subtracted. The result is more than in a C program that does nothing
else (AES-GCM 6 %, ChaCha20-Poly1305 46 %), because caches are colder, and less than in one that
sends and receives a datagram between packets. The system's libcrypto is used, as programs are
linked with it. Contexts made here live as long as the process.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from tunnelcc.apps.calibrate.timing import (
    SMALL,
    Calls,
    Measurement,
    measure,
    measure_call,
    repeated,
)

CIPHERS = ("aes-128-cbc", "aes-256-cbc", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305")

_GET_TAG, _SET_TAG = 0x10, 0x11  # EVP_CTRL_AEAD_GET_TAG and EVP_CTRL_AEAD_SET_TAG (openssl/evp.h)
_BLOCK, _TAG, _DIGEST = 16, 16, 64  # bytes; of a digest at most
_KEY, _IV = bytes(32), bytes(16)
_IDLE = "OpenSSL_version_num"
_INITIALIZED = "aes-128-cbc"

#: A function's name and what it is given.
Step = tuple[str, tuple[Any, ...]]
#: What is done for a packet, and where the result is.
Work = tuple[Sequence[Step], ctypes.Array[ctypes.c_char]]


class _Parameter(ctypes.Structure):
    """OSSL_PARAM (openssl/core.h)."""

    _fields_ = (
        ("key", ctypes.c_char_p),
        ("data_type", ctypes.c_uint),
        ("data", ctypes.c_void_p),
        ("data_size", ctypes.c_size_t),
        ("return_size", ctypes.c_size_t),
    )


class Libcrypto:
    """The library, version 1.1 or later."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._kept: list[object] = []  # what the library has only the address of
        self.version: str = self._returned("OpenSSL_version", ctypes.c_char_p, 0).decode()

    def run(self, steps: Sequence[Step]) -> None:
        """Take ``steps`` once. Raises OSError if one fails (returns 0)."""
        for name, arguments in steps:
            if not self._library[name](*arguments):
                raise OSError(f"{name}() of {self.version} fails")

    def encrypting(self, name: str, data: bytes) -> Work:
        """Return how to encrypt ``data`` with a kept context. A tag follows the data."""
        context, whole = self._cipher_context(name, "Encrypt"), len(data) // _BLOCK * _BLOCK
        aead = not name.endswith("cbc")
        room = ctypes.create_string_buffer((len(data) if aead else whole) + _TAG)
        first, update, last = _cipher_steps(context, "Encrypt", data, room, whole)
        if not aead:
            return (first, update, last), room
        tag = ctypes.byref(room, len(data))
        return (first, update, last, _control(context, _GET_TAG, tag)), room

    def decrypting(self, name: str, data: bytes) -> Work:
        """Return how to decrypt the output of ``encrypting``, with a kept context."""
        context, size = self._cipher_context(name, "Decrypt"), len(data) - _TAG
        room = ctypes.create_string_buffer(len(data))
        if name.endswith("cbc"):
            return _cipher_steps(context, "Decrypt", data, room, size), room
        first, update, last = _cipher_steps(context, "Decrypt", data[:size], room, size)
        return (first, _control(context, _SET_TAG, data[size:]), update, last), room

    def authenticating(self, digest: str, data: bytes, key: bytes = _KEY) -> Work:
        """Return how to compute an HMAC with a kept context that has the key."""
        context = self._pointer("HMAC_CTX_new")
        self.run([("HMAC_Init_ex", (context, key, len(key), self._method(digest), None))])
        room = ctypes.create_string_buffer(_DIGEST)
        start = ("HMAC_Init_ex", (context, None, 0, None, None))
        update = ("HMAC_Update", (context, data, ctypes.c_size_t(len(data))))
        return (start, update, ("HMAC_Final", (context, room, None))), room

    def rekeying(self, digest: str, data: bytes, key: bytes = _KEY) -> Work:
        """Return how to compute an HMAC with a kept context that gets digest and key again.

        Programs with OpenSSL 3 do this (OpenVPN 2.6, crypto_openssl.c hmac_ctx_reset()).
        """
        context = self._pointer(
            "EVP_MAC_CTX_new", self._pointer("EVP_MAC_fetch", None, b"HMAC", None)
        )
        name, copy = ctypes.c_char_p(digest.encode()), ctypes.create_string_buffer(key, len(key))
        self._kept += name, copy
        parameters = (_Parameter * 3)(
            self._returned(
                "OSSL_PARAM_construct_utf8_string", _Parameter, b"digest", name, ctypes.c_size_t(0)
            ),
            self._returned(
                "OSSL_PARAM_construct_octet_string",
                _Parameter,
                b"key",
                copy,
                ctypes.c_size_t(len(key)),
            ),
            self._returned("OSSL_PARAM_construct_end", _Parameter),
        )
        room, size = ctypes.create_string_buffer(_DIGEST), ctypes.c_size_t(_DIGEST)
        start = ("EVP_MAC_init", (context, None, ctypes.c_size_t(0), parameters))
        update = ("EVP_MAC_update", (context, data, ctypes.c_size_t(len(data))))
        last = ("EVP_MAC_final", (context, room, ctypes.byref(ctypes.c_size_t()), size))
        return (start, update, last), room

    def authenticating_once(self, digest: str, data: bytes, key: bytes = _KEY) -> Work:
        """Return how to compute an HMAC by one call, which makes a context (as tinc 1.0 does)."""
        room = ctypes.create_string_buffer(_DIGEST)
        size = ctypes.c_size_t(len(data))
        return [("HMAC", (self._method(digest), key, len(key), data, size, room, None))], room

    def calls(self, steps: Sequence[Step]) -> Calls:
        """Return a function that times ``steps``. Raises OSError if they do not work."""
        self.run(steps)
        turns = [partial(self._library[name], *arguments) for name, arguments in steps]

        def all_of_them() -> None:
            for call in turns:
                call()

        return repeated(all_of_them)

    def has(self, name: str) -> bool:
        """Return whether the library has a function ``name``."""
        return hasattr(self._library, name)

    def new_context(self) -> tuple[Sequence[Step], Sequence[Step]]:
        """Return how to make and free a context, and the same for a kept one."""
        (first, _, last), _ = self.encrypting(_INITIALIZED, b"")
        context = first[1][0]
        new = (first[0], (context, self._method(_INITIALIZED), None, _KEY, _IV))
        return (("EVP_CIPHER_CTX_reset", (context,)), new, last), (first, last)

    def _cipher_context(self, name: str, verb: str) -> ctypes.c_void_p:
        context = self._pointer("EVP_CIPHER_CTX_new")
        self.run([(f"EVP_{verb}Init_ex", (context, self._method(name), None, _KEY, _IV))])
        return context

    def _method(self, name: str) -> ctypes.c_void_p:
        return self._pointer(f"EVP_{name.replace('-', '_')}")

    def _pointer(self, name: str, *arguments: object) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._returned(name, ctypes.c_void_p, *arguments))

    def _returned(self, name: str, kind: Any, *arguments: object) -> Any:
        function = self._library[name]
        function.restype = kind
        return function(*arguments)


@cache
def load() -> Libcrypto | None:
    """Return the system's libcrypto, or None if it lacks the timed functions."""
    name = ctypes.util.find_library("crypto")
    if name is None:
        return None
    try:
        found = Libcrypto(ctypes.PyDLL(name))  # keeps Python's lock, which nobody waits for
        for cipher in CIPHERS:
            steps, room = found.encrypting(cipher, bytes(SMALL))
            found.run(steps)
            found.run(found.decrypting(cipher, room.raw)[0])
        found.run(found.authenticating("sha1", b"")[0])
    except (OSError, AttributeError):
        return None
    return found


def measurements(library: Libcrypto) -> Iterator[tuple[str, Measurement]]:
    """Yield operations and their costs."""
    for name in CIPHERS:
        yield f"{name}-encrypt", _measure(library, partial(library.encrypting, name))

        def back(data: bytes, name: str = name) -> Work:
            steps, room = library.encrypting(name, data)
            library.run(steps)
            return library.decrypting(name, room.raw)

        yield f"{name}-decrypt", _measure(library, back)
    yield "cipher-init", _difference(library, *library.new_context())
    for name in ("sha1", "sha256"):
        yield f"hmac-{name}", _measure(library, partial(library.authenticating, name))
    data = bytes(SMALL)
    kept = {name: library.authenticating(name, data)[0] for name in ("sha1", "sha256")}
    if library.has("EVP_MAC_init"):
        yield "hmac-key", _difference(library, library.rekeying("sha1", data)[0], kept["sha1"])
    once = library.authenticating_once("sha256", data)[0]
    yield "hmac-init", _difference(library, once, kept["sha256"])


def _measure(library: Libcrypto, work: Callable[[bytes], Work]) -> Measurement:
    idle = library.calls(_idle(work(bytes(SMALL))[0]))
    return measure(lambda size: library.calls(work(bytes(size))[0]), idle)


def _difference(library: Libcrypto, more: Sequence[Step], less: Sequence[Step]) -> Measurement:
    """Return the extra cost of ``more`` over ``less``, with equally many calls of both."""
    return measure_call(library.calls((*more, *_idle(less))), library.calls((*less, *_idle(more))))


def _idle(steps: Sequence[Step]) -> Sequence[Step]:
    """Return as many calls with the same arguments that do nothing."""
    return [(_IDLE, arguments) for _, arguments in steps]


def _cipher_steps(
    context: ctypes.c_void_p, verb: str, data: bytes, room: ctypes.Array[ctypes.c_char], end: int
) -> tuple[Step, Step, Step]:
    """Return a new IV, the data, and the remaining data at ``end``."""
    return (
        (f"EVP_{verb}Init_ex", (context, None, None, None, _IV)),
        (f"EVP_{verb}Update", (context, room, ctypes.byref(ctypes.c_int()), data, len(data))),
        (f"EVP_{verb}Final_ex", (context, ctypes.byref(room, end), ctypes.byref(ctypes.c_int()))),
    )


def _control(context: ctypes.c_void_p, command: int, tag: object) -> Step:
    return "EVP_CIPHER_CTX_ctrl", (context, command, _TAG, tag)
