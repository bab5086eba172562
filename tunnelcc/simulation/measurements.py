# SPDX-License-Identifier: GPL-2.0-only
"""The measurements of a run, by the flows, hosts, links and tunnels of its experiment."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tunnelcc import metrics
from tunnelcc.config import Experiment
from tunnelcc.config.resolved import ResolvedNetwork, resolve
from tunnelcc.simulation import limited
from tunnelcc.simulation.raw import plain


class Measurements:
    """What a run measured. ``raw``: the compiled module's result as plain attributes.

    ``network``: of the experiment, if it is known.
    """

    def __init__(
        self, experiment: Experiment, raw: Any, network: ResolvedNetwork | None = None
    ) -> None:
        self.experiment = experiment
        self._network = network
        self.raw = plain(raw)

    @property
    def measured_time(self) -> float:
        """Seconds from the end of the warm-up to the end of the run."""
        return self.experiment.duration - self.experiment.warmup

    @cached_property
    def layout(self) -> ResolvedNetwork:
        """The hosts, links, flows and tunnels of the experiment."""
        return self._network or resolve(self.experiment)

    @cached_property
    def derived(self) -> dict[str, Any]:
        """Numbers that follow from the keys: windows of the first flow, the bottleneck's buffer."""
        return self.layout.numbers

    @cached_property
    def host_names(self) -> list[str]:
        """The names of the hosts: those of the first flow, then the others."""
        first = self.layout.flows[0]
        return [*dict.fromkeys((first.client, first.server, *self.layout.topology.hosts))]

    @cached_property
    def hosts(self) -> list[Any]:
        """The measurements of each of ``host_names``."""
        order = self.layout.topology.hosts
        return [self.raw.hosts[order.index(name)] for name in self.host_names]

    @cached_property
    def links(self) -> dict[str, Any]:
        """``raw.links`` by name."""
        return dict(zip(self.layout.topology.links, self.raw.links, strict=True))

    @cached_property
    def bottleneck(self) -> tuple[Any, Any]:
        """The measurements of the bottleneck, in the direction of the data and in the other one."""
        name, is_reverse = self.layout.bottleneck
        link = self.links[name]
        return (link.reverse, link.forward) if is_reverse else (link.forward, link.reverse)

    @property
    def path_segments(self) -> int:
        """Data segments sent across the path after the warm-up."""
        return int(self.raw.path_segments)

    @cached_property
    def legs(self) -> list[list[Any]]:
        """``raw.legs`` by flow. Several flows may share one."""
        return [[self.raw.legs[index] for index in flow.legs] for flow in self.raw.flows]

    @cached_property
    def limited(self) -> list[limited.Limited]:
        """What limited each flow."""
        return limited.of_flows(self)

    @cached_property
    def carriers(self) -> list[Any]:
        """The connections that cross the path, each once. Those beyond relays are in ``legs``."""
        carriers = (self.path_leg(legs) for legs in self.legs if legs)
        return list({id(leg): leg for leg in carriers}.values())

    @cached_property
    def path_senders(self) -> list[Any]:
        """What sends the flows' data across the path, each once.

        Those are connections, or directions of tunnels that carry packets; in a chain of relays
        those across its first hop.
        """
        found: dict[int, Any] = {}
        for placed, legs in zip(self.layout.flows, self.legs, strict=True):
            leg = self.path_leg(legs)
            tunnel = (
                None if placed.tunnel is None else self.raw.tunnels[self._on_path(placed.tunnel)]
            )
            if tunnel is not None and tunnel.forward is not None:
                first = self.layout.tunnels[placed.tunnel or 0].first
                leg = tunnel.forward if placed.sender == first.sender else tunnel.reverse
            found[id(leg)] = leg
        return list(found.values())

    @property
    def wire_bytes(self) -> int:
        """IP bytes sent across the path in the direction of the data in the whole run."""
        senders = self.path_senders
        return sum(
            int(getattr(it, "outer_bytes", 0) or getattr(it, "wire_bytes", 0)) for it in senders
        )

    @cached_property
    def datagram_senders(self) -> list[Any]:
        """Those of ``path_senders`` that are directions of datagram tunnels."""
        used = {placed.tunnel for placed in self.layout.flows if placed.tunnel is not None}
        datagram = [
            self.raw.tunnels[number]
            for number in map(self._on_path, used)
            if not self.layout.tunnels[number].tunnel.entry.HAS_CARRIERS
        ]
        ways = {id(way) for it in datagram for way in (it.forward, it.reverse)}
        return [it for it in self.path_senders if id(it) in ways]

    def _on_path(self, number: int) -> int:
        """The number of the tunnel across the path, or of the one that its carriers go through."""
        under = self.layout.under(self.layout.tunnels[number], hop=0)
        return number if under is None else under

    @cached_property
    def users(self) -> list[str]:
        """The user of each flow. A flow without a user has its own."""
        placed = enumerate(self.layout.flows)
        return [it.flow.user or f"flow {index}" for index, it in placed]

    @cached_property
    def carrier_numbers(self) -> list[int | None]:
        """The number of each flow's carrier, from 0; None without a tunnel."""
        return self.layout.carriers

    @cached_property
    def tunnel_names(self) -> list[str]:
        """The tunnels between two hosts. Equal names get their hosts, and a number."""
        tunnels = self.layout.tunnels
        plain_names = [it.name for it in tunnels]
        names: list[str] = []
        for it in tunnels:
            name = it.name
            if plain_names.count(name) > 1:
                name += f" {it.first.client}-{it.first.server}"
            alike = sum(other == name or other.startswith(f"{name} #") for other in names)
            names.append(f"{name} #{alike + 1}" if alike else name)
        return names

    @cached_property
    def packet_tunnels(self) -> dict[str, Any]:
        """``raw.tunnels`` that carry packets, by name."""
        tunnels = zip(self.tunnel_names, self.raw.tunnels, strict=True)
        return {name: it for name, it in tunnels if it.forward is not None}

    @cached_property
    def flow_tunnels(self) -> list[str]:
        """The name of each flow's tunnel, or none."""
        return [
            "none" if flow.tunnel is None else self.tunnel_names[flow.tunnel]
            for flow in self.layout.flows
        ]

    @property
    def app_retransmits(self) -> list[int]:
        """Retransmissions of the sending application's socket by flow, as in iperf3."""
        return [self.sender_leg(index).retransmits for index in range(len(self.legs))]

    @property
    def carrier_retransmits(self) -> int:
        """Retransmissions across the path."""
        return sum(leg.retransmits for leg in self.carriers)

    def socket_rtt(self, flow: int) -> float:
        """Return the mean smoothed RTT (s) of the sending application's socket."""
        srtt = self.sender_leg(flow).srtt
        return metrics.mean_srtt(srtt, self.raw.time, self.experiment.warmup)

    def sender_leg(self, flow: int) -> Any:
        """Return the connection of the sending application."""
        legs, sender = self.legs[flow], self.layout.flows[flow].sender
        return legs[-1] if legs[-1].name == "target" and sender == "server" else legs[0]

    @staticmethod
    def path_leg(legs: list[Any]) -> Any:
        """Return the connection that crosses the path: the carrier, or a plain flow's only one."""
        return legs[metrics.path_leg([leg.name for leg in legs])]
