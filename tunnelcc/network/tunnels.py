# SPDX-License-Identifier: GPL-2.0-only
"""The layers of tunnels: those that carry packets, relays, and the way to their gateways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tunnelcc.catalog.values import IpVersions, Use
from tunnelcc.config.tunnel import Tunnel
from tunnelcc.errors import ConfigError
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.layers import Layer, Links, added, other_end
from tunnelcc.network.multipath import Multipath
from tunnelcc.network.topology import Route, Step, Topology
from tunnelcc.network.transport import Transport

if TYPE_CHECKING:
    from tunnelcc.catalog.datagram import Socket
    from tunnelcc.catalog.layers import Surroundings
    from tunnelcc.catalog.packets import PacketEntry


#: What a route without a limited link counts as, bit/s.
_MOST = 400e9


@dataclass(frozen=True, eq=False)
class Gateways(Layer):
    """The way of packets between their ends' hosts and the gateways of the tunnel ``below``.

    ``access``: end → links to the gateway on its side. An end whose host runs the tunnel has none.
    ``is_turned``: the client is behind the server of the tunnel.
    """

    access: dict[str, Links]
    is_turned: bool
    below: PacketTunnel | Relays

    @property
    def mtu(self) -> int:
        return min((self.below.mtu, *(it.mtu for it in self.access.values())))

    @property
    def mss(self) -> int:
        """The payload (bytes) of full segments: relays end the connections to the gateways."""
        if not self.below.packet_layer:
            return self.below.mss
        return min((self.below.mss, *(it.mss for it in self.access.values())))

    @property
    def way(self) -> Sequence[Step]:
        return [*self.below.way, *(step for it in self.access.values() for step in it.way)]

    def loads_of(self, end: str) -> dict[Step, float]:
        before, after = (
            self.access[it].loads_of(end) if it in self.access else {}
            for it in (end, other_end(end))
        )
        return added(before, self.below.loads_of(other_end(end) if self.is_turned else end), after)


@dataclass(frozen=True, eq=False)
class _Tunnel(Layer):
    """A tunnel. ``route``: between its ends; ``sender``: the end at which data enter it."""

    keys: Tunnel
    route: Route
    sender: str
    below: Layer

    @property
    def outside(self) -> Layer:
        """What the tunnel sends its packets, or datagrams of its carriers, to."""
        return self.below

    @property
    def paths(self) -> Multipath | None:
        """The paths of each of its carriers, if they have several."""
        return self.below if isinstance(self.below, Multipath) else None

    @cached_property
    def use(self) -> Use:
        """What sizes of the tunnel's packets depend on."""
        keys = self.keys
        return Use(self.outside.mtu, keys.mode, keys.mtu, keys.mss, self.versions)

    @cached_property
    def mtu(self) -> int:
        return self.keys.entry.mtu(self.use)

    @cached_property
    def transport(self) -> Transport:
        """The connection of the tunnel's ends: a carrier, if it has any."""
        return Transport(self, self.route, self.sender)


@dataclass(frozen=True, eq=False)
class PacketTunnel(_Tunnel):
    """A tunnel that carries packets.

    ``hears``: TCP at its senders hears what the tunnel tells its own host; ``taken``: number of its
    route, if flows take them in turn.
    """

    hears: bool
    taken: int = 0

    @property
    def packet_layer(self) -> PacketTunnel:
        return self

    @cached_property
    def versions(self) -> IpVersions:
        ip = self.links.on.ip
        return IpVersions(self.keys.ip or ip, ip)

    @cached_property
    def mss(self) -> int:
        tcp, most = self.links.on.tcp, self.keys.entry.clamped_mss(self.use)
        assert most is not None
        return min(tcp.mss, most - tcp.option_bytes)

    @cached_property
    def told_mss(self) -> int | None:
        """The most payload (bytes) of which the tunnel tells TCP on its host, if that hears it."""
        told = self.keys.entry.told_mss(self.use) if self.hears else None
        return None if told is None else told - self.links.on.tcp.option_bytes

    @property
    def hops(self) -> list[Route]:
        return [self.route]

    @property
    def way(self) -> Sequence[Step]:
        """The links of the fastest route that data take without a fail-over."""
        if not self.keys.uplinks:
            return self.below.way
        return min((it.steps for it in self._used), key=self.links.on.topology.delay)

    def across(self, size: int, payload: str) -> list[int]:
        """Return the packets that the tunnel sends. Nothing below can compress them."""
        sent = self.keys.entry.across_path(size, payload, self.use)
        return [it for packet in sent for it in self.below.across(packet, "random")]

    def loads_of(self, end: str) -> dict[Step, float]:
        below, uplinks = self.below, self.keys.uplinks
        if uplinks is None or not isinstance(below, Links):
            return below.loads_of(end)
        if uplinks.use == "fail-over":
            shares = [(it, float(turn == 0)) for turn, it in enumerate(self.uplinks)]
        elif uplinks.use == "flows":
            shares = [(it, 1.0) for it in self._used]
        elif uplinks.use in ("weights", "measured"):
            weights = self.uplinks_shares[end]
            shares = [*zip(self.uplinks, weights, strict=True)]
        else:
            count, size = len(self.uplinks), self.segment
            size += self.links.on.tcp.header_bytes(self.versions.inner)
            sizes = count * self.across(size, "random")  # then the turns begin anew
            shares = [(it, sum(sizes[i::count]) / sum(sizes)) for i, it in enumerate(self.uplinks)]
        return below.loads_on(shares, end)

    @cached_property
    def weights(self) -> dict[str, tuple[float, ...]]:
        """The weights of its routes for what each end sends: those that are given, or rates.

        Of measured rates: the most (bit/s).
        """
        uplinks, topology = self.keys.uplinks, self.links.on.topology
        assert uplinks is not None
        if (given := uplinks.weights or uplinks.rates) is not None:
            return dict.fromkeys(("client", "server"), given)
        return {
            end: tuple(min(topology.least_rate(it.sent_by(end)), _MOST) for it in self.uplinks)
            for end in ("client", "server")
        }

    @cached_property
    def uplinks_shares(self) -> dict[str, list[float]]:
        """Which share of the packets of each end its routes have, if they have weights."""
        uplinks = self.keys.uplinks
        assert uplinks is not None
        return {end: uplinks.shares(it, self.keys.entry) for end, it in self.weights.items()}

    @property
    def uplinks(self) -> tuple[Route, ...]:
        """All its routes, if it has several."""
        below, has_several = self.below, self.keys.uplinks is not None
        return (self.route, *below.others) if has_several and isinstance(below, Links) else ()

    @property
    def _used(self) -> tuple[Route, ...]:
        """Those that data take without a fail-over."""
        uplinks = self.keys.uplinks
        if uplinks is None or uplinks.takes_turns:
            return self.uplinks
        return (self.uplinks[self.taken],)

    @property
    def lower(self) -> PacketTunnel | Relays | None:
        """The tunnel that its packets go through, if any."""
        return self.below.below if isinstance(self.below, Gateways) else None

    def surroundings(self, payload: str) -> Surroundings:
        """Return what the tunnel's layers need to know. ``payload``: what the packets carry."""
        from tunnelcc.catalog.layers import Surroundings  # with all layers

        return Surroundings(self.mtu, self.below.mtu, payload, self.versions)

    def cost(self, payload: str, *, encapsulates: bool) -> costs.Cost:
        """Return the CPU cost of a packet where it enters the tunnel, or where it leaves.

        The cost is in ns per packet and per inner IP byte. Compression has the ratio of full
        packets.
        """
        if (case := (payload, encapsulates)) not in self._costs:
            self._costs[case] = self._cost(payload, encapsulates)
        return self._costs[case]

    @cached_property
    def _costs(self) -> dict[tuple[str, bool], costs.Cost]:
        """Those that are known: what limited a flow asks for them again and again."""
        return {}

    def _cost(self, payload: str, encapsulates: bool) -> costs.Cost:
        from tunnelcc.catalog.layers import compression

        entry: PacketEntry = self.keys.entry  # type: ignore[assignment]
        mode, tcp = self.keys.mode, self.links.on.tcp
        full = self.segment + tcp.header_bytes(self.versions.inner)
        profile = costs.load(self.links.on.shared.profile or costs.REFERENCE)
        around = self.surroundings(payload)
        cost = costs.of(
            profile,
            entry.operations(mode, encapsulates),
            *compression(entry.layers(mode), full, around, not encapsulates),
        )
        fec = entry.fec(mode, self.keys.fec)
        if fec is None or not encapsulates:
            return cost  # parity is handled as other datagrams where it arrives
        parity = costs.of(profile, entry.cpu.encapsulate[-1:])
        return costs.Cost(*(a + fec.redundancy * b for a, b in zip(cost, parity, strict=True)))

    @property
    def socket_queue(self) -> int:
        """The packets that wait, at most, in the buffer of a datagram tunnel's socket."""
        socket: Socket = self.keys.entry.socket  # type: ignore[attr-defined]
        kernel = kernels()[self.transport.receiving.kernel]
        asked = self.keys.receive_buffer or socket.asks
        return socket.room(None if asked is None else kernel.asked_buffer(asked))


@dataclass(frozen=True, eq=False)
class Relays(_Tunnel):
    """Relays, which end the connections of applications, and send on carriers.

    ``below``: the links between the first and the last one, the paths of each carrier, or the
    tunnel that it goes through.
    """

    @property
    def outside(self) -> Layer:
        """The links: what enters is not sent in packets of its own."""
        return self.links

    @property
    def mss(self) -> int:
        if isinstance(self.below, Links):
            self.keys.entry.clamped_mss(self.use)  # raises ConfigError for larger datagrams
        return self.below.mss

    @property
    def hop_count(self) -> int:
        """The number of carriers in a row: one more than relays between the ends."""
        return 1 + (self.keys.relays or len(self.keys.chain))

    @cached_property
    def hops(self) -> list[Route]:
        topology, keys, parts = self.links.on.topology, self.keys, self.hop_count
        if parts == 1:
            return [self.route]
        if topology.relays:
            between = [*topology.relays]
        elif keys.relays:
            inner = self.inner_hosts
            places = [round(part * (len(inner) + 1) / parts) for part in range(1, parts)]
            between = [inner[place - 1] for place in places]
        else:
            between = [hop.host for hop in keys.chain if hop.host is not None]
        client, server = self.route.ends
        return [topology.both_ways(*it) for it in pairwise((client, *between, server))]

    @property
    def inner_hosts(self) -> list[str]:
        """The hosts on the route, without its ends."""
        topology = self.links.on.topology
        return topology.hosts_of(self.route.client, self.route.to_server)[1:-1]

    def loads_of(self, end: str) -> dict[Step, float]:
        if self.paths is not None:
            return self.paths.loads_of(end)
        return added(*({step: 1.0} for hop in self.hops for step in hop.sent_by(end)))


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
