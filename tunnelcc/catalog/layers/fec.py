# SPDX-License-Identifier: GPL-2.0-only
"""Forward error correction: parity for groups of datagrams."""

from typing import Annotated, Literal

from pydantic import model_validator

from tunnelcc.catalog.layers.layer import PacketLayer, Place, Surroundings
from tunnelcc.catalog.values import PARITY, parity_counts
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import Model, choice, time, whole


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
    def _check(self) -> "Fec":
        self.check_parity("parity", self.parity)
        if self.blob and self.timeout is None:
            raise ConfigError(Problem("timeout", MISSING, "a time, because blob is given"))
        return self

    def check_parity(self, key: str, parity: str) -> None:
        """Raise ConfigError if the code cannot have ``parity``, the value of ``key``."""
        if self.code == "xor" and set(parity_counts(parity)) != {1}:
            expected = "one parity shard, such as 4:1, because XOR has only one"
            raise ConfigError(Problem(key, parity, expected))

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
        return self.header + self.blob_bytes(inner)

    def blob_bytes(self, inner: int) -> int:
        """Return what is cut into shards, if there is only this datagram (bytes)."""
        return inner + (self.blob.header + self.blob.packet_header if self.blob else 0)
