# SPDX-License-Identifier: GPL-2.0-only
"""Hosts, the links between them, and the routes of flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import NamedTuple

from tunnelcc.config.ends import Ends
from tunnelcc.config.network import Network, some
from tunnelcc.config.path import DuplexLink, LinkDirection, Path
from tunnelcc.config.shapes import Pair
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest

# More than a route has links: as many of them weigh less than 1 ns.
_ROUTE_LINKS = 2**20


def half_of(rtt: float, is_reverse: bool, phase: int = 0) -> int:
    """Return the delay (ns) of one direction at an RTT (s) that is longer by ``phase`` (ns).

    Both together are that RTT.
    """
    whole = round(rtt * 1e9) + phase
    return whole - whole // 2 if is_reverse else whole // 2


@dataclass(frozen=True)
class ResolvedLink:
    """A link between two hosts.

    ``path``: its keys, which describe the direction to the second host; an access link may have no
    rate limit. ``key``: the table where they begin, for messages.
    """

    ends: Pair
    path: DuplexLink
    key: str

    @cached_property
    def backward(self) -> LinkDirection:
        """The keys of the direction to the first host."""
        return self.path.backward

    def direction(self, is_reverse: bool) -> LinkDirection:
        """Return the keys of one direction."""
        return self.backward if is_reverse else self.path

    def buffer_bytes(self, is_reverse: bool) -> int | None:
        """Return the bytes of a direction's buffer.

        None: it is limited in packets, or there is none without a rate.
        """
        way = self.direction(is_reverse)
        if way.rate is None or way.buffer.packets is not None:
            return None
        return way.buffer.at(way.rate, self.path.rtt)


class Step(NamedTuple):
    """A link on a route, crossed from its first host to its second, or in reverse."""

    link: str
    is_reverse: bool


class Route(NamedTuple):
    """The links between a client's host and a server's, in each direction."""

    client: str
    server: str
    to_server: tuple[Step, ...]
    to_client: tuple[Step, ...]

    def sent_by(self, end: str) -> tuple[Step, ...]:
        """Return the links that packets of one end cross: ``client`` or ``server``."""
        return self.to_server if end == "client" else self.to_client

    @property
    def steps(self) -> tuple[Step, ...]:
        """The links of both directions."""
        return self.to_server + self.to_client

    @property
    def ends(self) -> Pair:
        """The client's host and the server's."""
        return self.client, self.server

    @property
    def turned(self) -> Route:
        """The same links with client and server exchanged."""
        return Route(self.server, self.client, self.to_client, self.to_server)


@dataclass(frozen=True)
class Topology:
    """Hosts and links in order of declaration.

    ``pairs``: hosts of flows that name none; ``relays``: hosts that a chain of relays puts between
    client and server, where there is no network.
    """

    hosts: tuple[str, ...]
    links: dict[str, ResolvedLink]
    pairs: tuple[Pair, ...]
    relays: tuple[str, ...] = ()
    _delays: dict[str, dict[str, int]] = field(default_factory=dict, compare=False, repr=False)
    _hops: dict[Pair, str] = field(default_factory=dict, compare=False, repr=False)

    def pair(self, index: int) -> Pair:
        """Return the hosts of the client and the server of single flow ``index``.

        Raises ConfigError if the flow must name them.
        """
        if not self.pairs:
            expected = f"a host here and another in to, from {some(self.hosts)}"
            raise ConfigError(Problem("from", MISSING, expected))
        return self.pairs[index % len(self.pairs)]

    def ends(self, keys: Ends, index: int) -> Pair:
        """Return the hosts of the client and the server of flow ``index``: its own, or a pair's.

        Raises ConfigError.
        """
        if keys.from_ is None or keys.to is None:
            return self.pair(index)
        self.check_host("from", keys.from_)
        self.check_host("to", keys.to)
        return keys.from_, keys.to

    def route(self, start: str, end: str, via: Sequence[str] = ()) -> tuple[Step, ...]:
        """Return the links from ``start`` to ``end``.

        ``via``: all hosts on the route, both ends included. Default: the route with the least
        delay, then the fewest links, then the links declared first. Raises ConfigError.
        """
        for host in (start, end):
            self.check_host("", host)
        hosts = list(via) or self._fastest(start, end)
        if via:
            self._check(start, end, hosts)
        return tuple(self._step(one, other) for one, other in pairwise(hosts))

    def both_ways(
        self,
        client: str,
        server: str,
        via: Sequence[str] | None = None,
        back: Sequence[str] | None = None,
    ) -> Route:
        """Return the links from one host to the other, and the links of the way back.

        They are the same links unless ``back`` names hosts. ``via`` and ``back`` are as in route().
        Raises ConfigError with the key ack_route or route.
        """
        try:
            there = self.route(client, server, via or ())
        except ConfigError as error:
            raise error.below("route") from None
        if back is None:
            same = tuple(Step(link, not is_reverse) for link, is_reverse in reversed(there))
            return Route(client, server, there, same)
        try:
            return Route(client, server, there, self.route(server, client, back))
        except ConfigError as error:
            raise error.below("ack_route") from None

    def is_turned(self, route: Route, ends: Pair) -> bool:
        """Whether both ``ends`` are on the way to the server, the second one before the first."""
        hosts = self.hosts_of(route.client, route.to_server)
        first, second = (hosts.index(it) if it in hosts else -1 for it in ends)
        return first > second >= 0

    def hosts_of(self, start: str, steps: Sequence[Step]) -> list[str]:
        """Return the hosts on the way over ``steps`` from ``start``, both ends included."""
        ends = [self.links[step.link].ends[not step.is_reverse] for step in steps]
        return [start, *ends]

    def part(self, route: Route, client: str, server: str, whose: str = "") -> Route:
        """Return the links of ``route`` between two of its hosts, the first nearer to its client.

        ``whose``: what takes the route, for messages: `` of flows.0``. Raises ConfigError with no
        key if one of the hosts is not on both ways, or not in this order.
        """
        parts = []
        for steps, start, first, last in (
            (route.to_server, route.client, client, server),
            (route.to_client, route.server, server, client),
        ):
            hosts = self.hosts_of(start, steps)
            for host in (first, last):
                if host not in hosts:
                    expected = f"hosts on the way{whose} ({' → '.join(hosts)})"
                    raise ConfigError(Problem("", [client, server], expected))
            if hosts.index(first) > hosts.index(last):
                expected = f"hosts that both ways pass in this order ({' → '.join(hosts)})"
                raise ConfigError(Problem("", [client, server], expected))
            parts.append(steps[hosts.index(first) : hosts.index(last)])
        return Route(client, server, *parts)

    def check_host(self, key: str, host: str) -> None:
        """Raise ConfigError unless ``host``, the value of ``key``, is a host."""
        if host not in self._neighbours:
            hint = nearest(host, self.hosts)
            raise ConfigError(Problem(key, host, f"a host: {some(self.hosts)}", hint))

    def least_rate(self, route: Sequence[Step]) -> float:
        """Return the rate (bit/s) of the slowest link on a route; inf: none has one.

        Only access links may have none.
        """
        ways = (self.links[step.link].direction(step.is_reverse) for step in route)
        return min((it.rate for it in ways if it.rate is not None), default=inf)

    def delay(self, route: Sequence[Step]) -> float:
        """Return the stated delay (s) of ``route`` in its direction, to the nanosecond.

        Not more exactly: three times 0.02 s are 0.06 s, and not 0.060000000000000005 s.
        """
        return round(sum(self.links[step.link].path.rtt for step in route) / 2, 9)

    @cached_property
    def _neighbours(self) -> dict[str, dict[str, str]]:
        """Host → neighbour → link, in order of declaration."""
        neighbours: dict[str, dict[str, str]] = {host: {} for host in self.hosts}
        for name, link in self.links.items():
            one, other = link.ends
            neighbours[one][other] = neighbours[other][one] = name
        return neighbours

    @cached_property
    def _weights(self) -> dict[str, int]:
        """Return each link's delay both ways in ns, as whole numbers: equal sums are equal."""
        return {
            name: round(link.path.rtt * 1e9) * _ROUTE_LINKS + 1 for name, link in self.links.items()
        }

    def _step(self, one: str, other: str) -> Step:
        name = self._neighbours[one][other]
        return Step(name, is_reverse=self.links[name].ends[0] != one)

    def _check(self, start: str, end: str, hosts: list[str]) -> None:
        expected, hint = "", ""
        unknown = next((host for host in hosts if host not in self._neighbours), None)
        twice = next((host for host in hosts if hosts.count(host) > 1), None)
        gap = next(
            (
                (one, other)
                for one, other in pairwise(hosts)
                if other not in self._neighbours.get(one, {})
            ),
            None,
        )
        if unknown is not None:
            expected = f"hosts from {some(self.hosts)}"
            hint = f"unknown host {unknown!r}, {nearest(unknown, self.hosts)}".rstrip(", ")
        elif (hosts[0], hosts[-1]) != (start, end):
            expected = f"a route from {start} to {end}"
        elif twice is not None:
            expected, hint = "a route that visits each host once", f"{twice} is in it twice"
        elif gap is not None:
            expected = "a route along links"
            hint = f"no link joins {gap[0]} and {gap[1]}"
        if expected:
            raise ConfigError(Problem("", hosts, expected, hint))

    def _fastest(self, start: str, end: str) -> list[str]:
        head, tail = [start], [end]
        if start == end:
            return head
        # All routes of a host with one link begin there: hosts behind a router share a search.
        if len(self._neighbours[start]) == 1:
            head += self._neighbours[start]
        if head[-1] != end and len(self._neighbours[end]) == 1:
            tail = [*self._neighbours[end], end]
        if head[-1] == tail[0]:
            return head + tail[1:]
        if head[-1] not in self._delays_to(tail[0]):
            raise ConfigError(Problem("", MISSING, f"links that lead from {start} to {end}"))
        while head[-1] != tail[0]:
            head.append(self._next(head[-1], tail[0]))
        return head + tail[1:]

    def _next(self, here: str, end: str) -> str:
        """Return the host that follows ``here`` on the way to ``end``."""
        if (here, end) not in self._hops:
            delays = self._delays_to(end)
            self._hops[here, end] = next(
                host
                for host, link in self._neighbours[here].items()
                if self._weights[link] + delays[host] == delays[here]
            )
        return self._hops[here, end]

    def _delays_to(self, end: str) -> dict[str, int]:
        """Return the least delays from hosts to ``end``."""
        if end not in self._delays:
            self._delays[end] = self._search(end)
        return self._delays[end]

    def _search(self, end: str) -> dict[str, int]:
        """Dijkstra's algorithm."""
        delays: dict[str, int] = {}
        waiting = [(0, end)]
        while waiting:
            delay, here = heappop(waiting)
            if here in delays:
                continue
            delays[here] = delay
            for host, link in self._neighbours[here].items():
                heappush(waiting, (delay + self._weights[link], host))
        return delays


def of_network(network: Network, path: Path, direction: str = "up") -> Topology:
    """Return the hosts and links of ``network``. Raises ConfigError.

    ``direction``: of the experiment. If it is down, so is the first direction of the links of a
    shape: keys of links describe the direction of the data, as those of a single path do.
    """
    layout = network.layout
    access = _changed("access", DuplexLink(mtu=path.host_mtu, framing=path.framing), network)
    links = {}
    for name, joined in layout.links.items():
        base, key = (access, "network.access") if name in layout.access else (path, "path")
        key = f"network.links.{name}" if name in network.links else key
        own = network.links.get(name)
        if direction == "down" and (own is None or own.between is None):
            joined = joined[::-1]
        links[name] = ResolvedLink(joined, _changed(f"links.{name}", base, network), key)
    hosts = tuple(dict.fromkeys(host for joined in layout.links.values() for host in joined))
    return Topology(hosts, links, layout.pairs)


def of_path(paths: Sequence[Path], direction: str) -> Topology:
    """Return a client, a server, and relays between them if ``paths`` has several parts.

    ``paths``: in order from the client; each describes the direction of the data. Equal parts of
    one path are the same object.
    """
    relays = tuple(f"relay{number}" for number in range(1, len(paths)))
    links = {}
    for number, (pair, path) in enumerate(
        zip(pairwise(("client", *relays, "server")), paths, strict=True)
    ):
        key = "path" if path is paths[0] else f"tunnel.chain.{number - 1}"
        name = f"hop{number + 1}" if number else "path"
        links[name] = ResolvedLink(pair if direction == "up" else pair[::-1], path, key)
    return Topology(("client", "server", *relays), links, (("client", "server"),), relays)


def _changed(key: str, base: DuplexLink, network: Network) -> DuplexLink:
    """Return ``base`` with the keys of the link at ``key`` of ``network``. Raises ConfigError."""
    _, _, name = key.partition(".")
    link = network.links.get(name) if name else network.access
    if link is None:
        return base
    changed = link.over(base)
    # The other direction has the same rate by default.
    problems = [it.below(f"network.{key}") for it in changed.symmetric().problems()]
    if problems:
        raise ConfigError(*problems)
    return changed
