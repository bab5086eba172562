# SPDX-License-Identifier: GPL-2.0-only
"""From the keys of an experiment to its network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from tunnelcc.config.ends import Ends
from tunnelcc.config.flow import Flow
from tunnelcc.config.hosts import Hosts
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.traffic import CrossTraffic, Ping
from tunnelcc.config.tunnel import Tunnel, Uplinks
from tunnelcc.errors import ConfigError
from tunnelcc.network.draws import single_flows, uniform
from tunnelcc.network.layers import Layer, Links, Underlay, other_end
from tunnelcc.network.multipath import Multipath, routes_of
from tunnelcc.network.resolved import UNDRAWN, ResolvedNetwork, ResolvedTunnel, numbered, tunnel_key
from tunnelcc.network.topology import Route, Topology, of_network, of_path
from tunnelcc.network.traffic import Contents, ResolvedFlow, Traffic
from tunnelcc.network.tunnels import Gateways, PacketTunnel, Relays, route_between

#: What goes through a tunnel in turn with others: the name of a tunnel and its route.
Place = tuple[Any, ...]


def resolve(experiment: ExperimentKeys) -> ResolvedNetwork:
    """Return the network of ``experiment``, whose keys must be valid."""
    members = [*_members(experiment)]
    stacks = _Stacks(experiment)
    topology = stacks.on.topology
    tunnel_of = {it.key: experiment.tunnel_named(it.tunnel) for it in members}
    routes: dict[tuple[Any, ...], Route] = {}
    together: dict[Place, list[int]] = {}
    route_of_member = []
    for index, member in enumerate(members):
        keys, tunnel = member.keys, tunnel_of[member.key]
        ends, back = topology.ends(keys, member.number), getattr(keys, "ack_route", None)
        if (way := (member.key, *ends)) not in routes:
            routes[way] = route_of_ends(topology, keys, ends)
        route_of_member.append(routes[way])
        place: Place = ("", index)
        if tunnel is not None and tunnel.between is not None:
            place = (member.tunnel or "tunnel", route_between(topology, tunnel, routes[way]))
        elif tunnel is not None:
            place = (member.tunnel or "tunnel", *ends, keys.route, back)
        together.setdefault(place, []).append(index)
    flows: dict[int, ResolvedFlow] = {}
    tunnels: list[ResolvedTunnel] = []
    known: dict[tuple[Any, ...], Traffic] = {}
    for place, numbers in together.items():
        tunnel = tunnel_of[members[numbers[0]].key]
        number = len(tunnels) if tunnel else None
        contents, carriers = Contents.of(members[index].keys for index in numbers), numbers
        if tunnel:
            users = (getattr(members[it].keys, "user", None) or f"flow {it}" for it in numbers)
            carriers = _carriers(tunnel, [*users])
            if (uplinks := tunnel.uplinks) is not None:
                carriers = [stacks.turn(uplinks, place, ("flow", it)) for it in numbers]
        for index, carrier in zip(numbers, carriers, strict=True):
            member, route = members[index], route_of_member[index]
            taken = carrier if tunnel and tunnel.uplinks else 0
            kind = member.key, route.ends, number, taken
            if kind not in known:
                known[kind] = stacks.traffic(
                    member, route, tunnel, tunnel_number=number, contents=contents, taken=taken
                )
            flows[index] = ResolvedFlow(known[kind], member.start, member.bytes, carrier)
        if number is not None:
            first = flows[numbers[0]].traffic
            assert first.tunnel is not None
            key = tunnel_key(experiment, first)
            enters = contents, first.ends, first.sender, first.number
            tunnels.append(ResolvedTunnel(place[0], key, first.tunnel, *enters, owner=number))
    _add_lower(tunnels)
    found = {kind: list[ResolvedFlow]() for kind in (Flow, CrossTraffic, Ping)}
    for index, member in enumerate(members):
        found[type(member.keys)].append(flows[index])
    everyone = map(tuple, found.values())
    all_tunnels = (*tunnels, *_below_relays(tunnels))
    return ResolvedNetwork(experiment, topology, stacks.on.hosts, all_tunnels, *everyone)


def with_draws_of(experiment: ExperimentKeys, network: ResolvedNetwork) -> ResolvedNetwork:
    """Return ``network`` with other draws: of an experiment that only has another seed."""
    drawn = _members(experiment)

    def again(flows: Sequence[ResolvedFlow]) -> tuple[ResolvedFlow, ...]:
        pairs = zip(flows, drawn, strict=False)  # the rest are drawn next
        return tuple(replace(it, start=member.start, bytes=member.bytes) for it, member in pairs)

    flows, cross_traffic, pings = map(again, (network.flows, network.cross_traffic, network.pings))
    changed = replace(
        network, experiment=experiment, flows=flows, cross_traffic=cross_traffic, pings=pings
    )
    known = vars(network)
    vars(changed).update((name, known[name]) for name in UNDRAWN if name in known)
    return changed


class _Member(NamedTuple):
    """A single flow, a source of cross traffic or a ping.

    ``key``: of its entry; ``tunnel``: the name of its tunnel; ``number``: its own among its like.
    """

    key: str
    keys: Flow | CrossTraffic | Ping
    tunnel: str | None
    number: int
    start: float
    bytes: int | None = None


def _members(experiment: ExperimentKeys) -> Iterator[_Member]:
    """Yield flows, then cross traffic, then pings."""
    singles, seed = enumerate(single_flows(experiment)), experiment.seed
    for key, keys, tunnel in experiment.entries():
        number, start = int(key.rpartition(".")[2]), keys.start
        if isinstance(keys, Flow):
            for place, single in islice(singles, keys.count):
                yield _Member(key, keys, tunnel, place, single.start, single.bytes)
            continue
        if isinstance(keys, Ping):
            start += experiment.start_jitter * uniform(seed, "ping", number)
        elif number > 0:
            # Else equal sources would send at the same moments, whatever the seed.
            interval = 8 * keys.packet / keys.rate
            start += uniform(seed, "cross traffic", number) * interval
        yield _Member(key, keys, tunnel, number, start)


class _Entrance(NamedTuple):
    """How data enter a tunnel: at the end ``sender``.

    ``place``: of the tunnel among what goes through a lower one; ``hears``: TCP hears what the
    tunnel tells its host; ``taken``: the number of the route.
    """

    sender: str
    place: Place
    hears: bool
    taken: int


class _Stacks:
    """Builds the layers around what is sent, from the links up."""

    def __init__(self, experiment: ExperimentKeys) -> None:
        topology = resolve_topology(experiment)
        hosts = {name: _host(experiment, topology, name) for name in topology.hosts}
        self.experiment = experiment
        self.on = Underlay(topology, hosts, experiment.hosts, experiment.tcp, experiment.path.ip)
        self._turns: dict[Place, dict[Place, int]] = {}

    def turn(self, uplinks: Uplinks, place: Place, who: Place) -> int:
        """Return the number of the route that ``who`` takes through the tunnel at ``place``.

        What goes through a tunnel takes turns in order of its first appearance.
        """
        known = self._turns.setdefault(place, {})
        return uplinks.taken_by(known.setdefault(who, len(known)))

    def traffic(self, member: _Member, route: Route, tunnel: Tunnel | None, **rest: Any) -> Traffic:
        """Return what equal members have in common. ``rest``: what else Traffic needs, and the
        number of the route that they take through their tunnel.
        """
        experiment, keys, taken = self.experiment, member.keys, rest.pop("taken")
        direction = experiment.direction_of(keys)
        if isinstance(keys, Ping):
            direction = keys.direction or "up"
        sender = "client" if direction == "up" else "server"
        links = Links(self.on, route, self.on.ip)
        below: Layer = links
        if (mptcp := getattr(keys, "mptcp", None)) is not None and tunnel is None:
            others = routes_of(self.on.topology, route.ends, mptcp)[1:]
            links = replace(links, others=tuple(others))
            below = Multipath(mptcp, links, answers=False)
        if tunnel is not None:
            hears = getattr(keys, "transport", "udp") != "udp"
            place = ("tunnel", rest["tunnel_number"])
            below = self._through(tunnel, links, _Entrance(sender, place, hears, taken))
        rtt = getattr(keys, "rtt", None)
        if rtt is None:
            is_plain = experiment.network is None
            rtt = experiment.path.rtt if is_plain else links.on.topology.delay(below.way)
        return Traffic(member.key, keys, links, below, sender, rtt, **rest)

    def _through(self, keys: Tunnel, links: Links, it: _Entrance, is_lower: bool = False) -> Layer:
        """Return the layers of a tunnel and those below it.

        ``links``: between the ends of what goes into it; ``is_lower``: that is another tunnel.
        """
        topology, route = self.on.topology, links.route
        crossed, lower = route_between(topology, keys, route), keys.below
        carries_packets = keys.entry.CARRIES_PACKETS
        is_turned = topology.is_turned(route, crossed.ends)
        near, far = crossed.ends[::-1] if is_turned else crossed.ends
        parts = {"client": (route.client, near), "server": (far, route.server)}
        access = {
            end: Links(self.on, topology.part(route, *ends), keys.ip or self.on.ip)
            for end, ends in parts.items()
            if ends[0] != ends[1]
        }
        enters = other_end(it.sender) if is_turned else it.sender
        hears = it.hears and not (carries_packets and it.sender in access)
        within = replace(links, route=crossed)
        tunnel = self._tunnel(keys, lower, within, it._replace(sender=enters, hears=hears))
        has_gateways = is_lower or keys.between or (carries_packets and lower)
        return Gateways(access, is_turned, tunnel) if has_gateways else tunnel

    def _tunnel(
        self, keys: Tunnel, lower: Tunnel | None, links: Links, it: _Entrance
    ) -> PacketTunnel | Relays:
        """Return a tunnel over ``links``, which are those between its gateways."""
        topology, route, below = self.on.topology, links.route, links
        if keys.multipath is not None:
            route, *others = routes_of(topology, route.ends, keys.multipath)
            links = replace(links, route=route, others=tuple(others))
            paths = Multipath(keys.multipath, links, keys.entry.answers(other_end(it.sender)))
            if not keys.entry.CARRIES_PACKETS:
                return Relays(keys, route, it.sender, paths)
            return PacketTunnel(keys, route, it.sender, paths, it.hears, it.taken)
        if not keys.entry.CARRIES_PACKETS:
            if lower is None:
                return Relays(keys, route, it.sender, links)
            return Relays(
                keys, route, it.sender, PacketTunnel(lower, route, it.sender, links, it.hears)
            )
        if lower is not None:
            under: Place = (*it.place, "under")
            if lower.title:
                under = (lower.title, route_between(topology, lower, route))
            turn = self.turn(lower.uplinks, under, it.place) if lower.uplinks else 0
            sealed = _Entrance(it.sender, under, hears=False, taken=turn)
            gateways = self._through(lower, links, sealed, is_lower=True)
            return PacketTunnel(keys, route, it.sender, gateways, it.hears, it.taken)
        if keys.uplinks is not None:
            others = [topology.both_ways(*route.ends, via) for via in keys.uplinks.routes]
            below = replace(links, others=tuple(others))
        return PacketTunnel(keys, route, it.sender, below, it.hears, it.taken)


def _add_lower(tunnels: list[ResolvedTunnel]) -> None:
    """Add the tunnels that packets of others go through. Two that name the same one share it."""
    for number, placed in enumerate(tunnels):  # as the list grows
        layer = placed.layer
        under = layer.lower if isinstance(layer, PacketTunnel) else None
        if under is None:
            continue
        name = under.keys.title or f"{placed.name}.under"
        may_share = bool(under.keys.title) and under.keys.entry.CARRIES_PACKETS
        place = name, under.route
        known = [(it.name, it.layer.route) for it in tunnels]
        if may_share and place in known:
            tunnels[number] = replace(placed, lower=known.index(place))
            continue
        tunnels[number] = replace(placed, lower=len(tunnels))
        enters = layer.route.ends, layer.sender, placed.group
        below = ResolvedTunnel(
            name, placed.key, under, placed.contents.sealed, *enters, len(tunnels)
        )
        tunnels.append(below)


def _below_relays(tunnels: Sequence[ResolvedTunnel]) -> Iterator[ResolvedTunnel]:
    """Yield the tunnels that carry the connections of relays, one for each hop."""
    for relays in tunnels:
        layer = relays.layer
        if not isinstance(layer, Relays) or layer.packet_layer is None:
            continue
        for hop in range(layer.hop_count):
            yield replace(
                relays,
                name=f"{relays.name}.under{hop + 1 if hop else ''}",
                key=f"{relays.key}.under",
                layer=layer.packet_layer,
                hop=hop,
                above=layer,
            )


def _host(experiment: ExperimentKeys, topology: Topology, name: str) -> Hosts:
    """Return the keys of the host ``name``. Relays of a chain are like the server."""
    if experiment.network is not None:
        return experiment.network.host(name, experiment.hosts)
    return experiment.hosts.of("client" if name == "client" else "server")


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
        return route_of_ends(topology, keys, topology.ends(keys, index))
    except ConfigError as error:
        raise error.below(key) from None


def route_of_ends(topology: Topology, keys: Ends, ends: tuple[str, str]) -> Route:
    """Return the route of what ``keys`` describe: with MPTCP the first one. Raises ConfigError."""
    if (mptcp := getattr(keys, "mptcp", None)) is not None:
        return routes_of(topology, ends, mptcp)[0]
    return topology.both_ways(*ends, keys.route, getattr(keys, "ack_route", None))


def _carriers(tunnel: Tunnel, owners: Sequence[str]) -> list[int]:
    """Return the carrier number of each flow in a tunnel, from 0 without gaps."""
    shared = tunnel.entry.sharing(tunnel.carriers)
    keys: Sequence[object] = range(len(owners))
    if shared == "user":
        keys = owners
    elif shared != "flow":
        most = 1 if shared == "all" else int(shared)
        keys = [index % most for index in range(len(owners))]
    return numbered(keys)
