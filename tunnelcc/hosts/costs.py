# SPDX-License-Identifier: GPL-2.0-only
"""CPU costs of operations on packets and records: profiles, and sums over operations.

``profiles/*.toml`` are the built-in profiles. A user's own profile (from ``tunnelcc
calibrate-host``) is given by its path. A cost has two parts, ns per call and ns per byte, on one
core of the measured machine. ``hosts.speed`` scales both.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import model_validator

from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.payloads import FULL_BYTES, HEADER_BYTES
from tunnelcc.schema import (
    PROSE,
    Field,
    Model,
    choice,
    number,
)
from tunnelcc.schema.library import Library

DIRECTORY = Path(__file__).with_name("profiles")
REFERENCE = "reference-host"

LABELS = ("measured", "stated", "inferred", "calibrated")

#: Every operation that a profile may price, and what one call of it is.
OPERATIONS = {
    "syscall": "a system call without work",
    "context-switch": "a context switch between threads",
    "tun-read": "read() of a packet from a TUN or TAP device",
    "tun-write": "write() of a packet to a TUN or TAP device",
    "raw-receive": "recvmsg() of a frame from a packet socket",
    "raw-send": "sendto() of a frame on a packet socket",
    "udp-send": "sendto() of a datagram, down to the device",
    "udp-receive": "recvfrom() of a datagram",
    "tcp-send": "send() on a TCP connection, down to the device",
    "tcp-receive": "recv() on a TCP connection",
    "cipher-init": "a new cipher context and its key schedule, in addition to a kept one's cost",
    **{
        f"{cipher}-{verb}": f"{verb}ing one packet or record with a new IV, context and key kept"
        for cipher in (
            "aes-128-cbc", "aes-256-cbc", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305",
        )
        for verb in ("encrypt", "decrypt")
    },
    "hmac-key": "setting digest and key of a kept MAC context again, in addition to its start",
    "hmac-init": "a new MAC context with digest and key, in addition to the cost of a kept one",
    "hmac-sha1": "message authentication code with SHA-1",
    "hmac-sha256": "message authentication code with SHA-256",
    **{
        f"{algorithm}-compress": "compressing one packet alone; bytes before compression"
        for algorithm in ("lz4", "zlib-1", "zlib-9", "lzo-1", "lzo-999")
    },
    **{
        f"{algorithm}-decompress": "expanding one packet; bytes after expansion"
        for algorithm in ("lz4", "zlib", "lzo")
    },
}  # fmt: skip

Prose = Annotated[str, PROSE]
Nanoseconds = Annotated[float, number(0, 1e9)]


class Cost(NamedTuple):
    """CPU time of handling one packet or record."""

    per_call: float  # ns
    per_byte: float  # ns

    def __call__(self, size: float) -> float:
        """Return the CPU time (ns) for ``size`` bytes."""
        return self.per_call + self.per_byte * size


class Operation(Model):
    """The cost of one operation, with the kind of its evidence and its source."""

    per_call: Nanoseconds
    per_byte: Nanoseconds
    label: Annotated[str, choice(*LABELS)]
    source: Prose

    @property
    def cost(self) -> Cost:
        """What it costs."""
        return Cost(self.per_call, self.per_byte)


class Profile(Model):
    """Costs of operations on one kind of host."""

    name: Prose
    summary: Prose
    processor: Prose | None = Field(default=None, description="the machine in a few words")
    base: Annotated[str, choice(REFERENCE)] | None = Field(
        default=None, description="profile for operations that are not listed"
    )
    operations: dict[str, Operation] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known(self) -> "Profile":
        for name in self.operations:
            if name not in OPERATIONS:
                expected = "one of the operations " + ", ".join(OPERATIONS)
                raise ConfigError(
                    Problem(f"operations.{name}", MISSING, expected,
                            f"unknown operation, {nearest(name, OPERATIONS)}".rstrip(", "))
                )  # fmt: skip
        return self

    def operation(self, name: str) -> Operation:
        """Return the cost of ``name``. Raises ConfigError if the profile lacks it."""
        if name in self.operations:
            return self.operations[name]
        if self.base is not None:
            return load(self.base).operation(name)
        raise ConfigError(
            Problem(
                "",
                self.name,
                f"a profile with the cost of {name}",
                nearest(name, self.operations),
            )
        )


def of(
    profile: Profile, operations: Iterable[str], compressed: float = 1.0, effort: float = 1.0
) -> Cost:
    """Return the cost of ``operations`` in this order, once per packet or record.

    Bytes are those of the packet before compression. Operations after a compressing one handle
    ``compressed`` times as many bytes, and so do operations before an expanding one. ``effort``:
    factor on the profile's time to compress or expand full packets. Packets with headers only take
    the profile's time, for any payload.
    """
    names = tuple(operations)
    share = compressed if any(name.endswith("-decompress") for name in names) else 1.0
    per_call = per_byte = 0.0
    for name in names:
        cost = profile.operation(name).cost
        if name.endswith("-decompress"):
            share = 1.0
        if name.endswith(("-compress", "-decompress")) and effort != 1:
            cost = _with_effort(cost, effort)
        per_call += cost.per_call
        per_byte += cost.per_byte * share
        if name.endswith("-compress"):
            share = compressed
    return Cost(per_call, per_byte)


def _with_effort(cost: Cost, effort: float) -> Cost:
    """Return the line from the cost of headers only to ``effort`` times that of a full packet.

    Known deviation: zlib takes up to twice as long for a packet of 400 bytes, the more so the less
    the packet shrinks.
    """
    headers, full = cost(HEADER_BYTES), effort * cost(FULL_BYTES)
    per_byte = max(0.0, (full - headers) / (FULL_BYTES - HEADER_BYTES))
    return Cost(max(0.0, headers - per_byte * HEADER_BYTES), per_byte)


def _parse(table: dict[str, Any]) -> Profile:
    profile: Profile = Profile.parse(table)
    return profile


_LIBRARY = Library(DIRECTORY, _parse)
names = _LIBRARY.names
load = _LIBRARY.load
