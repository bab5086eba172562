# SPDX-License-Identifier: GPL-2.0-only
"""The measurements of a run by parts: flows, connections, links, hosts, tunnels, cross traffic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tunnelcc import core, metrics
from tunnelcc.analysis import causes
from tunnelcc.analysis.counters import connection_of, path_leg
from tunnelcc.analysis.values import Cause
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.network.topology import Step
from tunnelcc.results import provenance
from tunnelcc.results.measured import (
    ConnectionPart,
    CrossTrafficPart,
    FlowPart,
    HostPart,
    LinkPart,
    Part,
    PingPart,
    TunnelPart,
)
from tunnelcc.scenario import Experiment

_Part = TypeVar("_Part", bound=Part)


class LinkWays(NamedTuple):
    """Both directions of a link."""

    forward: LinkPart
    reverse: LinkPart


class TunnelWays(NamedTuple):
    """Both directions of a tunnel that carries packets."""

    forward: TunnelPart
    reverse: TunnelPart


class Parts:
    """The measurements of a run, as arrays and by parts."""

    def __init__(self, experiment: Experiment, measured: Mapping[str, Any]) -> None:
        """``measured``: name → array of the compiled module, of legs by connection."""
        self.experiment = experiment
        self.measured = measured
        self._arrays: dict[str, Any] = {}

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What made the run: versions of package and models, kernel profile, entries, seed.

        A store's run has those of its time; None for what nobody wrote down then.
        """
        return provenance.of(self.experiment.resolved)

    @property
    def entries(self) -> dict[str, str]:
        """Tunnel → version of its entry in the catalogue. A store's run has that of its time."""
        entries: dict[str, str] = self.provenance["entries"]
        return entries

    def __getitem__(self, name: str) -> Any:
        """Return a variable as an array, as ``Result.dataset`` has it. Raises KeyError."""
        try:
            return self._arrays[name]
        except KeyError:
            found = self._arrays[name] = self._array(name)
            return found

    def _array(self, name: str) -> Any:
        values = self.measured[name]
        kind = core.measurements()[name].dimensions[:1]
        if kind == ("leg",):
            return self.by_leg(values)
        if kind == ("host",):
            order = [*self.network.topology.hosts]
            return values[[order.index(host) for host in self.host_names]]
        return values

    def by_leg(self, values: Any) -> Any:
        """Return what is of each connection for each flow and leg ("" or NaN: there is none)."""
        legs, nothing = self._places_of_legs
        found = np.asarray(values)[legs]
        found[nothing] = "" if found.dtype.kind == "U" else np.nan
        return found

    def keep(self, name: str, array: Any) -> None:
        """Let an array be what ``self[name]`` returns."""
        self._arrays[name] = array

    @cached_property
    def _places_of_legs(self) -> tuple[Any, Any]:
        """Return the connection of each flow and leg, and where there is none; (flow, leg)."""
        of_flows, names = self.measured["leg_name"], self.leg_names
        places = np.full((len(self.measured["flow_legs"]), len(names)), -1)
        for flow, numbers in enumerate(self.measured["flow_legs"]):
            for number in numbers:
                places[flow, names.index(of_flows[number])] = number
        return places, places < 0

    @cached_property
    def duration(self) -> float:
        """When the run ended, s: before the experiment's duration if ``until`` ended it."""
        if self.experiment.until is None:
            return self.experiment.duration
        # A sample ended it if another one would have followed.
        last, interval = float(self.measured["time"][-1]), self.experiment.probe_interval
        is_last = round((self.experiment.duration - last) / interval, 6) < 1
        return self.experiment.duration if is_last else round(last, 9)

    @property
    def measured_time(self) -> float:
        """Seconds from the end of the warm-up to the end of the run."""
        return self.duration - self.experiment.warmup

    @property
    def network(self) -> ResolvedNetwork:
        """The resolved network: hosts, links, routes, flows and tunnels."""
        return self.experiment.resolved

    @cached_property
    def derived(self) -> dict[str, Any]:
        """Numbers that follow from the keys: windows of the first flow, the bottleneck's buffer."""
        return self.network.numbers

    def _parts(self, kind: type[_Part], count: int) -> list[_Part]:
        return [kind(self.__getitem__, place) for place in range(count)]

    def _ways(self, kind: type[_Part], place: int) -> tuple[_Part, _Part]:
        return kind(self.__getitem__, (place, 0)), kind(self.__getitem__, (place, 1))

    @cached_property
    def flows(self) -> list[FlowPart]:
        """The measurements of each flow."""
        return self._parts(FlowPart, len(self.network.flows))

    @cached_property
    def cross_traffic(self) -> list[CrossTrafficPart]:
        """The measurements of each source of cross traffic."""
        return self._parts(CrossTrafficPart, len(self.experiment.cross_traffic))

    @cached_property
    def pings(self) -> list[PingPart]:
        """The measurements of each entry of ``pings``."""
        return self._parts(PingPart, len(self.experiment.pings))

    @cached_property
    def host_names(self) -> list[str]:
        """The names of the hosts: those of the first flow, then the others."""
        first = self.network.flows[0]
        return [*dict.fromkeys((first.client, first.server, *self.network.topology.hosts))]

    @cached_property
    def hosts(self) -> list[HostPart]:
        """The measurements of each of ``host_names``."""
        return self._parts(HostPart, len(self.host_names))

    @cached_property
    def links(self) -> dict[str, LinkWays]:
        """The measurements of each link, by name."""
        names = self.network.topology.links
        return {name: LinkWays(*self._ways(LinkPart, place)) for place, name in enumerate(names)}

    def way(self, step: Step) -> LinkPart:
        """Return the measurements of a direction of a link."""
        return self.links[step.link][step.is_reverse]

    @cached_property
    def bottleneck(self) -> LinkWays:
        """The measurements of the bottleneck, in the direction of the data and in the other one."""
        name, is_reverse = self.network.bottleneck
        link = self.links[name]
        return LinkWays(link.reverse, link.forward) if is_reverse else link

    @cached_property
    def connections(self) -> list[ConnectionPart]:
        """The measurements of each connection, in the direction of the data."""
        count = len(self.measured["leg_name"])
        return [ConnectionPart(self.measured.__getitem__, place) for place in range(count)]

    @cached_property
    def srtts(self) -> dict[Any, Any]:
        """The samples of each connection's smoothed RTT after the warm-up, s, by its place."""
        time, warmup = self["time"], self.experiment.warmup
        series = enumerate(self.measured["srtt"])
        return {place: metrics.valid(srtt, time, warmup) for place, srtt in series}

    @cached_property
    def legs(self) -> list[list[ConnectionPart]]:
        """The connections of each flow, from the client on. Several flows may share one."""
        numbers = self.measured["flow_legs"]
        return [[self.connections[number] for number in flow] for flow in numbers]

    @cached_property
    def leg_names(self) -> list[str]:
        """The names of all flows' connections, those of the flow that has most first."""
        flows = sorted(self.measured["flow_legs"], key=len, reverse=True)
        names = self.measured["leg_name"]
        return [*dict.fromkeys(names[number] for flow in flows for number in flow)]

    @property
    def has_arq(self) -> bool:
        """Whether some connection is none of TCP, but of KCP, RUDP or QUIC."""
        return "arq_timeouts" in self.measured

    @cached_property
    def limited(self) -> list[Cause | None]:
        """What limited each flow; None: it was never active after the warm-up."""
        return causes.of_flows(self)

    @cached_property
    def carriers(self) -> list[ConnectionPart]:
        """The connections that cross the path, each once. Those beyond relays are in ``legs``."""
        legs = (self.path_leg(flow) for flow, legs in enumerate(self.legs) if legs)
        return list({id(leg): leg for leg in legs}.values())

    @cached_property
    def path_senders(self) -> tuple[list[ConnectionPart], list[TunnelPart]]:
        """What sends the flows' data across the path, each once: connections, and tunnels.

        The latter are directions of tunnels that carry packets; in a chain of relays those across
        its first hop.
        """
        legs: dict[int, ConnectionPart] = {}
        ways: dict[int, TunnelPart] = {}
        for index, placed in enumerate(self.network.flows):
            tunnel = None if placed.tunnel is None else self.tunnels[self._on_path(placed.tunnel)]
            if tunnel is not None:
                first = self.network.tunnels[placed.tunnel or 0]
                way = tunnel.forward if placed.sender == first.sender else tunnel.reverse
                ways[id(way)] = way
            else:
                leg = self.path_leg(index)
                legs[id(leg)] = leg
        return [*legs.values()], [*ways.values()]

    @cached_property
    def datagram_senders(self) -> list[TunnelPart]:
        """Those of ``path_senders`` that are directions of datagram tunnels."""
        used = {placed.tunnel for placed in self.network.flows if placed.tunnel is not None}
        datagram = [
            self.tunnels[number]
            for number in map(self._on_path, used)
            if not self.network.tunnels[number].keys.entry.HAS_CARRIERS
        ]
        ways = {id(way) for it in datagram if it is not None for way in it}
        return [it for it in self.path_senders[1] if id(it) in ways]

    def _on_path(self, number: int) -> int:
        """The number of the tunnel across the path, or of the one that its carriers go through."""
        under = self.network.under(number, hop=0)
        return number if under is None else under

    @cached_property
    def tunnels(self) -> list[TunnelWays | None]:
        """The measurements of each tunnel between two hosts; None if it carries no packets."""
        placed = {number: place for place, number in enumerate(self.measured["packet_tunnels"])}
        return [
            TunnelWays(*self._ways(TunnelPart, placed[number])) if number in placed else None
            for number in range(len(self.network.tunnels))
        ]

    @cached_property
    def users(self) -> list[str]:
        """The user of each flow. A flow without a user has its own."""
        placed = enumerate(self.network.flows)
        return [it.flow.user or f"flow {index}" for index, it in placed]

    @cached_property
    def carrier_numbers(self) -> list[int | None]:
        """The number of each flow's carrier, from 0; None without a tunnel."""
        return self.network.carriers

    @cached_property
    def tunnel_names(self) -> list[str]:
        """The tunnels between two hosts. Equal names get their hosts, and a number."""
        tunnels = self.network.tunnels
        plain_names = [it.name for it in tunnels]
        names: list[str] = []
        for it in tunnels:
            name = it.name
            if plain_names.count(name) > 1:
                name += f" {it.ends[0]}-{it.ends[1]}"
            alike = sum(other == name or other.startswith(f"{name} #") for other in names)
            names.append(f"{name} #{alike + 1}" if alike else name)
        return names

    @cached_property
    def flow_tunnels(self) -> list[str]:
        """The name of each flow's tunnel, or none."""
        return [
            "none" if flow.tunnel is None else self.tunnel_names[flow.tunnel]
            for flow in self.network.flows
        ]

    def sender_leg(self, flow: int) -> ConnectionPart:
        """Return the connection of the sending application."""
        legs, sender = self.legs[flow], self.network.flows[flow].sender
        return legs[-1] if legs[-1].name == "target" and sender == "server" else legs[0]

    def path_leg(self, flow: int) -> ConnectionPart:
        """Return the connection that crosses the path: the carrier, or a plain flow's only one.

        Of one with several paths, what goes over that which carries most.
        """
        legs = self.legs[flow]
        name = connection_of(legs[path_leg([leg.name for leg in legs])].name)
        sides = [it for it in legs if connection_of(it.name) == name]
        return max(sides, key=lambda leg: leg.payload_bytes or 0)
