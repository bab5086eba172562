# SPDX-License-Identifier: GPL-2.0-only
"""What every layer around a packet has in common."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from tunnelcc.schema import Model


class Place(Enum):
    """Where a layer may stand among those of a mode."""

    PACKET = "in datagrams and in streams"
    DATAGRAM = "in datagrams"
    TRANSPORT = "in datagrams, last but one"
    NETWORK = "in datagrams, last"
    STREAM = "in streams"


@dataclass(frozen=True)
class Surroundings:
    """What a layer may need to know of the tunnel that it is part of.

    ``device_mtu``: of the tunnel's device, and ``path_mtu``: of the path below it, in bytes;
    ``payload``: what the flows carry (``tunnelcc.payloads.CORPORA``); ``ip_bytes``: of the IP
    packet inside.
    """

    device_mtu: int
    path_mtu: int
    payload: str = "random"
    ip_bytes: int = 0


class PacketLayer(Model):
    """One encapsulation of a packet. The class says what it is and after which specification."""

    is_plain: ClassVar[bool] = False  #: leaves the packet readable and whole
    place: ClassVar[Place] = Place.PACKET

    layer: str  # in the catalogue

    def text(self) -> str:
        """Return the layer and its parameters in a few words."""
        values = self.parameters()
        return f"{self.layer} ({values})" if values else self.layer

    def parameters(self) -> str:
        """Return the parameters in a few words, other than those by default."""
        given = self.model_dump(exclude={"layer"}, exclude_defaults=True)
        return ", ".join(f"{key} {value}" for key, value in given.items())

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return what it costs the CPU, as ``tunnelcc.hosts.costs.OPERATIONS``: nothing of note."""
        return ()

    def wrap(self, inner: int, around: Surroundings) -> list[int]:
        """Return the sizes of the packets, mostly one, that ``inner`` bytes become."""
        return [self.size(inner, around)]

    def size(self, inner: int, around: Surroundings) -> int:
        """Return the size that ``inner`` bytes have with this layer around them."""
        raise AssertionError(f"{self.layer} has neither size() nor wrap()")


@dataclass(frozen=True)
class Frame:
    """What is around a payload, in bytes: a header, padding, a trailer."""

    header: int = 0
    padding: int = 0  # at least so much …
    block: int = 1  # … up to a multiple of this, payload included
    trailer: int = 0

    def size(self, payload: int) -> int:
        """Return the bytes of a frame with ``payload`` bytes in it."""
        padded = -(-(payload + self.padding) // self.block) * self.block
        return self.header + padded + self.trailer


class FramedLayer(PacketLayer):
    """A layer that puts everything into one frame, of any size."""

    def frame(self) -> Frame:
        """Return the form of its frames."""
        raise AssertionError(f"{self.layer} has no frame()")

    def size(self, inner: int, around: Surroundings) -> int:
        """Return the size of the frame."""
        return self.frame().size(inner)


class FixedHeader(FramedLayer):
    """A header whose size is always the same."""

    is_plain = True
    header: ClassVar[int]  #: bytes

    def frame(self) -> Frame:
        """Return the header."""
        return Frame(header=self.header)
