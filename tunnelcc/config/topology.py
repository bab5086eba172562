# SPDX-License-Identifier: GPL-2.0-only
"""Hosts, the links between them, and the routes of flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import NamedTuple

from tunnelcc.config.ends import Ends
from tunnelcc.config.hosts import OF_MACHINES
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.network import Network, some
from tunnelcc.config.path import DuplexLink, Path
from tunnelcc.config.shapes import Pair
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest

# More than a route has links: as many of them weigh less than 1 ns.
_ROUTE_LINKS = 2**20


class PlacedLink(NamedTuple):
    """A link between two hosts. ``path`` describes the direction to the second host.

    An access link may have no rate limit.
    """

    ends: Pair
    path: DuplexLink


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


@dataclass(frozen=True)
class Topology:
    """Hosts and links in order of declaration. ``pairs``: hosts of flows that name none."""

    hosts: tuple[str, ...]
    links: dict[str, PlacedLink]
    pairs: tuple[Pair, ...]
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

    def check_host(self, key: str, host: str) -> None:
        """Raise ConfigError unless ``host``, the value of ``key``, is a host."""
        if host not in self._neighbours:
            hint = nearest(host, self.hosts)
            raise ConfigError(Problem(key, host, f"a host: {some(self.hosts)}", hint))

    def delay(self, route: Sequence[Step]) -> float:
        """Return the base delay (s) of ``route`` in its direction, to the nanosecond.

        Not more exactly: three times 0.02 s are 0.06 s, and not 0.060000000000000005 s.
        """
        return round(sum(self.links[step.link].path.rtt for step in route) / 2, 9)

    @cached_property
    def _neighbours(self) -> dict[str, dict[str, str]]:
        """Host → neighbour → link, in order of declaration."""
        neighbours: dict[str, dict[str, str]] = {host: {} for host in self.hosts}
        for name, ((one, other), _) in self.links.items():
            neighbours[one][other] = neighbours[other][one] = name
        return neighbours

    @cached_property
    def _weights(self) -> dict[str, int]:
        """Return each link's delay both ways in ns, as whole numbers: equal sums are equal."""
        return {
            name: round(path.rtt * 1e9) * _ROUTE_LINKS + 1 for name, (_, path) in self.links.items()
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
        import networkx

        delays: dict[str, int] = networkx.single_source_dijkstra_path_length(
            self._graph, end, weight="weight"
        )
        return delays

    @cached_property
    def _graph(self) -> object:
        import networkx  # takes a while, and one path needs none of it

        graph = networkx.Graph()
        for name, ((one, other), _) in self.links.items():
            graph.add_edge(one, other, weight=self._weights[name])
        return graph


def topology(network: Network | None, path: Path, direction: str) -> Topology:
    """Return the hosts and links of ``network``, or of ``path`` between client and server.

    Without a network, ``path`` describes the direction of the data. Raises ConfigError.
    """
    if network is None:
        ends = ("client", "server") if direction == "up" else ("server", "client")
        return Topology(
            ("client", "server"), {"path": PlacedLink(ends, path)}, (("client", "server"),)
        )
    layout = network.layout
    access = _changed("access", DuplexLink(mtu=path.mtu, framing=path.framing), network)
    links = {}
    for name, joined in layout.links.items():
        base = access if name in layout.access else path
        links[name] = PlacedLink(joined, _changed(f"links.{name}", base, network))
    hosts = tuple(dict.fromkeys(host for joined in layout.links.values() for host in joined))
    return Topology(hosts, links, layout.pairs)


def _changed(key: str, base: DuplexLink, network: Network) -> DuplexLink:
    """Return ``base`` with the keys of the link at ``key`` of ``network``. Raises ConfigError."""
    _, _, name = key.partition(".")
    link = network.links.get(name) if name else network.access
    if link is None:
        return base
    changed = link.over(base)
    problems = [problem.below(f"network.{key}") for problem in changed.problems()]
    if problems:
        raise ConfigError(*problems)
    return changed


def cross_route(experiment: ExperimentKeys, network: Topology, index: int) -> Route:
    """Return the route of a source of cross traffic. Raises ConfigError."""
    source, key = experiment.cross_traffic[index], f"cross_traffic.{index}"
    return _both_ways(network, _ends(network, source, index, key), source, key)


def _both_ways(network: Topology, ends: Pair, keys: Ends, key: str) -> Route:
    try:
        return network.both_ways(*ends, keys.route, getattr(keys, "ack_route", None))
    except ConfigError as error:
        raise error.below(key) from None


def bottleneck(experiment: ExperimentKeys, network: Topology) -> str:
    """Return the name of the link that the run's utilisation, queue and loss describe."""
    keys = experiment.network
    if keys is not None and keys.bottleneck is not None:
        return keys.bottleneck
    if keys is not None and keys.shape == "dumbbell":
        return "bottleneck"
    first = experiment.flows[0]
    route = _both_ways(network, _ends(network, first, 0, "flows.0"), first, "flows.0")
    steps = route.sent_by("client" if experiment.direction_of(first) == "up" else "server")
    return min(steps, key=lambda step: _rate(network, step)).link


def _rate(network: Topology, step: Step) -> float:
    path = network.links[step.link].path
    rate = path.backward.rate if step.is_reverse else path.rate
    return inf if rate is None else rate


def _ends(network: Topology, ends: Ends, index: int, key: str) -> Pair:
    """Return the hosts of client and server. Raises ConfigError."""
    try:
        return network.ends(ends, index)
    except ConfigError as error:
        raise error.below(key) from None


def problems_of_network(experiment: ExperimentKeys) -> Iterator[Problem]:
    """Yield problems of tunnels, hosts and routes that flows name but that do not exist."""
    for index, flow in enumerate(experiment.flows):
        try:
            experiment.tunnel_of(flow)
        except ConfigError as error:
            yield from error.below(f"flows.{index}.tunnel").problems
    try:
        network = topology(experiment.network, experiment.path, experiment.direction)
    except ConfigError as error:
        yield from error.problems
        return
    if experiment.network is not None:
        yield from _problems_of_hosts(experiment, experiment.network)
    yield from _problems_of_routes(experiment, network)


def _problems_of_hosts(experiment: ExperimentKeys, network: Network) -> Iterator[Problem]:
    for problem in network.problems_of_hosts(experiment.hosts):
        yield problem.below("network")
    for name, overrides in network.hosts.items() if experiment.hosts.one_machine else ():
        for key in OF_MACHINES:
            if getattr(overrides, key) is not None:
                expected = "no value, because all hosts share one machine (hosts.one_machine)"
                yield Problem(f"network.hosts.{name}.{key}", getattr(overrides, key), expected)
    for side in ("client", "server"):
        if getattr(experiment.hosts, side).model_fields_set:
            expected = "no value with network; use network.hosts"
            yield Problem(f"hosts.{side}", MISSING, expected)


def _problems_of_routes(experiment: ExperimentKeys, network: Topology) -> Iterator[Problem]:
    """Yield a problem for the first wrong member of each group of flows, and of each source."""
    first = 0
    for index, flow in enumerate(experiment.flows):
        key = f"flows.{index}"
        try:
            ends = dict.fromkeys(
                _ends(network, flow, first + member, key) for member in range(flow.count)
            )
            for client, server in ends:
                route = _both_ways(network, (client, server), flow, key)
                both = route.to_server + route.to_client
                if not network.delay(both):
                    links = ", ".join(dict.fromkeys(step.link for step in both))
                    expected = f"a route with an rtt above 0 ({links} have none)"
                    yield Problem(f"{key}.route", MISSING, expected)
                    break
        except ConfigError as error:
            yield from error.problems
        first += flow.count
    for index in range(len(experiment.cross_traffic)):
        try:
            cross_route(experiment, network, index)
        except ConfigError as error:
            yield from error.problems
