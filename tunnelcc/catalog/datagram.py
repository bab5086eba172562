# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels that send each packet in a datagram."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import model_validator

from tunnelcc.catalog.cited import Cited
from tunnelcc.catalog.layers import Fec, PacketLayers, Place, Surroundings, wrap
from tunnelcc.catalog.packets import PacketEntry, QueuePackets
from tunnelcc.catalog.values import NO_FEC, PROBE_COUNT, PROBE_INTERVAL, Use
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import SWITCH, choice, size, whole


class Socket(Cited):
    """Queue of the program's UDP socket at the far end: in packets, or what its buffer holds."""

    queue: QueuePackets | None = None  # 0: no limit
    packet: Annotated[int, size(1, 2**17)] | None = (
        None  # bytes that a full one takes of its buffer
    )
    asks: Annotated[int, size(4096, 2**30)] | None = None  # for a buffer of so many bytes

    @model_validator(mode="after")
    def _one(self) -> "Socket":
        if self.queue is None and self.asks is None:
            raise ConfigError(Problem("queue", MISSING, "a number of packets, or asks"))
        if self.queue is not None and self.asks is not None:
            raise ConfigError(Problem("asks", self.asks, "no value, because queue is given"))
        if self.asks is not None and self.packet is None:
            raise ConfigError(Problem("asks", self.asks, "no value without packet"))
        return self

    def room(self, buffer: int | None) -> int:
        """Return the packets that wait in a ``buffer`` (bytes); None: in the program's own."""
        if buffer is None or self.packet is None:
            assert self.queue is not None
            return self.queue
        return buffer // self.packet


class Ecn(Cited):
    """Whether ECN marks pass between inner and outer headers (RFC 6040)."""

    copied: Annotated[bool, SWITCH]


class OuterDf(Cited):
    """Whether routers may fragment the datagrams (the bit DF of IPv4).

    clear: they may; wanted: not until the host hears of a smaller MTU, after which it fragments
    itself (Linux's default for UDP sockets); set: never; copied: as the packet inside.

    ``tells_host``: TCP on the host that runs the tunnel learns which packets leave it whole.
    """

    df: Annotated[str, choice("clear", "wanted", "set", "copied")]
    tells_host: Annotated[bool, SWITCH] = False


class FailOver(Cited):
    """Probes over each of several routes, by which an end finds one that works.

    ``probe``: UDP payload of a probe and of its answer. A route fails when its last answer is more
    than ``fail_after`` intervals old, and works again when it is less than ``return_after`` old.
    """

    probe: Annotated[int, size(1, 1200)]
    probe_interval: Annotated[float, PROBE_INTERVAL]
    fail_after: Annotated[int, PROBE_COUNT]
    return_after: Annotated[int, PROBE_COUNT]


class Bonding(Cited):
    """How a program spreads packets over several routes, and puts them into order.

    ``turns`` by weights: smooth, as evenly as they can; countdown, as MLVPN. ``places``: packets
    that its reorder buffer has room for, among them late ones, which leave again when it is
    emptied.
    """

    turns: Annotated[str, choice("smooth", "countdown")]
    places: Annotated[int, whole(1, 2**16)]


class DatagramEntry(PacketEntry):
    """A tunnel that sends each packet in its own datagram."""

    OVERRIDES: ClassVar[tuple[str, ...]] = (
        "mode", "mtu", "mss", "queue", "receive_buffer", "fec", "fec_timeout", "ip", "under",
        "uplinks", "vlan_tags",
    )  # fmt: skip
    HAS_CARRIERS: ClassVar[bool] = False
    PLACES: ClassVar[tuple[Place, ...]] = (
        Place.PACKET,
        Place.DATAGRAM,
        Place.TRANSPORT,
        Place.NETWORK,
    )

    socket: Socket
    ecn: Ecn
    outer_df: OuterDf | None = None  # else wanted
    fail_over: FailOver | None = None  # else the program uses one route
    bonding: Bonding | None = None  # else something beside it spreads packets

    def check(self, changes: Mapping[str, Any]) -> None:
        """Also raise ConfigError for FEC that the mode does not have, or cannot have."""
        super().check(changes)
        mode = changes.get("mode")
        fec = self.fec(mode)
        for key in ("fec", "fec_timeout"):
            if key in changes and fec is None:
                expected = (
                    f"no value with mode {mode or self.mode} of {self.name}, which has no FEC"
                )
                raise ConfigError(Problem(key, changes[key], expected))
        if "receive_buffer" in changes and self.socket.packet is None:
            expected = f"no value with {self.name}, whose packets do not wait in a socket's buffer"
            raise ConfigError(Problem("receive_buffer", changes["receive_buffer"], expected))
        if changes.get("fec") == NO_FEC:
            expected = f"shards such as 20:10, because {self.name} always has FEC"
            raise ConfigError(Problem("fec", NO_FEC, expected))
        if fec and "fec" in changes:
            fec.check_parity("fec", changes["fec"])

    def across_path(self, size: int, payload: str, use: Use) -> list[int]:
        """Return the IP bytes of the datagrams."""
        return self.outer(size, use.path_mtu, use.mode, use.mtu, payload, use.versions)

    def told_mss(self, use: Use) -> int | None:
        """Return that of packets that leave whole, if ``outer_df.tells_host``."""
        tells = self.outer_df is not None and self.outer_df.tells_host
        return self._fitting(use.path_mtu, use) if tells else None

    def check_packet(self, size: int, parity: str | None, use: Use) -> None:
        """Raise ConfigError if a group of the FEC cannot hold a packet of ``size`` IP bytes."""
        fec = self.fec(use.mode, parity)
        if fec is None or fec.blob is None:
            return
        inside, _ = self.around_fec(use.mode)
        around = Surroundings(self.mtu(use), use.path_mtu, versions=use.versions)
        needed = fec.blob_bytes(sum(wrap(inside, size, around)))
        shards = len(fec.parity_counts)
        if needed > shards * fec.blob.mtu:
            expected = (
                f"{-(-needed // fec.blob.mtu)} data shards or more, because {shards} of "
                f"{fec.blob.mtu} bytes cannot hold a packet of {size} bytes"
            )
            raise ConfigError(Problem("fec", fec.parity, expected))

    def has_one_path(self, mode: str | None) -> bool:
        """Whether there is FEC, whose parity is of packets of several flows."""
        return self.fec(mode) is not None

    def around_fec(self, mode: str | None = None) -> tuple[PacketLayers, PacketLayers]:
        """Return the layers inside the FEC, and those around it."""
        layers = self.layers(mode)
        place = next(i for i, layer in enumerate(layers) if isinstance(layer, Fec))
        return layers[:place], layers[place + 1 :]

    def _misplaced(self, layers: PacketLayers) -> Iterator[Problem]:
        yield from super()._misplaced(layers)
        for second in [i for i, layer in enumerate(layers) if isinstance(layer, Fec)][1:]:
            yield Problem(str(second), "fec", "one layer of FEC at most")
