# SPDX-License-Identifier: GPL-2.0-only
"""What the layers of a route have in common, and the last one: links.

What a flow sends goes from layer to layer: through the tunnels around it, from the inside, and last
over links. Each layer knows the one below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tunnelcc.catalog.values import IpVersions
from tunnelcc.config.hosts import Hosts
from tunnelcc.config.tcp import Tcp
from tunnelcc.errors import Problem
from tunnelcc.network.topology import Route, Step, Topology
from tunnelcc.schema.units import Buffer

if TYPE_CHECKING:
    from tunnelcc.catalog.quic import FullPacket


@dataclass(frozen=True, eq=False)
class Underlay:
    """What the routes of an experiment share: hosts and links, and settings of all connections.

    ``hosts``: name → keys; ``shared``: the keys that all hosts share; ``ip``: the version of IP on
    the links.
    """

    topology: Topology
    hosts: dict[str, Hosts]
    shared: Hosts
    tcp: Tcp
    ip: int

    def mss(self, mtu: int, route: Route, ip: int) -> int:
        """Return the payload (bytes) of a full segment of TCP on ``route``.

        That is ``tcp.mss``, or less if such packets exceed the ``mtu`` that the hosts know, or if a
        router on the way clamps it. ``ip``: the version of IP of the packets.
        """
        links, tcp = self.topology.links, self.tcp
        clamps = [links[step.link].path.mss_clamp(ip) for step in route.steps]
        most = [it - tcp.option_bytes for it in clamps if it is not None]
        return min(tcp.mss, mtu - tcp.header_bytes(ip), *most)


class Layer:
    """One layer of a route. What it does not change is that of the layer below.

    Links are the last layer; it has none below.
    """

    below: Layer

    @property
    def links(self) -> Links:
        """The last layer."""
        return self.below.links

    @property
    def layers(self) -> Iterator[Layer]:
        """This layer and those below it."""
        yield self
        yield from self.below.layers

    @property
    def packet_layer(self) -> Any:
        """The first PacketTunnel that packets enter, if any."""
        return self.below.packet_layer

    @property
    def mtu(self) -> int:
        """The IP bytes of the largest packet that enters the layer."""
        return self.below.mtu

    @property
    def versions(self) -> IpVersions:
        """The versions of IP of packets that enter the layer, and of those on links."""
        return self.below.versions

    @property
    def mss(self) -> int:
        """The payload (bytes) of full segments of TCP whose sender the layers tell nothing.

        Raises ConfigError if nothing is left.
        """
        return self.below.mss

    @property
    def told_mss(self) -> int | None:
        """The most payload (bytes) of which a layer tells TCP on its host; None: of none."""
        return self.below.told_mss

    @property
    def segment(self) -> int:
        """The payload (bytes) of full segments of TCP. Raises ConfigError if nothing is left."""
        mss, told = self.mss, self.told_mss
        return mss if told is None else min(mss, told)

    @property
    def way(self) -> Sequence[Step]:
        """The links of which the base RTT is, in both directions."""
        return self.below.way

    @property
    def hops(self) -> list[Route]:
        """The links of each carrier in a row: relays have several."""
        return self.below.hops

    def across(self, size: int, payload: str) -> list[int]:
        """Return the IP bytes that cross links for a packet of ``size`` IP bytes.

        ``payload``: what it carries.
        """
        return self.below.across(size, payload)

    def loads_of(self, end: str) -> dict[Step, float]:
        """Return the directions of links that what one end sends crosses, in order.

        Each with the share of the data that crosses it: 0 where data go only after a fail-over.
        ``end``: client or server.
        """
        return self.below.loads_of(end)

    @property
    def quic_packet(self) -> FullPacket:
        """A full packet of QUIC that enters the layer."""
        from tunnelcc.catalog.quic import transport  # few flows need it

        return transport().full_packet(self.mtu, self.versions.inner)

    def largest_packet(self, *, only_tcp: bool) -> int:
        """Return the IP bytes of the largest packet that enters the layer.

        ``only_tcp``: all packets are segments of TCP.
        """
        largest = self.mss + self.links.on.tcp.header_bytes(self.versions.inner)
        return largest if only_tcp else max(largest, self.mtu)


@dataclass(frozen=True, eq=False)
class Links(Layer):
    """The links between two hosts.

    ``ip``: the version of IP of the packets on them; ``others``: more routes between the hosts, of
    which the layer above uses one or all.
    """

    on: Underlay
    route: Route
    ip: int
    others: tuple[Route, ...] = ()

    @property
    def layers(self) -> Iterator[Layer]:
        yield self

    @property
    def links(self) -> Links:
        return self

    @property
    def packet_layer(self) -> None:
        return None

    @cached_property
    def mtu(self) -> int:
        links = self.on.topology.links
        steps = (step for route in (self.route, *self.others) for step in route.steps)
        return min(links[step.link].path.host_mtu for step in steps)

    @property
    def versions(self) -> IpVersions:
        return IpVersions(self.ip, self.ip)

    @cached_property
    def mss(self) -> int:
        return self.on.mss(self.mtu, self.route, self.ip)

    @property
    def told_mss(self) -> int | None:
        return None

    @property
    def way(self) -> Sequence[Step]:
        return self.route.steps

    @property
    def hops(self) -> list[Route]:
        return [self.route]

    def across(self, size: int, payload: str) -> list[int]:
        return [size]

    def loads_of(self, end: str) -> dict[Step, float]:
        """Return the links of the first route."""
        return self.loads_on([(self.route, 1.0)], end)

    def loads_on(self, routes: Sequence[tuple[Route, float]], end: str) -> dict[Step, float]:
        """Return the links of ``routes``, of which each takes a share of the data."""
        return added(*({step: share} for it, share in routes for step in it.sent_by(end)))


def added(*parts: dict[Step, float]) -> dict[Step, float]:
    """Return loads of parts of a route together."""
    found: dict[Step, float] = {}
    for part in parts:
        for step, share in part.items():
            found[step] = found.get(step, 0.0) + share
    return found


def other_end(end: str) -> str:
    """Return the end opposite to ``end``: client or server."""
    return "client" if end == "server" else "server"


def problems_of_queue(on: Underlay, step: Step, packets: Sequence[int]) -> Iterator[Problem]:
    """Yield problems of a queue or policer that is too short for some packets.

    ``packets``: IP bytes of those that arrive at once.
    """
    link = on.topology.links[step.link]
    path, direction = link.path, link.direction(step.is_reverse)
    prefix, alias = f"{link.key}.", "buffer"
    if step.is_reverse:
        prefix = f"{link.key}.reverse."
        if path.reverse is None or path.reverse.rate is None:
            prefix, alias = f"{link.key}.", "reverse_buffer"
    if direction.policer is not None and direction.policer.burst < max(packets):
        expected = f"room for one packet of {max(packets)} bytes"
        yield Problem(f"{prefix}policer.burst", direction.policer.burst, expected)
    if direction.rate is None:
        return
    packet = on.tcp.packet_bytes(on.ip, path.mtu)
    bytes_of = partial(path.queue_bytes, rate=direction.rate, packet=packet)
    for problem in direction.queue.problems(bytes_of):
        yield problem.below(f"{prefix}queue")
    framed = [size + path.framing_bytes for size in packets]
    for index, (_, buffer) in enumerate(direction.over_time("buffer")):
        key = f"{prefix}{alias}"
        if direction.trace is not None and "buffer" in direction.trace.given:
            key = f"{prefix}trace"
        elif index:
            key = f"{prefix}buffer_steps"
        yield from _too_small(buffer, direction.rate, path.rtt, framed, key)


def _too_small(
    buffer: Buffer, rate: float, rtt: float, packets: Sequence[int], key: str
) -> Iterator[Problem]:
    """Yield a problem if a queue is too short for ``packets`` (bytes) that arrive at once.

    The link sends one of them; the others must fit into the queue.
    """
    waiting = packets[1:]
    if buffer.packets is not None:
        if buffer.packets < len(waiting):
            expected = f"room for all fragments of a packet but one ({len(packets)} fragments)"
            yield Problem(key, str(buffer), expected)
        return
    room, needed = buffer.at(rate, rtt), max([*packets, sum(waiting)])
    what = "one packet" if needed == max(packets) else "all fragments of a packet but one"
    if room < needed:
        expected = f"room for {what} ({needed} bytes)"
        yield Problem(key, str(buffer), expected, f"this buffer is {room} bytes")
