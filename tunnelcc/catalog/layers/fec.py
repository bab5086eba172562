# SPDX-License-Identifier: GPL-2.0-only
"""Forward error correction: parity for groups of datagrams."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import model_validator

from tunnelcc.catalog.layers.layer import PacketLayer, Place, Surroundings
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import Kind, Model, choice, time, whole
from tunnelcc.schema.units import UnitError

#: Shards of a group that a Reed–Solomon code over GF(2^8) can tell apart.
MOST_SHARDS = 255
#: What leaves FEC out, in place of shards.
NO_FEC = "none"
_PAIR = re.compile(r"(\d{1,3}):(\d{1,3})")


def parity_counts(text: str) -> list[int]:
    """Return the parity shards of groups of 1, 2, … data shards.

    ``text``: ``x:y`` pairs with rising x, such as ``20:10`` or ``2:4,20:10``. Between two pairs the
    number is interpolated and rounded up. Up to the first x it is the first y. UDPspeeder's ``-f``
    does the same. Raises UnitError.
    """
    pairs = [_PAIR.fullmatch(part.strip()) for part in text.split(",")]
    numbers = [(int(pair[1]), int(pair[2])) for pair in pairs if pair]
    sizes = [data for data, _ in numbers]
    if len(numbers) != len(pairs) or sizes[0] == 0:
        raise UnitError(PARITY.expected)
    if sizes != sorted(set(sizes)):
        raise UnitError("pairs with rising numbers of data shards, such as 2:4,20:10")
    if any(data + parity > MOST_SHARDS for data, parity in numbers):
        raise UnitError(f"at most {MOST_SHARDS} shards in total")
    counts = [numbers[0][1]] * sizes[0]
    for (low, at_low), (high, at_high) in pairwise(numbers):
        for data in range(low + 1, high + 1):
            share = at_low * (high - data) + at_high * (data - low)
            counts.append(-(-share // (high - low)))
    return counts


def _parse_parity(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError(PARITY.expected)
    parity_counts(value)
    return value.replace(" ", "")


PARITY = Kind(
    _parse_parity, str, "data and parity shards of a group, such as 20:10 or a list 2:4,20:10"
)


class Blob(Model):
    """Packets are joined and then cut into shards of equal size.

    The number of shards minimises the group's bytes, with ``cost`` bytes for each shard. Nothing
    leaves before the group is closed. Nothing is delivered before enough shards have arrived.
    """

    mtu: Annotated[int, whole(64, 65535)]  # most bytes of a shard
    packets: Annotated[int, whole(1, 65535)]  # most of a group
    header: Annotated[int, whole(0, 64)]  # bytes in front of all
    packet_header: Annotated[int, whole(0, 64)]  # bytes in front of each packet
    cost: Annotated[int, whole(0, 1024)]  # bytes


class Fec(PacketLayer):
    """A block code (RFC 6363, RFC 5052) over groups of the datagrams of all connections.

    Each datagram is a shard that leaves at once, or datagrams are joined (``blob``). A group is
    closed when it is full or after a time-out, and then its parity leaves. Any shards, as many as
    the data shards, recover the whole group.
    """

    layer: Literal["fec"]
    place = Place.DATAGRAM

    code: Annotated[str, choice("xor", "reed-solomon")]
    parity: Annotated[str, PARITY]
    header: Annotated[int, whole(0, 64)] = 0  # bytes of each shard
    timeout: Annotated[float, time(1e-6, 3600)] | None = None
    memory: Annotated[int, whole(1, 2**20)]  # groups before the newest that can be decoded
    blob: Blob | None = None

    @model_validator(mode="after")
    def _check(self) -> Fec:
        self.check_parity("parity", self.parity)
        if self.blob and self.timeout is None:
            raise ConfigError(Problem("timeout", MISSING, "a time, because blob is given"))
        return self

    def check_parity(self, key: str, parity: str) -> None:
        """Raise ConfigError if the code cannot have ``parity``, the value of ``key``."""
        if self.code == "xor" and set(parity_counts(parity)) != {1}:
            expected = "one parity shard, such as 4:1, because XOR has only one"
            raise ConfigError(Problem(key, parity, expected))

    def fits(self, packet: int) -> bool:
        """Whether a group can hold a datagram of ``packet`` bytes."""
        room = len(self.parity_counts) * self.blob.mtu if self.blob else packet
        return self.size(packet, Surroundings(packet, packet)) - self.header <= room

    @property
    def parity_counts(self) -> list[int]:
        """Parity shards of a group of 1, 2, … data shards."""
        return parity_counts(self.parity)

    @property
    def redundancy(self) -> float:
        """Parity shards for each data shard of a full group."""
        return self.parity_counts[-1] / len(self.parity_counts)

    def parameters(self) -> str:
        """Return the code and the end of groups."""
        packing = "blob" if self.blob else "packets"
        timeout = f", {self.timeout * 1e3:g} ms" if self.timeout else ""
        return f"{self.code} {self.parity} of {packing}{timeout}"

    def size(self, inner: int, around: Surroundings) -> int:
        """Return the size of a data shard with only this datagram."""
        blob = self.blob.header + self.blob.packet_header if self.blob else 0
        return self.header + blob + inner
