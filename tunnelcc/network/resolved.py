# SPDX-License-Identifier: GPL-2.0-only
"""The network of an experiment, with everything that follows from its keys.

What a user wrote becomes hosts, links, routes, tunnels and single flows, once. The input of the
models, limits, tables and figures read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from tunnelcc.catalog.values import datagram_headers
from tunnelcc.config.ends import Ends
from tunnelcc.config.flow import Flow
from tunnelcc.config.hosts import Hosts
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.path import LinkDirection
from tunnelcc.config.shapes import Pair
from tunnelcc.config.tunnel import Tunnel, Uplinks
from tunnelcc.errors import ConfigError
from tunnelcc.network.connection import Connection
from tunnelcc.network.datagrams import Datagrams
from tunnelcc.network.draws import SingleFlow, single_flows, uniform
from tunnelcc.network.topology import Route, Step, Topology, of_network, of_path


@dataclass(frozen=True, eq=False)
class ResolvedFlow:
    """A single flow in the network.

    ``connection``: what equal flows have in common; ``start``: s, jitter included; ``bytes``: what
    it sends, None: until the end; ``carrier``: number of its connection, or route, among its
    tunnel's, or of the flow itself.
    """

    connection: Connection
    start: float
    bytes: int | None
    carrier: int

    @property
    def flow(self) -> Flow:
        """Its entry in ``flows``."""
        return self.connection.flow

    @property
    def group(self) -> int:
        """The number of its entry in ``flows``."""
        return self.connection.group

    @property
    def tunnel(self) -> int | None:
        """The number of its tunnel among those between two hosts; None: it has none."""
        return self.connection.tunnel_number

    @property
    def client(self) -> str:
        """The client's host."""
        return self.connection.ends[0]

    @property
    def server(self) -> str:
        """The server's host."""
        return self.connection.ends[1]

    @property
    def direction(self) -> str:
        """Up if the client sends, otherwise down."""
        return self.connection.direction

    @property
    def sender(self) -> str:
        """The end that sends the data: client or server."""
        return self.connection.sender


@dataclass(frozen=True, eq=False)
class ResolvedTunnel:
    """A tunnel between two hosts.

    ``connection``: what its packets meet; ``first``: the first flow in it, which defines its place;
    ``hop``: if set, the tunnel carries the relays' connections across this hop (from 0) instead of
    flows. ``lower``: number of the tunnel that its packets go through; of that one, ``first`` is
    those packets, if no flow is in it.
    """

    name: str
    tunnel: Tunnel
    connection: Connection
    first: ResolvedFlow
    hop: int | None = None
    lower: int | None = None

    @property
    def hosts(self) -> list[str]:
        """The hosts that run the tunnel's programs, in order from the client."""
        hops = self.first.connection.hops
        return [hops[0].client, *(hop.server for hop in hops)]


@dataclass(frozen=True, eq=False)
class ResolvedNetwork:
    """The hosts, links, flows and tunnels of an experiment. ``hosts``: name → keys."""

    experiment: ExperimentKeys
    topology: Topology
    hosts: dict[str, Hosts]
    flows: tuple[ResolvedFlow, ...]
    tunnels: tuple[ResolvedTunnel, ...]
    cross_traffic: tuple[ResolvedFlow, ...] = ()
    pings: tuple[ResolvedFlow, ...] = ()

    @property
    def everyone(self) -> tuple[ResolvedFlow, ...]:
        """Flows, cross traffic and pings, in the order of the models."""
        return (*self.flows, *self.cross_traffic, *self.pings)

    @property
    def first(self) -> Connection:
        """What the first flow meets. Numbers of a whole run that depend on a flow are of it."""
        return self.flows[0].connection

    @cached_property
    def connections(self) -> list[Connection]:
        """What the flows meet, each once."""
        return [*dict.fromkeys(it.connection for it in self.flows)]

    @cached_property
    def all_connections(self) -> list[Connection]:
        """What flows, cross traffic and pings meet, each once."""
        return [*dict.fromkeys(it.connection for it in self.everyone)]

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

    @cached_property
    def bottlenecks(self) -> list[Step]:
        """The bottleneck, and where the other routes of a tunnel with several are narrowest.

        These are the routes that data can take instead of the one with the bottleneck.
        """
        found = [self.bottleneck]
        for placed in self.tunnels:
            routes = placed.connection.uplinks
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

    def under(self, relays: ResolvedTunnel, hop: int) -> int | None:
        """Return the number of the tunnel below ``relays`` on a hop, or None."""
        return self._below_relays.get((id(relays.first), hop))

    @cached_property
    def _below_relays(self) -> dict[tuple[int, int], int]:
        """First flow of relays, and hop → the number of the tunnel below."""
        return {
            (id(it.first), it.hop): number
            for number, it in enumerate(self.tunnels)
            if it.hop is not None
        }

    def layers(self, flow: Connection) -> list[tuple[ResolvedTunnel, Connection]]:
        """Return the tunnels around a flow, from the inside, and what its packets meet in each.

        Relays go through equal tunnels on all hops: the first one stands for them.
        """
        found: list[tuple[ResolvedTunnel, Connection]] = []
        number, crossing = flow.tunnel_number, flow.in_tunnel
        while number is not None:
            placed = self.tunnels[number]
            found.append((placed, crossing))
            number = placed.lower
            if crossing.under is not None:
                crossing = crossing.under.in_tunnel
            elif placed.hop is None:
                number = self.under(placed, 0)
        return found

    def tunnel_key(self, flow: Connection) -> str:
        """Return the key of a flow's tunnel, for messages."""
        name = flow.flow.tunnel
        if name in self.experiment.tunnels:
            return f"tunnels.{name}"
        return "tunnel" if name is None else f"{flow.key}.tunnel"

    @cached_property
    def segments(self) -> dict[Step, tuple[int, int]]:
        """The payload and IP bytes of a full packet of the first flow that sends across each link,
        without a tunnel.
        """
        found: dict[Step, tuple[int, int]] = {}
        for connection in self.connections:
            for step in connection.loads:
                found.setdefault(step, connection.full_packet)
        return found

    @cached_property
    def carriers(self) -> list[int | None]:
        """The number of each flow's carrier, from 0 without gaps; None: no tunnel."""
        keys = [None if it.tunnel is None else (it.tunnel, it.carrier) for it in self.flows]
        numbers = iter(_numbered([key for key in keys if key is not None]))
        return [None if key is None else next(numbers) for key in keys]

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The derived numbers that a result records, in SI units.

        Windows and buffers of sockets are those of the first flow. None stands for what there is
        not: the bytes of a buffer that counts packets, or of a link without a rate.
        """
        experiment, first = self.experiment, self.first
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
            "send_buffer_bytes": first.sending.send_buffer,
            "header_bytes": experiment.tcp.header_bytes(experiment.path.ip),
            "flow_count": len(self.flows),
            "start_s": [flow.start for flow in self.flows],
        }


def resolve(experiment: ExperimentKeys) -> ResolvedNetwork:
    """Return the network of ``experiment``, whose keys must be valid."""
    topology, members = resolve_topology(experiment), [*_members(experiment)]
    tunnel_of = {it.key: experiment.tunnel_of(it.single.flow) for it in members}
    hosts = {name: _host(experiment, topology, name) for name in topology.hosts}
    sharers: dict[tuple[Any, ...], list[int]] = {}
    ends: list[Pair] = []
    for index, member in enumerate(members):
        flow, tunnel = member.single.flow, tunnel_of[member.key]
        ends.append(topology.ends(flow, member.number))
        key: tuple[Any, ...] = ("", index)
        if tunnel is not None and tunnel.between is not None:
            whole = topology.both_ways(*ends[index], flow.route, flow.ack_route)
            key = (flow.tunnel or "tunnel", route_between(topology, tunnel, whole))
        elif tunnel is not None:
            key = (flow.tunnel or "tunnel", *ends[index], flow.route, flow.ack_route)
        sharers.setdefault(key, []).append(index)
    flows: dict[int, ResolvedFlow] = {}
    tunnels: list[ResolvedTunnel] = []
    known: dict[tuple[Any, ...], Connection] = {}
    turns = _Turns()
    for place, numbers in sharers.items():
        tunnel = tunnel_of[members[numbers[0]].key]
        number = len(tunnels) if tunnel else None
        together: tuple[Flow, ...] = (members[numbers[0]].single.flow,)
        carriers = numbers
        if tunnel:
            together = _alike([members[index] for index in numbers])
            owners = [members[index].single.flow.user or f"flow {index}" for index in numbers]
            carriers = _carriers(tunnel, owners)
            if tunnel.uplinks is not None:
                carriers = [turns.take(tunnel.uplinks, place, ("flow", it)) for it in numbers]
        for index, carrier in zip(numbers, carriers, strict=True):
            member, uplink = members[index], carrier if tunnel and tunnel.uplinks else 0
            kind = member.key, *ends[index], number, uplink
            if kind not in known:
                known[kind] = _connection(
                    experiment, topology, hosts, member, ends[index], turns,
                    tunnel=tunnel, tunnel_number=number, sharers=together, uplink=uplink,
                )  # fmt: skip
            single = member.single
            flows[index] = ResolvedFlow(known[kind], single.start, single.bytes, carrier)
        if tunnel:
            first = flows[numbers[0]]
            tunnels.append(ResolvedTunnel(place[0], tunnel, first.connection.in_tunnel, first))
    found: dict[str, list[ResolvedFlow]] = {"flow": [], "cross_traffic": [], "ping": []}
    for index, member in enumerate(members):
        found[member.role].append(flows[index])
    _add_lower(tunnels)
    return ResolvedNetwork(
        experiment,
        topology,
        hosts,
        tuple(found["flow"]),
        (*tunnels, *_below(tunnels)),
        tuple(found["cross_traffic"]),
        tuple(found["ping"]),
    )


class _Member(NamedTuple):
    """A single flow, a source of cross traffic or a ping. ``number``: its place among its like."""

    single: SingleFlow
    role: str
    number: int
    datagrams: Datagrams | None = None

    @property
    def key(self) -> tuple[str, int]:
        """What equal members share."""
        return self.role, self.single.group if self.role == "flow" else self.number


def _members(experiment: ExperimentKeys) -> Iterator[_Member]:
    """Yield flows, then cross traffic, then pings."""
    for number, single in enumerate(single_flows(experiment)):
        yield _Member(single, "flow", number)
    header, seed = datagram_headers(experiment.path.ip), experiment.seed
    for number, source in enumerate(experiment.cross_traffic):
        start, interval = source.start, 8 * source.packet / source.rate
        if number > 0:
            # Else equal sources would send at the same moments, whatever the seed.
            start += uniform(seed, "cross traffic", number) * interval
        sent = Datagrams(interval, source.packet - header, talk=source.on, pause=source.off)
        keys = _ends_of(source) | {"tunnel": source.tunnel or "none", "rate": source.rate}
        flow = Flow.model_construct(transport="udp", start=start, stop=source.stop, **keys)
        yield _Member(SingleFlow(number, flow, start, None), "cross_traffic", number, sent)
    for number, ping in enumerate(experiment.pings):
        start = ping.start + experiment.start_jitter * uniform(seed, "ping", number)
        sent = Datagrams(ping.interval, ping.size, answer=ping.size)
        keys = _ends_of(ping) | {"tunnel": ping.tunnel, "direction": ping.direction or "up"}
        flow = Flow.model_construct(transport="udp", start=start, stop=ping.stop, **keys)
        yield _Member(SingleFlow(number, flow, start, None), "ping", number, sent)


def _ends_of(keys: Ends) -> dict[str, Any]:
    return {name: getattr(keys, name) for name in Ends.model_fields}


def _connection(
    experiment: ExperimentKeys,
    topology: Topology,
    hosts: dict[str, Hosts],
    member: _Member,
    ends: Pair,
    turns: _Turns,
    **rest: Any,
) -> Connection:
    flow, (client, server) = member.single.flow, ends
    route = topology.both_ways(client, server, flow.route, flow.ack_route)
    both = route.to_server + route.to_client
    rtt = topology.delay(both) if experiment.network is not None else experiment.path.rtt
    connection = Connection(
        flow=flow,
        group=member.single.group,
        ends=ends,
        client=hosts[client],
        server=hosts[server],
        hosts=experiment.hosts,
        tcp=experiment.tcp,
        direction=experiment.direction_of(flow),
        topology=topology,
        route=route,
        mtu=min(topology.links[step.link].path.host_mtu for step in both),
        path_ip=experiment.path.ip,
        rtt=rtt if flow.rtt is None else flow.rtt,
        datagrams=member.datagrams,
        role=member.role,
        number=member.number,
        **rest,
    )
    tunnel = connection.tunnel
    is_nested = tunnel is not None and tunnel.entry.CARRIES_PACKETS and tunnel.below is not None
    if tunnel is None or not (tunnel.between or is_nested):
        return connection
    return _through(connection, tunnel, ("tunnel", connection.tunnel_number), hosts, turns)


def route_between(topology: Topology, tunnel: Tunnel, route: Route, whose: str = "") -> Route:
    """Return the links between a tunnel's gateways, which are hosts on ``route``, or all links.

    The client of a packet tunnel is the gateway that is named first, that of relays the one nearer
    to the flow's client. ``whose``: as in Topology.part(). Raises ConfigError with the key between.
    """
    if tunnel.between is None:
        return route
    is_turned = topology.is_turned(route, tunnel.between)
    try:
        ends = tunnel.between[::-1] if is_turned else tunnel.between
        part = topology.part(route, *ends, whose)
    except ConfigError as error:
        raise error.below("between") from None
    return part.turned if is_turned and tunnel.entry.CARRIES_PACKETS else part


class _Turns:
    """What goes through tunnels with several routes: flows, and other tunnels.

    A place is the name of a tunnel and its route. What goes through it takes turns in order of its
    first appearance.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], dict[tuple[Any, ...], int]] = {}

    def take(self, uplinks: Uplinks, place: tuple[Any, ...], who: tuple[Any, ...]) -> int:
        """Return the number of the route that ``who`` takes through the tunnel at ``place``."""
        known = self._known.setdefault(place, {})
        return uplinks.taken_by(known.setdefault(who, len(known)))


def _through(
    whole: Connection,
    tunnel: Tunnel,
    place: tuple[Any, ...],
    hosts: dict[str, Hosts],
    turns: _Turns,
) -> Connection:
    """Return the connection of a flow with its parts: to gateways, between them, and behind.

    Also those of the tunnel's packets, if they go through another one. ``place``: of the tunnel
    among those that go through the other one.
    """
    topology, route = whole.topology, whole.route
    crossed = route_between(topology, tunnel, route)

    def over(part: Route, **changes: Any) -> Connection:
        both = part.to_server + part.to_client
        return replace(
            whole,
            ends=(part.client, part.server),
            client=hosts[part.client],
            server=hosts[part.server],
            route=part,
            mtu=min(topology.links[step.link].path.host_mtu for step in both),
            rtt=topology.delay(both),
            **changes,
        )

    is_turned = topology.is_turned(route, crossed.ends)
    near, far = crossed.ends[::-1] if is_turned else crossed.ends
    direction = {"up": "down", "down": "up"}[whole.direction] if is_turned else whole.direction
    ip = tunnel.ip or whole.path_ip
    parts = {"client": (route.client, near), "server": (far, route.server)}
    access = {
        end: over(topology.part(route, *ends), tunnel=None, tunnel_number=None, path_ip=ip)
        for end, ends in parts.items()
        if ends[0] != ends[1]
    }
    is_behind = whole.sender in access
    between = over(crossed, direction=direction, is_behind=is_behind)
    for uplink in between.uplinks:
        mtus = [topology.links[step.link].path.host_mtu for step in uplink.steps]
        between = replace(between, mtu=min(between.mtu, *mtus))
    below = tunnel.below if tunnel.entry.CARRIES_PACKETS else None
    if below is not None:
        # To the other tunnel, they are datagrams that cannot be compressed.
        keys = {"payload": "random", "transport": "udp", "count": 1}
        packets = between.stream.model_copy(update=keys)
        crossed_below = route_between(topology, below, crossed)
        place_below = (below.title, crossed_below) if below.title else (*place, "under")
        flow = replace(
            between,
            flow=packets,
            tunnel=below,
            tunnel_number=None,
            sharers=(packets,),
            between=None,
            is_behind=False,
            uplink=turns.take(below.uplinks, place_below, place) if below.uplinks else 0,
        )
        under = _through(flow, below, place_below, hosts, turns)
        between = replace(between, mtu=under.inner_mtu, rtt=under.rtt, under=under)
    elif between.uplinks:
        used = [route for route, share in between.shared_routes if share > 0]
        between = replace(between, rtt=min(topology.delay(route.steps) for route in used))
    else:
        return replace(whole, between=between, access=access, is_behind=is_behind)
    rtt = round(sum(it.rtt for it in (between, *access.values())), 9)
    return replace(whole, between=between, access=access, is_behind=is_behind, rtt=rtt)


def _add_lower(tunnels: list[ResolvedTunnel]) -> None:
    """Add the tunnels that packets of others go through. Two that name the same one share it."""
    for number, placed in enumerate(tunnels):  # as the list grows
        under = placed.connection.under
        if under is None:
            continue
        assert under.tunnel is not None
        name = under.tunnel.title or f"{placed.name}.under"
        may_share = bool(under.tunnel.title) and under.tunnel.entry.CARRIES_PACKETS
        place = name, under.in_tunnel.route
        known = [(it.name, it.connection.route) for it in tunnels]
        if may_share and place in known:
            tunnels[number] = replace(placed, lower=known.index(place))
            continue
        tunnels[number] = replace(placed, lower=len(tunnels))
        first = ResolvedFlow(under, 0.0, None, 0)
        tunnels.append(ResolvedTunnel(name, under.tunnel, under.in_tunnel, first))


def _host(experiment: ExperimentKeys, topology: Topology, name: str) -> Hosts:
    """Return the keys of the host ``name``. Relays of a chain are like the server."""
    if experiment.network is not None:
        return experiment.network.host(name, experiment.hosts)
    return experiment.hosts.of("client" if name == "client" else "server")


def _alike(members: Sequence[_Member]) -> tuple[Flow, ...]:
    """Return the flows of a tunnel. Equal ones are one item with a count."""
    counts = Counter(member.key for member in members)
    firsts = {member.key: member.single.flow for member in reversed(members)}
    return tuple(firsts[key].model_copy(update={"count": count}) for key, count in counts.items())


def _below(tunnels: Sequence[ResolvedTunnel]) -> Iterator[ResolvedTunnel]:
    """Yield the tunnels that carry the connections of relays, one for each hop."""
    for relays in tunnels:
        below = None if relays.tunnel.entry.CARRIES_PACKETS else relays.tunnel.below
        if below is not None:
            connection = replace(relays.connection, tunnel=below)
            for hop in range(relays.connection.hop_count):
                name = f"{relays.name}.under{hop + 1 if hop else ''}"
                yield ResolvedTunnel(name, below, connection, relays.first, hop)


def resolve_topology(experiment: ExperimentKeys) -> Topology:
    """Return the hosts and links of ``experiment``. Raises ConfigError.

    Links of a network have the same rate both ways unless they give another. Those of a path have
    it only if data cross it in reverse.
    """
    path, network, tunnel = experiment.path, experiment.network, experiment.tunnel
    if network is not None:
        found = of_network(network, path, experiment.direction)
    else:
        found = of_path(tunnel.paths(path) if tunnel else (path,), experiment.direction)
    if network is None and not uses_reverse(experiment):
        return found
    links = {name: replace(it, path=it.path.symmetric()) for name, it in found.links.items()}
    return replace(found, links=links)


def uses_reverse(experiment: ExperimentKeys) -> bool:
    """Whether data of flows or cross traffic go against the experiment's direction."""
    sources = (*experiment.flows, *experiment.cross_traffic)
    return any(experiment.direction_of(source) != experiment.direction for source in sources)


def route_of(topology: Topology, keys: Ends, index: int, key: str) -> Route:
    """Return the route of flow or source ``index``, whose table is ``key``. Raises ConfigError."""
    try:
        ends = topology.ends(keys, index)
        return topology.both_ways(*ends, keys.route, getattr(keys, "ack_route", None))
    except ConfigError as error:
        raise error.below(key) from None


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
