# SPDX-License-Identifier: GPL-2.0-only
"""The layer of a connection over several paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from tunnelcc.config import multipath
from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.network.layers import Layer, Links
from tunnelcc.network.topology import Route, Step, Topology

#: Bytes of options of MPTCP in a pure ACK: a data ACK of 64 bits (RFC 8684, section 3.3).
_DATA_ACK = 12


@dataclass(frozen=True, eq=False)
class Multipath(Layer):
    """Paths side by side.

    ``below``: the links of the first one, and of the others; ``answers``: whether who sends the
    data receives some, too.
    """

    keys: multipath.Multipath
    below: Links
    answers: bool

    @property
    def is_mptcp(self) -> bool:
        """Whether it is a connection of MPTCP; else it is of QUIC."""
        return isinstance(self.keys, multipath.Mptcp)

    @property
    def mapping(self) -> int:
        """Bytes of options of MPTCP in a segment with data that a pure ACK does not have.

        Its data ACK has 32 bits until data came from the other end, whose mappings have 64
        (Linux 7.3 mptcp_established_options_dss(), use_64bit_ack), with padding either way.
        """
        return 16 if self.answers else 12

    @property
    def segment_options(self) -> int:
        """Bytes of options of MPTCP in a segment with data."""
        return _DATA_ACK + self.mapping if self.is_mptcp else 0

    @property
    def routes(self) -> tuple[Route, ...]:
        """All paths, as they are given."""
        return (self.below.route, *self.below.others)

    @property
    def mss(self) -> int:
        """The payload (bytes) of full segments, the same on all paths."""
        on = self.below.on
        most = min(on.mss(self.below.mtu, it, self.below.ip) for it in self.routes)
        return most - self.segment_options

    @property
    def way(self) -> Sequence[Step]:
        """The links of the fastest path that is no backup."""
        return min((it.steps for it in self._used), key=self.below.on.topology.delay)

    @cached_property
    def _used(self) -> list[Route]:
        pairs = zip(self.keys.paths, self.routes, strict=True)
        return [route for path, route in pairs if path not in self.keys.backup]

    def loads_of(self, end: str) -> dict[Step, float]:
        """Return the links of all paths, each with the share that its rate is of all rates.

        Links that paths share have the sum. A backup has none.
        """
        topology = self.below.on.topology
        rates = {route: topology.least_rate(route.sent_by(end)) for route in self._used}
        if inf in rates.values():  # those without a limit take all
            rates = {route: float(rate == inf) for route, rate in rates.items()}
        total = sum(rates.values())
        shares = [(it, rates.get(it, 0.0) / total) for it in self.routes]
        return self.below.loads_on(shares, end)


def routes_of(topology: Topology, ends: tuple[str, str], keys: multipath.Multipath) -> list[Route]:
    """Return the route of each path. Raises ConfigError with the key of the paths.

    Hosts may be listed from either end: gateways have flows from both sides.
    """
    found: list[Route] = []
    for path in keys.paths:
        try:
            via = _over(topology, ends, path) if isinstance(path, str) else path
            if (via[0], via[-1]) == ends[::-1]:
                via = via[::-1]
            route = topology.both_ways(*ends, via)
        except ConfigError as error:
            raise ConfigError(
                *(replace(it, key=f"{keys.KEY}.paths") for it in error.problems)
            ) from None
        if route in found:
            hosts = " → ".join(topology.hosts_of(route.client, route.to_server))
            expected = f"paths that differ from each other (this is {hosts})"
            raise ConfigError(Problem(f"{keys.KEY}.paths", path, expected))
        found.append(route)
    return found


def _over(topology: Topology, ends: tuple[str, str], name: str) -> list[str]:
    """Return the hosts of the fastest route that crosses a link. Raises ConfigError."""
    link = topology.links.get(name)
    if link is None:
        listed = ", ".join([*topology.links][:12])
        hint = nearest(name, topology.links)
        raise ConfigError(Problem("", name, f"a link ({listed}), or a list of hosts", hint))
    ways = []
    for near, far in (link.ends, link.ends[::-1]):
        before = topology.hosts_of(ends[0], topology.route(ends[0], near))
        hosts = [*before, *topology.hosts_of(far, topology.route(far, ends[1]))]
        if len({*hosts}) == len(hosts):
            ways.append(hosts)
    if not ways:
        expected = f"a link on some route from {ends[0]} to {ends[1]} that visits no host twice"
        raise ConfigError(Problem("", name, expected, "list its hosts instead"))
    return min(ways, key=lambda hosts: topology.delay(topology.route(*ends, hosts)))
