# SPDX-License-Identifier: GPL-2.0-only
"""What tunnels have in common that carry packets, as datagrams or in a stream."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import field_validator, model_validator

from tunnelcc import costs
from tunnelcc.catalog.cited import Cited, Entry, Prose
from tunnelcc.catalog.layers import PacketLayer, Surroundings, read_layer, wrap
from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.schema import Kind, choice, whole
from tunnelcc.units import UnitError

# IPv4 and TCP without options, which an MSS leaves room for (RFC 6691).
PLAIN_HEADERS = 40


def _parse_operations(value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(name in costs.OPERATIONS for name in value):
        return tuple(value)
    raise UnitError("a list of operations out of " + ", ".join(costs.OPERATIONS))


#: RFC 791: what every host takes whole.
LEAST_MTU = 576
MOST_MTU = 65535
Mtu = Annotated[int, whole(LEAST_MTU, MOST_MTU)]
Mss = Annotated[int, whole(128, MOST_MTU - PLAIN_HEADERS)]
Operations = Annotated[tuple[str, ...], Kind(_parse_operations, list, "a list of operations")]
QueuePackets = Annotated[int, whole(0, 2**20)]


class Device(Cited):
    """The tunnel's network interface, and how many packets wait at it for the program."""

    device: Annotated[str, choice("tun", "tap", "kernel")]
    mtu: Mtu
    queue: QueuePackets  # 0: no limit


class MssClamp(Cited):
    """The MSS that the tunnel writes into the SYNs that pass it, if theirs is larger."""

    mss: Mss | None = None  # bytes, without TCP options …
    fit: Mtu | None = None  # … or such that outer packets have at most so many bytes

    @model_validator(mode="after")
    def _one(self) -> MssClamp:
        if (self.mss is None) == (self.fit is None):
            raise ConfigError(Problem("mss", self.mss, "a value, if fit has none, and else none"))
        return self


class Threads(Cited):
    """Threads of the program at each end."""

    threads: Annotated[int, whole(1, 2)]  # 1: for both directions; 2: one for each


class Cpu(Cited):
    """What the program does with each packet, as ``tunnelcc.costs.OPERATIONS``.

    The layers' own operations come between the first of these and the rest.
    """

    encapsulate: Operations = ()
    decapsulate: Operations = ()


class Mode(Cited):
    """One way to run the program: the layers around a packet, innermost first."""

    summary: Prose
    layers: tuple[PacketLayer, ...]

    @field_validator("layers", mode="before")
    @classmethod
    def _read(cls, values: Any) -> tuple[PacketLayer, ...]:
        if not isinstance(values, (list, tuple)):
            raise ConfigError(Problem("", values, "a list of layers, innermost first"))
        layers = []
        for index, value in enumerate(values):
            try:
                layers.append(read_layer(value))
            except ConfigError as error:
                problems = (problem.below(str(index)) for problem in error.problems)
                raise ConfigError(*problems) from None
        return tuple(layers)

    def text(self) -> str:
        """Return the layers as one line."""
        return " | ".join(layer.text() for layer in self.layers)


class PacketEntry(Entry):
    """A tunnel with a network interface, whose packets it carries."""

    mode: Prose  # the default
    device: Device
    threads: Threads
    cpu: Cpu
    clamp: MssClamp | None = None
    modes: dict[str, Mode]

    @model_validator(mode="after")
    def _has_default(self) -> PacketEntry:
        self.layers(self.mode)
        return self

    def layers(self, mode: str | None = None) -> tuple[PacketLayer, ...]:
        """Return the layers of ``mode``, else of the default one. Raises ConfigError."""
        mode = self.mode if mode is None else mode
        if mode not in self.modes:
            expected = f"a mode of {self.name}: " + ", ".join(self.modes)
            raise ConfigError(Problem("mode", mode, expected, nearest(mode, self.modes)))
        return self.modes[mode].layers

    def operations(self, mode: str | None, encapsulates: bool) -> tuple[str, ...]:
        """Return what is done with a packet, in order, at the end where it enters or leaves."""
        layers = self.layers(mode)
        if encapsulates:
            own = self.cpu.encapsulate
            inside = [name for layer in layers for name in layer.operations(True)]
        else:
            own = self.cpu.decapsulate
            inside = [name for layer in reversed(layers) for name in layer.operations(False)]
        return (*own[:1], *inside, *own[1:])

    def outer(
        self, inner: int, path_mtu: int, mode: str | None = None, mtu: int | None = None
    ) -> list[int]:
        """Return the bytes of what ``inner`` IP bytes become.

        ``path_mtu``: of the path, bytes; ``mode`` and ``mtu`` of the device: else the entry's.
        """
        return wrap(self.layers(mode), inner, Surroundings(mtu or self.device.mtu, path_mtu))

    def clamped_mss(
        self, path_mtu: int, mode: str | None, mtu: int | None = None, mss: int | None = None
    ) -> int:
        """Return the MSS (bytes, without TCP options) that connections through the tunnel have.

        ``mode``, ``mtu`` of the device and ``mss`` of the clamp: else the entry's.
        """
        mtu = mtu or self.device.mtu
        if mss is None and self.clamp is not None:
            mss = self.clamp.mss or self._fitting(self.clamp.fit or path_mtu, mode, mtu)
        by_device = mtu - PLAIN_HEADERS
        return by_device if mss is None else min(by_device, mss)

    def _fitting(self, fit: int, mode: str | None, mtu: int) -> int:
        """Largest MSS whose outer packets, unfragmented, have at most ``fit`` bytes."""
        inner = mtu
        while sum(self.outer(inner, MOST_MTU, mode, mtu)) > fit:
            inner -= 1
        return inner - PLAIN_HEADERS


@cache
def sizes(
    layers: tuple[PacketLayer, ...], around: Surroundings, largest: int
) -> tuple[tuple[int, ...], ...]:
    """Return what each inner IP packet of 0 to ``largest`` bytes becomes, in bytes."""
    return tuple(tuple(wrap(layers, inner, around)) for inner in range(largest + 1))
