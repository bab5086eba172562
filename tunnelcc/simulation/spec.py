# SPDX-License-Identifier: GPL-2.0-only
"""Translate an experiment into the input of the compiled module.

The input is tables with the members of the structs in ``models/spec/``. A member that is left out
is 0, false or empty: defaults are those of keys. Times become nanoseconds. Nothing is decided here
that the experiment or the catalogue does not define. Modules ``spec_…`` write the parts. Those of
tunnels are imported with the first tunnel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from tunnelcc.config import Experiment, Flow, Hosts, derived
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.layout import Placed, PlacedTunnel, layout
from tunnelcc.config.topology import Route, Step
from tunnelcc.hosts.kernels import kernels
from tunnelcc.simulation.spec_links import delays, link
from tunnelcc.simulation.spec_parts import (
    Spec,
    congestion,
    layer_wire_bytes,
    nanoseconds,
    same,
    spec_text,
)
from tunnelcc.simulation.spec_tcp import path_tcp

__all__ = ["experiment_spec", "layer_wire_bytes", "spec_text"]

# What iperf3 writes on each connection before any data (COOKIE_SIZE in its source).
_IPERF_COOKIE = 37


def experiment_spec(experiment: Experiment) -> Spec:
    """Return the specification of ``experiment``."""
    return _Builder(experiment).spec()


class _Builder:
    """Collects what flows and tunnels refer to by number: hosts, links, routes, TCP settings."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.layout = layout(experiment)
        topology = self.layout.topology
        self.hosts = {name: number for number, name in enumerate(topology.hosts)}
        self.links = {name: number for number, name in enumerate(topology.links)}
        self.routes: dict[Route, int] = {}
        self.tcp: list[Spec] = []
        self.quic: list[Spec] = []

    def spec(self) -> Spec:
        """Return the specification."""
        experiment, topology = self.experiment, self.layout.topology
        flows = list(self._flows())
        tunnels = [
            self._tunnel(tunnel) | self._tunnel_start(tunnel, number)
            for number, tunnel in enumerate(self.layout.tunnels)
        ]
        cross_traffic = [self._cross_traffic(i) for i in range(len(experiment.cross_traffic))]
        lists = {
            "hosts": [self._host(name) for name in topology.hosts],
            "links": [link(experiment.tcp, it.path) for it in topology.links.values()],
            "routes": list(map(self._route, self.routes)),
            "tcp": self.tcp,
            "quic": self.quic,
            "tunnels": tunnels,
            "flows": flows,
            "cross_traffic": cross_traffic,
        }
        rest = same(experiment, "ExperimentSpec")
        return {**lists, **{name: value for name, value in rest.items() if name not in lists}}

    def _host(self, name: str) -> Spec:
        host = self.layout.host(name)
        return same(host, "HostSpec") | {
            "machine": 0 if self.layout.is_on_first_machine(name) else self.hosts[name],
            "tcp_memory": derived.tcp_memory(host),
            "tcp_reserve": kernels()[host.kernel].tcp_reserve,
            "switch_cost": round(self._switch_cost(name, host)),
        }

    def _switch_cost(self, name: str, host: Hosts) -> float:
        entries = [it.tunnel.entry for it in self.layout.tunnels if name in self.layout.ends(it)]
        return derived.switch_cost(host, any(entry.IS_COST_WHOLE for entry in entries))

    def _number(self, route: Route) -> int:
        """Return the number of ``route`` in the list, after adding it if it is new."""
        return self.routes.setdefault(route, len(self.routes))

    def _route(self, route: Route) -> Spec:
        return {
            "hosts": {"client": self.hosts[route.client], "server": self.hosts[route.server]},
            "sent": {
                "client": self._steps(route.to_server),
                "server": self._steps(route.to_client),
            },
        }

    def _steps(self, steps: Sequence[Step]) -> list[Spec]:
        return [{"link": self.links[step.link], "is_reverse": step.is_reverse} for step in steps]

    def _flows(self) -> Iterator[Spec]:
        """Single flows. Values that equal flows share are computed once."""
        known: dict[tuple[Any, ...], Spec] = {}
        for placed in self.layout.flows:
            if placed.kind not in known:
                known[placed.kind] = self._alike(placed)
            # The jitter shifts the whole flow: data that all began at once would make every seed
            # alike.
            flow = placed.flow
            jitter = placed.start - flow.start
            yield known[placed.kind] | {
                "carrier": placed.carrier,
                "start": nanoseconds(placed.start),
                "data_start": nanoseconds(max(placed.start, (flow.data_start or 0) + jitter)),
                "stop": 0 if flow.stop is None else nanoseconds(flow.stop + jitter),
                **({} if placed.bytes is None else {"bytes": placed.bytes}),
            }

    def _alike(self, placed: Placed) -> Spec:
        view, flow = self.layout.view(placed), placed.flow
        carrier = view.tunnel and view.tunnel.carrier_cc
        tcp = {key: _place_in(self.tcp, it) for key, it in _flow_tcp(view).items()}
        alike = same(flow, "FlowSpec") | {
            "route": self._number(self.layout.route(placed)),
            "extra_delay": self._extra_delay(placed),
            "sender": placed.sender,
            "tunnel": placed.tunnel,
            "tcp": tcp["tcp"],
            "app_per_byte": {
                side: derived.app_cost(view, side, flow.transport) for side in ("client", "server")
            },
            "cc": congestion(flow.cc),
            "quic": None,
            "carrier_cc": congestion(carrier or flow.cc),
            "preamble": _preamble(view, flow),
        }
        if flow.transport == "quic":
            from tunnelcc.simulation.spec_quic import flow_quic

            settings, alike["cc"] = flow_quic(view, flow.cc)
            alike["quic"] = _place_in(self.quic, settings)
        return alike | tcp  # and what the flow has beside "tcp"

    def _extra_delay(self, placed: Placed) -> Spec:
        """The delay that flows.rtt adds to the links' delay, half of it in each direction."""
        rtt, (first, *_) = placed.flow.rtt, self.layout.hops(placed)
        if rtt is None:
            return {"client": 0, "server": 0}
        delays = {"client": self._delay(first.to_server), "server": self._delay(first.to_client)}
        half = nanoseconds(rtt) // 2
        return {
            end: (half if end == placed.sender else nanoseconds(rtt) - half) - delay
            for end, delay in delays.items()
        }

    def _delay(self, steps: Sequence[Step]) -> int:
        links = self.layout.topology.links
        return sum(delays(links[step.link].path)[step.is_reverse] for step in steps)

    def _cross_traffic(self, index: int) -> Spec:
        source = self.experiment.cross_traffic[index]
        route, sender = self.layout.cross_traffic(index)
        spec = same(source, "DatagramSpec") | {"route": self._number(route), "sender": sender}
        if index > 0:
            # Else equal sources would send at the same moments, whatever the seed.
            interval = 8 * source.packet / source.rate
            phase = derived.uniform(self.experiment.seed, "cross traffic", index) * interval
            spec["start"] = nanoseconds(source.start + phase)
        return spec

    def _tunnel_start(self, placed: PlacedTunnel, number: int) -> Spec:
        """Time when a tunnel connects without waiting for a flow: 0, or jittered beside others.

        Without one, two equal tunnels would take turns in the same way whatever the seed.
        """
        is_alone = sum(it.hop is None for it in self.layout.tunnels) == 1
        if is_alone or not placed.tunnel.entry.HAS_CARRIERS:
            return {}
        seed, jitter = self.experiment.seed, self.experiment.start_jitter
        return {"start": nanoseconds(jitter * derived.uniform(seed, "tunnel", number))}

    def _tunnel(self, placed: PlacedTunnel) -> Spec:
        from tunnelcc.simulation.spec_tunnels import tunnel_spec  # with all classes of tunnels

        view, tunnel = self.layout.view(placed.first), placed.tunnel
        routes = self.layout.hops(placed.first)
        if placed.hop is not None:
            view = view.model_copy(update={"tunnel": tunnel})
        ccs = [None, *(hop.cc for hop in tunnel.chain)]
        hops = [
            {"route": self._number(route), "under": self.layout.under(placed, number)}
            | ({"cc": congestion(cc)} if cc else {})
            for number, (route, cc) in enumerate(zip_longest(routes, ccs[: len(routes)]))
        ]
        return tunnel_spec(tunnel.entry, view, hops if placed.hop is None else [hops[placed.hop]])


def _flow_tcp(view: ExperimentKeys) -> dict[str, Spec]:
    """The TCP settings of a flow's connections."""
    if view.tunnel is None:
        return {"tcp": path_tcp(view, derived.mss(view))}
    from tunnelcc.simulation.spec_tunnels import flow_tcp  # as in _Builder._tunnel()

    return flow_tcp(view.tunnel.entry, view)


def _place_in(settings: list[Spec], spec: Spec) -> int:
    """Return the place of ``spec`` in the list, after adding it if it is new."""
    if spec not in settings:
        settings.append(spec)
    return settings.index(spec)


def _preamble(experiment: ExperimentKeys, flow: Flow) -> int:
    if flow.preamble is not None:
        return flow.preamble
    return _IPERF_COOKIE if experiment.direction == "down" else 0
