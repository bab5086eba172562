# SPDX-License-Identifier: GPL-2.0-only
"""The places of an experiment's flows and tunnels in the network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from tunnelcc.config import derived
from tunnelcc.config.flow import Flow
from tunnelcc.config.hosts import HostOverrides, Hosts
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.path import Path
from tunnelcc.config.topology import (
    PlacedLink,
    Route,
    Step,
    Topology,
    bottleneck,
    cross_route,
    topology,
)
from tunnelcc.config.tunnel import Tunnel


@dataclass(frozen=True)
class Placed:
    """A single flow in the network.

    ``group``: its number in ``flows``; ``start``: s, jitter included; ``bytes``: what it sends,
    None: until the end; ``client`` and ``server``: names of its hosts; ``tunnel``: number of its
    tunnel among those between two hosts, None: it has none; ``carrier``: number of its connection
    among that tunnel's, or of the flow itself.
    """

    flow: Flow
    group: int
    start: float
    bytes: int | None
    client: str
    server: str
    direction: str
    tunnel: int | None
    carrier: int

    @property
    def kind(self) -> tuple[int, str, str, int | None]:
        """Return the properties that equal flows share: all but their start and their size."""
        return self.group, self.client, self.server, self.tunnel

    @property
    def sender(self) -> str:
        """Return the end that sends the data: client or server."""
        return "client" if self.direction == "up" else "server"


@dataclass(frozen=True)
class PlacedTunnel:
    """A tunnel between two hosts.

    ``first``: the first flow in it, which defines its place. ``flows``: all flows in it; equal ones
    are one item with a count. ``hop``: if set, the tunnel carries the relays' connections across
    this hop (from 0) instead of flows.
    """

    name: str
    tunnel: Tunnel
    first: Placed
    flows: tuple[Flow, ...]
    hop: int | None = None


@dataclass(frozen=True)
class Layout:
    """The network's hosts and links, and the flows and tunnels on them."""

    experiment: ExperimentKeys
    topology: Topology
    flows: tuple[Placed, ...]
    tunnels: tuple[PlacedTunnel, ...]

    def view(self, placed: Placed) -> ExperimentKeys:
        """Return the experiment as one flow sees it.

        That is one path between a client and a server, and a tunnel with the flows that share it.
        Other functions then apply to this flow.
        """
        experiment = self.experiment
        if not _has_parts(experiment):
            return experiment
        tunnel = None if placed.tunnel is None else self.tunnels[placed.tunnel]
        update: dict[str, Any] = {
            "tunnel": tunnel.tunnel if tunnel else None,
            "direction": placed.direction,
            "flows": tunnel.flows if tunnel else (placed.flow,),
        }
        if experiment.network is not None:
            hosts = experiment.network.hosts
            update |= {
                "path": self._as_path(self.route(placed)),
                "hosts": experiment.hosts.model_copy(
                    update={
                        "client": hosts.get(placed.client, HostOverrides()),
                        "server": hosts.get(placed.server, HostOverrides()),
                    }
                ),
            }
        return experiment.model_copy(update=update)

    def under(self, relays: PlacedTunnel, hop: int) -> int | None:
        """Return the number of the tunnel below ``relays`` on a hop, or None."""
        for number, it in enumerate(self.tunnels):
            if it.hop == hop and it.first == relays.first:
                return number
        return None

    @cached_property
    def distinct_flows(self) -> list[Placed]:
        """One flow of each kind. Others of a kind differ only in start and size."""
        return [*{it.kind: it for it in reversed(self.flows)}.values()][::-1]

    def tunnel_key(self, placed: Placed) -> str:
        """Return the key of the flow's tunnel, for messages."""
        return "tunnel" if placed.flow.tunnel is None else f"flows.{placed.group}.tunnel"

    def link_key(self, name: str) -> str:
        """Return the key of a link, for messages."""
        experiment = self.experiment
        if experiment.network is not None:
            if name in experiment.network.links:
                return f"network.links.{name}"
            return "network.access" if name in experiment.network.layout.access else "path"
        is_first = name == "path" or not (experiment.tunnel and experiment.tunnel.chain)
        return "path" if is_first else f"tunnel.chain.{int(name.removeprefix('hop')) - 2}"

    @cached_property
    def bottleneck(self) -> tuple[str, bool]:
        """The link that the path metrics measure, and whether the first flow's data cross it in
        reverse.
        """
        name = "path"
        if self.experiment.network is not None:
            name = bottleneck(self.experiment, self.topology)
        return name, Step(name, True) in self.steps(self.flows[0])

    def steps(self, placed: Placed) -> frozenset[Step]:
        """Return the directions of links that a flow's data cross."""
        return frozenset(step for hop in self.hops(placed) for step in hop.sent_by(placed.sender))

    @cached_property
    def segments(self) -> dict[Step, tuple[int, int]]:
        """The payload and IP bytes of a full packet of the first flow that sends across each link,
        without a tunnel.
        """
        found: dict[Step, tuple[int, int]] = {}
        for placed in (self.flows[0], *self.distinct_flows):
            view = self.view(placed)
            mss = derived.path_mss(view)
            packet = mss, mss + view.tcp.header_bytes
            if placed.flow.transport == "quic" and placed.tunnel is None:
                full = derived.quic_packet(view)
                packet = full.data, full.ip
            for step in self.steps(placed):
                found.setdefault(step, packet)
        return found

    def base_rtt(self, placed: Placed) -> float:
        """Return the base RTT (s) of a flow's own connection, or of its tunnel's first one."""
        if placed.flow.rtt is not None:
            return placed.flow.rtt
        if self.experiment.network is None:
            return self.experiment.path.rtt
        return self.view(placed).path.rtt

    def host(self, name: str) -> Hosts:
        """Return the host ``name``, with its overrides applied."""
        hosts, network = self.experiment.hosts, self.experiment.network
        if network is None:
            return hosts.of("client" if name == "client" else "server")
        return network.host(name, hosts)

    def is_on_first_machine(self, name: str) -> bool:
        """Whether a host shares the first one's machine. A relay of a chain never does."""
        is_relay = self.experiment.network is None and name not in ("client", "server")
        return self.experiment.hosts.one_machine and not is_relay

    def ends(self, tunnel: PlacedTunnel) -> list[str]:
        """Return the hosts that run the tunnel's programs, in order from the client."""
        hops = self.hops(tunnel.first)
        return [hops[0].client, *(hop.server for hop in hops)]

    def hops(self, placed: Placed) -> list[Route]:
        """Return the routes between neighbouring relays, or the route between a flow's hosts."""
        tunnel = None if placed.tunnel is None else self.tunnels[placed.tunnel]
        between = self._relays(tunnel.tunnel, placed) if tunnel else []
        if not between:
            return [self.route(placed)]
        hosts = [placed.client, *between, placed.server]
        return [self.topology.both_ways(*ends) for ends in pairwise(hosts)]

    def _relays(self, tunnel: Tunnel, placed: Placed) -> list[str]:
        """Return the hosts of the tunnel's inner relays."""
        if self.experiment.network is None:
            return [
                f"relay{number}" for number in range(1, len(tunnel.paths(self.experiment.path)))
            ]
        if not tunnel.relays:
            return [hop.host for hop in tunnel.chain if hop.host is not None]
        inner = self.inner_hosts(placed)
        parts = tunnel.relays + 1
        places = [round(part * (len(inner) + 1) / parts) for part in range(1, parts)]
        return [inner[place - 1] for place in places]

    def inner_hosts(self, placed: Placed) -> list[str]:
        """Return the hosts on a flow's route, without its ends."""
        route, links = self.route(placed), self.topology.links
        return [links[name].ends[not is_reverse] for name, is_reverse in route.to_server[:-1]]

    def cross_traffic(self, index: int) -> tuple[Route, str]:
        """Return the route of a source of cross traffic, and which end sends."""
        route = cross_route(self.experiment, self.topology, index)
        source = self.experiment.cross_traffic[index]
        return route, "client" if self.experiment.direction_of(source) == "up" else "server"

    def _as_path(self, route: Route) -> Path:
        """Return one path with the slowest link of a route and the length of the whole route."""
        there, back = (
            [self.topology.links[step.link].path for step in steps]
            for steps in (route.to_server, route.to_client)
        )
        rated = [link for link in there if link.rate is not None]
        slowest = min(rated, key=lambda link: link.rate or 0, default=self.experiment.path)
        changes = {
            "rtt": self.topology.delay(route.to_server + route.to_client),
            "mtu": min(link.mtu for link in there + back),
        }
        keys = {name: getattr(slowest, name) for name in Path.model_fields}
        return Path.model_construct(**{**keys, **changes})

    def route(self, placed: Placed) -> Route:
        """Return the routes between the flow's hosts."""
        flow = placed.flow
        return self.topology.both_ways(placed.client, placed.server, flow.route, flow.ack_route)


def _has_parts(experiment: ExperimentKeys) -> bool:
    """Whether flows differ in their hosts, tunnel or direction."""
    return experiment.network is not None or any(
        flow.tunnel is not None or flow.direction is not None for flow in experiment.flows
    )


_latest: Layout | None = None


def layout(experiment: ExperimentKeys) -> Layout:
    """Return the places of the experiment's flows and tunnels.

    The latest answer is kept: a run asks several times, and an experiment does not change. It is
    not kept in the experiment: copies with another seed would take it along, and so would all the
    experiments of a sweep.
    """
    global _latest
    found = _latest
    if found is None or found.experiment is not experiment:
        found = _latest = _lay_out(experiment)
    return found


def _lay_out(experiment: ExperimentKeys) -> Layout:
    network = _topology(experiment)
    sharers: dict[tuple[Any, ...], list[int]] = {}
    where: list[tuple[Flow, int, float, int | None, tuple[str, str]]] = []
    for group, flow, start, size in derived.single_flows(experiment):
        ends = network.ends(flow, len(where))
        name = _tunnel_name(experiment, flow)
        key = ("", len(where)) if name is None else (name, *ends, flow.route, flow.ack_route)
        sharers.setdefault(key, []).append(len(where))
        where.append((flow, group, start, size, ends))
    placed: dict[int, Placed] = {}
    tunnels: list[PlacedTunnel] = []
    for (name, *_), members in sharers.items():
        tunnel = experiment.tunnel_of(where[members[0]][0])
        owners = [where[index][0].user or f"flow {index}" for index in members]
        numbers = _carriers(tunnel, owners) if tunnel else members
        for index, carrier in zip(members, numbers, strict=True):
            flow, group, start, size, ends = where[index]
            direction = experiment.direction_of(flow)
            number = len(tunnels) if tunnel else None
            placed[index] = Placed(flow, group, start, size, *ends, direction, number, carrier)
        if tunnel:
            groups = Counter(where[index][1] for index in members)
            alike = tuple(
                experiment.flows[group].model_copy(update={"count": count})
                for group, count in groups.items()
            )
            tunnels.append(PlacedTunnel(name, tunnel, placed[members[0]], alike))
    flows = tuple(placed[index] for index in range(len(where)))
    found = Layout(experiment, network, flows, tuple(tunnels))
    below = tuple(_below(found))
    return replace(found, tunnels=found.tunnels + below) if below else found


def _below(found: Layout) -> Iterator[PlacedTunnel]:
    """Yield the tunnels that carry the connections of relays, one for each hop."""
    for relays in found.tunnels:
        below = relays.tunnel.below
        if below is not None:
            for hop in range(len(found.hops(relays.first))):
                name = f"{relays.name}.under{hop + 1 if hop else ''}"
                yield PlacedTunnel(name, below, relays.first, relays.flows, hop)


def uses_reverse(experiment: ExperimentKeys) -> bool:
    """Whether data of flows or cross traffic go against the experiment's direction."""
    sources = (*experiment.flows, *experiment.cross_traffic)
    return any(experiment.direction_of(source) != experiment.direction for source in sources)


def _topology(experiment: ExperimentKeys) -> Topology:
    """Return the network. Links have the same rate both ways unless they give another.

    Without a network this applies only if data cross the path in reverse.
    """
    found = _as_declared(experiment)
    if experiment.network is None and not uses_reverse(experiment):
        return found
    links = {name: PlacedLink(it.ends, it.path.symmetric()) for name, it in found.links.items()}
    return replace(found, links=links)


def _as_declared(experiment: ExperimentKeys) -> Topology:
    """Return the network. Relays that divide the path, or follow it, are hosts in a row."""
    paths = derived.paths(experiment)
    if experiment.network is not None or len(paths) == 1:
        return topology(experiment.network, experiment.path, experiment.direction)
    relays = [f"relay{number}" for number in range(1, len(paths))]
    row = ["client", *relays, "server"]
    pairs = pairwise(row)
    ends = pairs if experiment.direction == "up" else ((far, near) for near, far in pairs)
    names = ["path", *(f"hop{number}" for number in range(2, len(paths) + 1))]
    links = {
        name: PlacedLink(pair, path) for name, pair, path in zip(names, ends, paths, strict=True)
    }
    return Topology(("client", "server", *relays), links, (("client", "server"),))


def _tunnel_name(experiment: ExperimentKeys, flow: Flow) -> str | None:
    """Return the name of the flow's tunnel, or None."""
    if experiment.tunnel_of(flow) is None:
        return None
    return flow.tunnel or "tunnel"


def carriers(placed: Sequence[Placed]) -> list[int | None]:
    """Return the number of each single flow's carrier, from 0 without gaps; None: no tunnel."""
    keys = [None if flow.tunnel is None else (flow.tunnel, flow.carrier) for flow in placed]
    numbers = iter(_numbered([key for key in keys if key is not None]))
    return [None if key is None else next(numbers) for key in keys]


def _carriers(tunnel: Tunnel, owners: Sequence[str]) -> list[int]:
    """Return the carrier number of each flow in a tunnel, from 0 without gaps."""
    shared = tunnel.entry.sharing(tunnel.carriers)
    keys: Sequence[object] = range(len(owners))
    if shared == "user":
        keys = owners
    elif shared != "flow":
        most = 1 if shared == "all" else int(shared)
        keys = [index % most for index in range(len(owners))]
    return _numbered(keys)


def _numbered(keys: Sequence[object]) -> list[int]:
    """Return a number for each key, from 0 without gaps, in order of first appearance."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [numbers[key] for key in keys]
