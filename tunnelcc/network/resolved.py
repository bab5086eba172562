# SPDX-License-Identifier: GPL-2.0-only
"""The network of an experiment, with everything that follows from its keys.

What a user wrote becomes hosts, links, routes, tunnels and single flows, once. The input of the
models, limits, tables and figures read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Generic, TypeVar

from tunnelcc.config.hosts import Hosts
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.path import LinkDirection
from tunnelcc.config.shapes import Pair
from tunnelcc.config.tunnel import Tunnel
from tunnelcc.network import draws
from tunnelcc.network.topology import Route, Step, Topology
from tunnelcc.network.traffic import Contents, ResolvedFlow, Traffic
from tunnelcc.network.tunnels import PacketTunnel, Relays

#: What ResolvedNetwork works out once for all seeds of an experiment: nothing of it is drawn.
UNDRAWN = (
    "_below_relays", "_service", "all_kinds", "bottleneck", "bottlenecks", "carriers", "kinds",
    "segments",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ResolvedTunnel:
    """A tunnel between two hosts.

    ``key``: of its keys, for messages; ``layer``: what its packets or carriers meet, for the
    traffic that goes through it first. Of that are ``ends``, the hosts of client and server, and
    ``sender``, the end that sends the data. ``group``: number of the first entry of ``flows`` in
    it.

    ``hop``: if set, the tunnel carries the carriers of the relays ``above`` across this hop (from
    0) instead of flows, and ``owner`` is their number in ResolvedNetwork.tunnels; else it is its
    own. ``lower``: number of the tunnel that its packets go through.
    """

    name: str
    key: str
    layer: PacketTunnel | Relays
    contents: Contents
    ends: Pair
    sender: str
    group: int
    owner: int
    hop: int | None = None
    above: Relays | None = None
    lower: int | None = None

    @property
    def keys(self) -> Tunnel:
        """What the user wrote."""
        return self.layer.keys

    @property
    def uplinks(self) -> tuple[Route, ...]:
        """All its routes, if it has several."""
        return self.layer.uplinks if isinstance(self.layer, PacketTunnel) else ()

    @property
    def routes(self) -> tuple[Route, ...]:
        """These, or all paths of its carriers, if they have several."""
        return self.uplinks if self.layer.paths is None else self.layer.paths.routes

    @property
    def hosts(self) -> list[str]:
        """The hosts that run the tunnel's programs, in order from the client."""
        hops = (self.above or self.layer).hops
        return [hops[0].client, *(hop.server for hop in hops)]


@dataclass(frozen=True, eq=False)
class ResolvedNetwork:
    """The hosts, links, flows and tunnels of an experiment. ``hosts``: name → keys."""

    experiment: ExperimentKeys
    topology: Topology
    hosts: dict[str, Hosts]
    tunnels: tuple[ResolvedTunnel, ...]
    flows: tuple[ResolvedFlow, ...]
    cross_traffic: tuple[ResolvedFlow, ...] = ()
    pings: tuple[ResolvedFlow, ...] = ()

    @property
    def everyone(self) -> tuple[ResolvedFlow, ...]:
        """Flows, cross traffic and pings, in the order of the models."""
        return (*self.flows, *self.cross_traffic, *self.pings)

    @property
    def first(self) -> Traffic:
        """That of the first flow. Numbers of a whole run that depend on a flow are of it."""
        return self.flows[0].traffic

    @cached_property
    def phases(self) -> dict[str, int]:
        """By how much (ns) the RTT of each link is longer than stated."""
        links = self.topology.links.items()
        return {
            name: draws.link_phase(self.experiment, number, link.path, self._service)
            for number, (name, link) in enumerate(links)
        }

    @cached_property
    def _service(self) -> float:
        """The longest time (ns) that a full packet takes on a link."""
        links = self.topology.links.values()
        return max(draws.service_time(self.experiment, link.path) for link in links)

    def own_phase(self, number: int) -> int:
        """Return by how much (ns) the own RTT of flow ``number`` is longer, beside its links."""
        rtt = self.flows[number].flow.rtt
        return draws.flow_phase(self.experiment, number, rtt, self._service)

    def phase(self, number: int) -> float:
        """Return by how much (s) a flow's base RTT is longer than stated, to the nanosecond."""
        of_links = sum(self.phases[step.link] for step in self.flows[number].traffic.way) / 2
        return round((of_links + self.own_phase(number)) / 1e9, 9)

    def rtt(self, number: int) -> float:
        """Return the base RTT (s) of a flow's own connection, or of its tunnel's first one."""
        return round(self.flows[number].traffic.rtt + self.phase(number), 9)

    @cached_property
    def kinds(self) -> list[Traffic]:
        """What equal flows have in common, each once."""
        return [*dict.fromkeys(it.traffic for it in self.flows)]

    @cached_property
    def all_kinds(self) -> list[Traffic]:
        """The same, and each source of cross traffic and ping."""
        return [*dict.fromkeys(it.traffic for it in self.everyone)]

    @cached_property
    def bottleneck(self) -> Step:
        """The link that the path metrics measure, in the direction of the first flow's data.

        If they do not cross it, in its first direction.
        """
        network, first = self.experiment.network, self.first
        name = "path"
        if network is not None:
            name = network.bottleneck or ("bottleneck" if network.shape == "dumbbell" else "")
            name = name or self.narrowest(first.loads).link
        return Step(name, Step(name, True) in first.loads)

    @property
    def several_routes(self) -> list[tuple[Route, ...]]:
        """Those of each tunnel, or of each flow's own connection, that has several."""
        own = (it.traffic.multipath for it in self.flows)
        found = [*(it.routes for it in self.tunnels), *(it.routes for it in own if it is not None)]
        return [*dict.fromkeys(it for it in found if len(it) > 1)]

    @cached_property
    def bottlenecks(self) -> list[Step]:
        """The bottleneck, and where other routes that data can take are narrowest."""
        found = [self.bottleneck]
        for routes in self.several_routes:
            for ways in ([it.to_server for it in routes], [it.to_client for it in routes]):
                if any(self.bottleneck in way for way in ways):
                    apart = [way for way in ways if self.bottleneck not in way]
                    found += [self.narrowest(dict.fromkeys(way, 1.0)) for way in apart]
        return [*dict.fromkeys(found)]

    def narrowest(self, loads: Mapping[Step, float]) -> Step:
        """Return where most of the link's rate would be used, of links with a share of a flow."""
        used = [step for step, share in loads.items() if share > 0]
        return min(used, key=lambda step: (self.direction(step).rate or inf) / loads[step])

    def direction(self, step: Step) -> LinkDirection:
        """Return the keys of a direction of a link."""
        return self.topology.links[step.link].direction(step.is_reverse)

    def is_on_first_machine(self, host: str) -> bool:
        """Whether a host shares the first one's machine. A relay of a chain never does."""
        return self.experiment.hosts.one_machine and host not in self.topology.relays

    def under(self, relays: int, hop: int) -> int | None:
        """Return the number of the tunnel below some relays' carriers on a hop, or None.

        ``relays``: their number.
        """
        return self._below_relays.get((relays, hop))

    @cached_property
    def _below_relays(self) -> dict[tuple[int, int], int]:
        """Number of relays, and hop → the number of the tunnel below."""
        numbered = enumerate(self.tunnels)
        return {(it.owner, it.hop): number for number, it in numbered if it.hop is not None}

    def tunnels_around(self, traffic: Traffic) -> list[tuple[ResolvedTunnel, dict[Step, float]]]:
        """Return the tunnels around a flow, from the inside, and the links that data cross in each.

        Relays go through equal tunnels on all hops: the first one stands for them.
        """
        found: list[tuple[ResolvedTunnel, dict[Step, float]]] = []
        number = traffic.tunnel_number
        for layer in traffic.layers:
            if number is None or not isinstance(layer, (PacketTunnel, Relays)):
                continue
            placed = self.tunnels[number]
            above = placed.above or layer
            found.append((placed, above.loads_of(layer.sender)))
            number = self.under(number, 0) if placed.lower is None else placed.lower
        return found

    def tunnel_key(self, traffic: Traffic) -> str:
        """Return the key of a flow's tunnel, for messages."""
        return tunnel_key(self.experiment, traffic)

    @cached_property
    def segments(self) -> dict[Step, tuple[int, int]]:
        """The payload and IP bytes of a full packet of the first flow that sends across each link,
        without a tunnel.
        """
        found: dict[Step, tuple[int, int]] = {}
        for traffic in self.kinds:
            for step in traffic.loads:
                found.setdefault(step, traffic.packet_on(traffic.links))
        return found

    @cached_property
    def carriers(self) -> list[int | None]:
        """The number of each flow's carrier, from 0 without gaps; None: no tunnel."""
        keys = [None if it.tunnel is None else (it.tunnel, it.carrier) for it in self.flows]
        numbers = iter(numbered([key for key in keys if key is not None]))
        return [None if key is None else next(numbers) for key in keys]

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The derived numbers that a result records, in SI units.

        Windows and buffers of sockets are those of the first flow. None stands for what there is
        not: the bytes of a buffer that counts packets, or of a link without a rate.
        """
        experiment, first = self.experiment, self.first.transport
        name, is_reverse = self.bottleneck
        link, rtt = self.topology.links[name], experiment.path.rtt
        if experiment.network is None:
            is_reverse = False
        else:
            rtt = link.path.rtt
        rate = link.direction(is_reverse).rate
        return {
            "bdp_bytes": None if rate is None else rate * rtt / 8,
            "buffer_bytes": link.buffer_bytes(is_reverse),
            "tcp_rmem_bytes": first.receiving.receive_buffer,
            "receive_window_bytes": first.receive_window,
            "window_scale": first.window_scale,
            "send_buffer_bytes": first.sending.tcp_wmem,
            "header_bytes": experiment.tcp.header_bytes(experiment.path.ip),
            "flow_count": len(self.flows),
            "start_s": [flow.start for flow in self.flows],
        }


def tunnel_key(experiment: ExperimentKeys, traffic: Traffic) -> str:
    """Return the key of a flow's tunnel, for messages."""
    name = traffic.keys.tunnel
    if name in experiment.tunnels:
        return f"tunnels.{name}"
    return "tunnel" if name is None else f"{traffic.key}.tunnel"


def numbered(keys: Sequence[object]) -> list[int]:
    """Return a number for each key, from 0 without gaps, in order of first appearance."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [numbers[key] for key in keys]


_Made = TypeVar("_Made")


class OfAllSeeds(Generic[_Made]):
    """What is made once for all seeds of an experiment. It keeps the latest.

    Networks that differ in their draws alone have one topology: see with_draws_of().
    """

    def __init__(self) -> None:
        self._latest: tuple[Topology, _Made] | None = None

    def of(self, network: ResolvedNetwork, make: Callable[[], _Made]) -> _Made:
        """Return what belongs to a network, or to the same one with another seed."""
        if self._latest is None or self._latest[0] is not network.topology:
            self._latest = network.topology, make()
        return self._latest[1]
