# SPDX-License-Identifier: GPL-2.0-only
"""Properties of tunnels that carry packets, as datagrams or in a stream."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import field_validator, model_validator

from tunnelcc.catalog.cited import Cited, Prose
from tunnelcc.catalog.entry import Entry
from tunnelcc.catalog.layers import PACKET_LAYERS, Fec, PacketLayers, Place, Surroundings, wrap
from tunnelcc.catalog.layers.compression import Compression
from tunnelcc.catalog.layers.ethernet import Ethernet
from tunnelcc.catalog.layers.ip import Ip
from tunnelcc.catalog.values import (
    IPV4,
    LEAST_MTU,
    MOST_DEVICE_MTU,
    MOST_MTU,
    IpVersions,
    Use,
    plain_headers,
)
from tunnelcc.errors import ConfigError, Problem, nearest, unknown_name
from tunnelcc.hosts import costs
from tunnelcc.schema import SWITCH, Kind, choice, tag_of, whole
from tunnelcc.schema.units import UnitError


def _parse_operations(value: object) -> tuple[str, ...]:
    expected = "a list of operations from " + ", ".join(costs.OPERATIONS)
    if not isinstance(value, (list, tuple)):
        raise UnitError(expected)
    for name in value:
        if not isinstance(name, str) or name not in costs.OPERATIONS:
            hint = f"unknown operation {name!r}, {nearest(str(name), costs.OPERATIONS)}"
            raise UnitError(expected, hint.rstrip(", "))
    return tuple(value)


ETHERNET_MTU = 1500
Mtu = Annotated[int, whole(LEAST_MTU, MOST_MTU)]
LEAST_MSS = 128
Mss = Annotated[int, whole(LEAST_MSS, MOST_MTU - plain_headers(4))]
Operations = Annotated[tuple[str, ...], Kind(_parse_operations, list, "a list of operations")]
QueuePackets = Annotated[int, whole(0, 2**20)]


class Device(Cited):
    """The tunnel's network interface, and its queue in packets."""

    device: Annotated[str, choice("tun", "tap", "kernel")]
    mtu: Annotated[int, whole(LEAST_MTU, MOST_DEVICE_MTU)] | None = None  # else the path's
    mtu_over_ipv6: Annotated[int, whole(LEAST_MTU, MOST_DEVICE_MTU)] | None = None  # else mtu
    queue: QueuePackets  # 0: no limit


class MssClamp(Cited):
    """The MSS that the tunnel writes into SYNs with a larger one."""

    mss: Mss | None = None  # bytes, without TCP options, of IPv4; 20 less of IPv6 …
    fit: Mtu | None = None  # … or such that outer packets have at most so many bytes …
    fits_path: Annotated[bool, SWITCH] = False  # … or as many as the path's MTU
    less_over_ipv6: Annotated[int, whole(0, 40)] = 0  # bytes of mss
    ipv6: Annotated[bool, SWITCH] = True  # SYNs inside IPv6, too

    @model_validator(mode="after")
    def _one(self) -> "MssClamp":
        if (self.mss is not None) + (self.fit is not None) + self.fits_path != 1:
            raise ConfigError(Problem("mss", self.mss, "one of mss, fit and fits_path"))
        return self


class Threads(Cited):
    """Threads of the program at each end."""

    threads: Annotated[int, whole(1, 2)]  # 1: for both directions; 2: one for each


class Setup(Cited):
    """The start of the tunnel: login and key exchange, with TCP's handshake.

    It is shown but not simulated: flows start when the tunnel is up.
    """

    round_trips: Annotated[int, whole(0, 100)]


class Cpu(Cited):
    """The program's operations on each packet (``tunnelcc.hosts.costs.OPERATIONS``).

    The layers' own operations come between the first of these and the rest.
    """

    encapsulate: Operations = ()
    decapsulate: Operations = ()


class Mode(Cited):
    """One mode of the program: its layers around a packet, innermost first."""

    summary: Prose
    layers: PacketLayers

    @field_validator("layers")
    @classmethod
    def _check_order(cls, layers: PacketLayers) -> PacketLayers:
        """Reject what no program does: compression of ciphertext, anything around an IP packet."""
        for index, layer in enumerate(layers):
            inside = layers[:index]
            if isinstance(layer, Compression) and not all(it.is_plain for it in inside):
                expected = "compression of the packet itself, after headers at most"
                raise ConfigError(Problem(str(index), layer.layer, expected))
            if any(isinstance(it, Ip) for it in inside):
                raise ConfigError(Problem(str(index), layer.layer, "no layer around ip"))
        return layers

    def text(self) -> str:
        """Return the layers as one line."""
        return " | ".join(layer.text() for layer in self.layers)


class PacketEntry(Entry):
    """A tunnel with a network interface that carries its packets."""

    CARRIES_PACKETS: ClassVar[bool] = True
    #: What the layers of its modes may be.
    PLACES: ClassVar[tuple[Place, ...]]

    mode: Prose  # the default
    device: Device
    threads: Threads
    cpu: Cpu
    clamp: MssClamp | None = None
    setup: Setup | None = None
    modes: dict[str, Mode]

    @model_validator(mode="after")
    def _check(self) -> "PacketEntry":
        self.layers(self.mode)
        problems = [
            problem.below(f"modes.{name}.layers")
            for name, mode in self.modes.items()
            for problem in self._misplaced(mode.layers)
        ]
        if problems:
            raise ConfigError(*problems)
        for name in self.modes:
            self.clamped_mss(Use(ETHERNET_MTU, name))
        return self

    def _misplaced(self, layers: PacketLayers) -> Iterator[Problem]:
        """Yield problems of layers that this kind of tunnel does not have, or not at that place."""
        for index, layer in enumerate(layers):
            if layer.place not in self.PLACES:
                own = (tag_of(it)[1] for it in PACKET_LAYERS if it.place in self.PLACES)
                expected = f"a layer of a {self.kind} tunnel: " + ", ".join(own)
                yield Problem(str(index), layer.layer, expected)
            elif layer.place is Place.TRANSPORT and index != len(layers) - 2:
                yield Problem(str(index), layer.layer, "a place directly before the last layer")
        if Place.NETWORK in self.PLACES and (not layers or layers[-1].place is not Place.NETWORK):
            outermost = (tag_of(it)[1] for it in PACKET_LAYERS if it.place is Place.NETWORK)
            expected = "a last layer that is a network's: " + ", ".join(outermost)
            yield Problem("", [layer.layer for layer in layers], expected)

    def check(self, changes: Mapping[str, Any]) -> None:
        """Also raise ConfigError for an unknown mode."""
        super().check(changes)
        self.layers(changes.get("mode"))

    def layers(self, mode: str | None = None) -> PacketLayers:
        """Return the layers of ``mode`` (default: the entry's). Raises ConfigError."""
        mode = self.mode if mode is None else mode
        if mode not in self.modes:
            raise unknown_name("mode", mode, self.modes, f"a mode of {self.name}:")
        return self.modes[mode].layers

    def tagged(self, tags: int, mode: str | None = None) -> "PacketEntry":
        """Return a copy that carries frames with so many tags of VLANs.

        Raises ConfigError if ``mode`` (default: the entry's) carries no frames.
        """
        if not any(isinstance(it, Ethernet) for it in self.layers(mode)):
            what = f"mode {mode or self.mode} of {self.name}"
            expected = f"no value with {what}, which carries IP packets without frames"
            raise ConfigError(Problem("vlan_tags", tags, expected))
        changed = {
            name: own.model_copy(
                update={
                    "layers": tuple(
                        it.model_copy(update={"tags": tags}) if isinstance(it, Ethernet) else it
                        for it in own.layers
                    )
                }
            )
            for name, own in self.modes.items()
        }
        return self.model_copy(update={"modes": changed})

    def fec(
        self, mode: str | None = None, parity: str | None = None, timeout: float | None = None
    ) -> Fec | None:
        """Return the FEC of ``mode``, with other ``parity`` and ``timeout`` (s). None: no FEC."""
        given = {"parity": parity, "timeout": timeout}
        update = {key: value for key, value in given.items() if value is not None}
        for layer in self.layers(mode):
            if isinstance(layer, Fec):
                return layer.model_copy(update=update)
        return None

    def operations(self, mode: str | None, encapsulates: bool) -> tuple[str, ...]:
        """Return the operations on a packet, in order, at the end where it enters or leaves."""
        layers = self.layers(mode)
        if encapsulates:
            own = self.cpu.encapsulate
            inside = [name for layer in layers for name in layer.operations(True)]
        else:
            own = self.cpu.decapsulate
            inside = [name for layer in reversed(layers) for name in layer.operations(False)]
        return (*own[:1], *inside, *own[1:])

    def all_operations(self, mode: str | None) -> tuple[str, ...]:
        """Return the operations on a packet at either end."""
        return (*self.operations(mode, True), *self.operations(mode, False))

    def outer(
        self,
        inner: int,
        path_mtu: int,
        mode: str | None = None,
        mtu: int | None = None,
        payload: str = "random",
        versions: IpVersions = IPV4,
    ) -> list[int]:
        """Return the bytes that ``inner`` IP bytes become in the layers of ``mode``.

        ``path_mtu``: of the path, bytes. Defaults of ``mode`` and ``mtu`` of the device are the
        entry's. ``payload``: of the flows; default: incompressible.
        """
        use = Use(path_mtu, mode, mtu, versions=versions)
        around = Surroundings(self.mtu(use), path_mtu, payload, versions)
        return wrap(self.layers(mode), inner, around)

    def mtu(self, use: Use) -> int:
        """Return the MTU of the device: the user's, the entry's, or the path's."""
        own = self.device.mtu
        if use.versions.outer == 6:
            own = self.device.mtu_over_ipv6 or own
        return use.mtu or own or use.path_mtu

    def clamped_mss(self, use: Use) -> int:
        """Return the MSS that fits into the device, or the clamp's if that is smaller."""
        mss, inner = use.mss, use.versions.inner
        if mss is None and self.clamp is not None and (self.clamp.ipv6 or inner == 4):
            mss = self._clamp(self.clamp, use)
        by_device = self.mtu(use) - plain_headers(inner)
        return by_device if mss is None else min(by_device, mss)

    def round_trips(self) -> dict[str, int]:
        """Return those of the set-up, and of the flow's own SYN."""
        before = self.setup.round_trips if self.setup else 0
        told = {"the tunnel, before any flow": before, "of these simulated": 0} if before else {}
        return {**told, "each flow": 1}

    def _clamp(self, clamp: MssClamp, use: Use) -> int:
        """Return the clamp's MSS."""
        if clamp.mss is None:
            return self._fitting(clamp.fit or use.path_mtu, use)
        less = plain_headers(use.versions.inner) - plain_headers(4)
        return clamp.mss - less - (clamp.less_over_ipv6 if use.versions.outer == 6 else 0)

    def _fitting(self, fit: int, use: Use) -> int:
        """Largest MSS whose outer packets have at most ``fit`` bytes without fragments."""
        # No layer makes less of a larger packet.
        headers, mtu = plain_headers(use.versions.inner), self.mtu(use)
        inner = range(headers + LEAST_MSS, mtu + 1)

        def size(packet: int) -> int:
            return sum(self.outer(packet, MOST_MTU, use.mode, mtu, versions=use.versions))

        fitting = bisect_right(inner, fit, key=size)
        if fitting:
            return inner[fitting - 1] - headers
        expected = f"room for an MSS of {LEAST_MSS} with the layers of mode {use.mode or self.mode}"
        raise ConfigError(Problem("clamp", fit, expected))


@cache
def sizes(layers: PacketLayers, around: Surroundings, largest: int) -> tuple[tuple[int, ...], ...]:
    """Return the outer bytes of each inner IP packet of 0 to ``largest`` bytes."""
    return tuple(tuple(wrap(layers, inner, around)) for inner in range(largest + 1))
