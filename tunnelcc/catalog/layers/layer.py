# SPDX-License-Identifier: GPL-2.0-only
"""Properties of every layer around a packet."""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from tunnelcc.catalog.values import IPV4, IpVersions
from tunnelcc.schema import Model


class Place(Enum):
    """Where a layer may be among those of a mode."""

    PACKET = "in datagrams and in streams"
    DATAGRAM = "in datagrams"
    TRANSPORT = "in datagrams, second to last"
    NETWORK = "in datagrams, last"
    STREAM = "in streams"


@dataclass(frozen=True)
class Surroundings:
    """Properties of the tunnel that a layer may need.

    ``device_mtu``: MTU of the tunnel's device. ``path_mtu``: MTU of the path, both in bytes.
    ``payload``: contents of the flows (``tunnelcc.payloads.CORPORA``). ``versions``: of IP, inside
    and outside. ``ip_bytes``: size of the inner IP packet.
    """

    device_mtu: int
    path_mtu: int
    payload: str = "random"
    versions: IpVersions = IPV4
    ip_bytes: int = 0


class PacketLayer(Model):
    """One encapsulation of a packet. The class names its specification."""

    is_plain: ClassVar[bool] = False  #: leaves the packet readable and whole
    place: ClassVar[Place] = Place.PACKET

    layer: str  # in the catalogue

    def text(self) -> str:
        """Return the layer and its parameters in a few words."""
        values = self.parameters()
        return f"{self.layer} ({values})" if values else self.layer

    def parameters(self) -> str:
        """Return the parameters that differ from their defaults, in a few words."""
        given = self.model_dump(exclude={"layer"}, exclude_defaults=True)
        return ", ".join(f"{key} {value}" for key, value in given.items())

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return its CPU operations (``tunnelcc.hosts.costs.OPERATIONS``); default: none."""
        return ()

    def wrap(self, inner: int, around: Surroundings) -> list[int]:
        """Return the sizes of the packets (mostly one) for ``inner`` bytes."""
        return [self.size(inner, around)]

    def size(self, inner: int, around: Surroundings) -> int:
        """Return the size of ``inner`` bytes inside this layer."""
        raise AssertionError(f"{self.layer} has neither size() nor wrap()")


@dataclass(frozen=True)
class Frame:
    """The bytes around a payload: a header, padding, a trailer."""

    header: int = 0
    padding: int = 0  # at least so much …
    block: int = 1  # … up to a multiple of this, payload included
    trailer: int = 0

    def size(self, payload: int) -> int:
        """Return the bytes of a frame with ``payload`` bytes."""
        padded = -(-(payload + self.padding) // self.block) * self.block
        return self.header + padded + self.trailer


class FramedLayer(PacketLayer):
    """A layer that puts all data into one frame of any size."""

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
