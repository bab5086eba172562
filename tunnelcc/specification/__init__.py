# SPDX-License-Identifier: GPL-2.0-only
"""Translate an experiment into the input of the compiled module.

The input is tables with the members of the structs in ``models/spec/``. A member that is left out
is 0, false or empty: defaults are those of keys. Times become nanoseconds. Nothing is decided here
that the experiment or the catalogue does not define. Each part has a module. Those of tunnels are
imported with the first tunnel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tunnelcc.catalog.values import datagram_headers
from tunnelcc.config import CrossTraffic, Flow, Hosts, Ping
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.draws import uniform
from tunnelcc.network.multipath import Multipath
from tunnelcc.network.resolved import OfAllSeeds, ResolvedNetwork, ResolvedTunnel
from tunnelcc.network.topology import ResolvedLink, Route, Step, half_of
from tunnelcc.network.traffic import Traffic
from tunnelcc.network.tunnels import Gateways, PacketTunnel
from tunnelcc.scenario import Experiment
from tunnelcc.specification import tcp as spec_tcp
from tunnelcc.specification.links import link, with_phase
from tunnelcc.specification.parts import (
    Spec,
    congestion,
    layer_wire_bytes,
    nanoseconds,
    same,
    spec_text,
)

__all__ = ["experiment_spec", "layer_wire_bytes", "network_spec", "spec_text"]

_ROLES = {Flow: "flow", CrossTraffic: "cross_traffic", Ping: "ping"}

# What iperf3 writes on each connection before any data (COOKIE_SIZE in its source).
_IPERF_COOKIE = 37


def experiment_spec(experiment: Experiment) -> Spec:
    """Return the specification of ``experiment``."""
    return network_spec(experiment.resolved)


def network_spec(network: ResolvedNetwork) -> Spec:
    """Return the specification of an experiment whose network is known."""
    return _builders.of(network, lambda: _Builder(network)).spec(network)


#: A sweep's next experiment is often the one before with another seed.
_builders: OfAllSeeds[_Builder] = OfAllSeeds()


class _Builder:
    """Collects what flows and tunnels refer to by number: hosts, links, routes, TCP settings.

    All of that is the same for all seeds of an experiment.
    """

    def __init__(self, network: ResolvedNetwork) -> None:
        self.experiment = network.experiment
        self.network = network
        topology = network.topology
        self.hosts = {name: number for number, name in enumerate(topology.hosts)}
        self.links = {name: number for number, name in enumerate(topology.links)}
        self.routes: dict[Route, int] = {}
        self.tcp: list[Spec] = []
        self.quic: list[Spec] = []
        self._kinds = {it: self._alike(it) for it in network.all_kinds}
        self._tunnels = [
            (self._tunnel(tunnel), self._under(tunnel) | self._uplinks(tunnel))
            for tunnel in network.tunnels
        ]
        self._hosts = [self._host(name, host) for name, host in network.hosts.items()]
        self._links = {name: self._link(it) for name, it in topology.links.items()}
        self._routes = list(map(self._route, self.routes))
        self._rest = same(self.experiment, "ExperimentSpec")

    def spec(self, network: ResolvedNetwork) -> Spec:
        """Return the specification of a network, which may differ in its draws."""
        tunnels = [
            first | self._tunnel_start(network, number) | last
            for number, (first, last) in enumerate(self._tunnels)
        ]
        links = network.topology.links.items()
        lists = {
            "hosts": self._hosts,
            "links": [
                with_phase(self._links[name], it, network.phases[name]) for name, it in links
            ],
            "routes": self._routes,
            "tcp": self.tcp,
            "quic": self.quic,
            "tunnels": tunnels,
            "flows": list(self._flows(network)),
        }
        rest = self._rest | {"seed": network.experiment.seed}
        return {**lists, **{name: value for name, value in rest.items() if name not in lists}}

    def _host(self, name: str, host: Hosts) -> Spec:
        return same(host, "HostSpec") | {
            "machine": 0 if self.network.is_on_first_machine(name) else self.hosts[name],
            "tcp_memory": host.socket_memory,
            "tcp_reserve": kernels()[host.kernel].tcp_reserve,
            "switch_cost": round(self._switch_cost(name, host)),
        }

    def _link(self, resolved: ResolvedLink) -> Spec:
        tcp, path = self.experiment.tcp, self.experiment.path
        packet = tcp.packet_bytes(path.ip, resolved.path.host_mtu)
        return link(packet, resolved, path.ip)

    def _switch_cost(self, name: str, host: Hosts) -> float:
        entries = [it.keys.entry for it in self.network.tunnels if name in it.hosts]
        return host.context_switch(any(entry.IS_COST_WHOLE for entry in entries))

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

    def _flows(self, network: ResolvedNetwork) -> Iterator[Spec]:
        """Single flows. Values that equal flows share are computed once."""
        for number, placed in enumerate(network.everyone):
            # The jitter shifts the whole flow: data that all began at once would make every seed
            # alike.
            keys, jitter = placed.traffic.keys, placed.jitter
            data_start = getattr(keys, "data_start", None) or 0
            yield self._kinds[placed.traffic] | {
                "extra_delay": self._extra_delay(network, placed.traffic, number),
                "carrier": placed.carrier,
                "start": nanoseconds(placed.start),
                "data_start": nanoseconds(max(placed.start, data_start + jitter)),
                "stop": 0 if keys.stop is None else nanoseconds(keys.stop + jitter),
                **({} if placed.bytes is None else {"bytes": placed.bytes}),
            }

    def _alike(self, traffic: Traffic) -> Spec:
        flow, tunnel = traffic.flow, traffic.tunnel_keys
        carrier = tunnel and tunnel.carrier_cc
        own_cc = traffic.contents.cc if flow.transport == "udp" else flow.cc
        tcp = {key: _place_in(self.tcp, it) for key, it in _flow_tcp(traffic).items()}
        alike = _members_of(traffic) | {
            "route": self._number(traffic.route),
            "sender": traffic.sender,
            "tunnel": traffic.tunnel_number,
            **self._access(traffic.gateways),
            "tcp": tcp["tcp"],
            "app_per_byte": {side: traffic.app_cost(side) for side in ("client", "server")},
            "cc": congestion(flow.cc),
            "quic": None,
            "sockets": {},
            "multipath": self._multipath(traffic.multipath),
            "carrier_cc": congestion(carrier or own_cc),
            "preamble": _preamble(traffic),
            "datagrams": _datagrams(traffic),
            "role": _ROLES[type(traffic.keys)],
        }
        if flow.transport == "quic":
            from tunnelcc.specification.quic import flow_quic, flow_sockets

            settings, alike["cc"] = flow_quic(traffic)
            alike["sockets"] = flow_sockets(traffic)
            alike["quic"] = _place_in(self.quic, settings)
        return alike | tcp  # and what the flow has beside "tcp"

    def _multipath(self, layer: Multipath | None) -> Spec | None:
        """The paths of a connection with several; None: it has one."""
        if layer is None:
            return None
        paths = zip(layer.keys.paths, layer.routes, strict=True)
        return {
            "scheduler": layer.keys.scheduler.replace("-", "_"),
            "paths": [
                {"route": self._number(route), "backup": path in layer.keys.backup}
                for path, route in paths
            ],
        }

    def _access(self, gateways: Gateways | None) -> Spec:
        """The routes between the flow's hosts and the gateways of its tunnel."""
        if gateways is None:
            return {}
        routes = {end: self._number(it.route) for end, it in gateways.access.items()}
        return {"access": {"routes": routes, "is_turned": gateways.is_turned}}

    def _extra_delay(self, network: ResolvedNetwork, traffic: Traffic, number: int) -> Spec:
        """The delay that flows.rtt adds to the links' stated delay, half of it in each direction.

        ``number``: of the flow.
        """
        rtt, first = traffic.flow.rtt, traffic.own_route
        if rtt is None:
            return {"client": 0, "server": 0}
        delays = {"client": self._delay(first.to_server), "server": self._delay(first.to_client)}
        whole = nanoseconds(rtt) + network.own_phase(number)
        half = whole // 2
        return {
            end: (half if end == traffic.sender else whole - half) - delay
            for end, delay in delays.items()
        }

    def _delay(self, steps: Sequence[Step]) -> int:
        links = self.network.topology.links
        return sum(half_of(links[step.link].path.rtt, step.is_reverse) for step in steps)

    def _tunnel_start(self, network: ResolvedNetwork, number: int) -> Spec:
        """Time when a tunnel connects without waiting for a flow: 0, or jittered beside others.

        Without one, two equal tunnels would take turns in the same way whatever the seed.
        """
        is_alone = sum(it.hop is None for it in network.tunnels) == 1
        if is_alone or not network.tunnels[number].keys.entry.HAS_CARRIERS:
            return {}
        seed, jitter = network.experiment.seed, network.experiment.start_jitter
        return {"start": nanoseconds(jitter * uniform(seed, "tunnel", number))}

    def _tunnel(self, placed: ResolvedTunnel) -> Spec:
        from tunnelcc.specification.tunnels import tunnel_spec  # with all classes of tunnels

        routes = (placed.above or placed.layer).hops
        ccs = [None, *(hop.cc for hop in placed.keys.chain)]
        hops = [
            {"route": self._number(route), "under": self.network.under(placed.owner, number)}
            | ({"cc": congestion(cc)} if cc else {})
            | {"multipath": self._multipath(placed.layer.paths)}
            for number, (route, cc) in enumerate(zip_longest(routes, ccs[: len(routes)]))
        ]
        return tunnel_spec(placed, hops if placed.hop is None else [hops[placed.hop]])

    def _uplinks(self, placed: ResolvedTunnel) -> Spec:
        """The routes of a tunnel beside its first one."""
        uplinks = placed.keys.uplinks
        if uplinks is None:
            return {}
        spec: Spec = {
            "routes": [self._number(route) for route in placed.uplinks[1:]],
            "use": uplinks.use.replace("-", "_"),
        }
        entry = placed.keys.entry
        bonding = getattr(entry, "bonding", None)
        if uplinks.use == "weights":
            assert isinstance(placed.layer, PacketTunnel)
            spec["weights"] = {end: list(it) for end, it in placed.layer.weights.items()}
            spec["turns"] = "smooth" if bonding is None else bonding.turns
        if uplinks.use == "measured":
            assert isinstance(placed.layer, PacketTunnel)
            most = placed.layer.weights.items()
            spec["weights"] = {end: [rate / 8 for rate in rates] for end, rates in most}
            spec["turns"] = "random"
        if uplinks.reorder_size:
            time = uplinks.reorder_time
            spec["reorder"] = {
                "size": uplinks.reorder_size,
                "time": 0 if time is None else nanoseconds(time),
                "restarts": bonding is not None,
                "places": 0 if bonding is None else bonding.places,
            }
        if uplinks.has_probes(entry):
            probes = uplinks.probes(entry)
            spec |= {
                "interval": nanoseconds(probes.probe_interval),
                "probe": probes.probe + datagram_headers(self.experiment.path.ip),
                "fail_after": probes.fail_after,
                "return_after": probes.return_after,
            }
        return {"uplinks": spec}

    def _under(self, placed: ResolvedTunnel) -> Spec:
        """The flow as which a tunnel's packets, or its carrier, go through another tunnel."""
        layer, cc = placed.layer, placed.contents.cc
        gateways = layer.below
        if not isinstance(gateways, Gateways):
            return {}
        from tunnelcc.specification.tunnels import nested_tcp  # as in _tunnel()

        lower = gateways.below
        return {
            "under": {
                "route": self._number(layer.route),
                "tunnel": placed.lower,
                **self._access(gateways),
                "carrier": lower.taken if isinstance(lower, PacketTunnel) else 0,
                "sender": layer.sender,
                "tcp": _place_in(self.tcp, nested_tcp(placed)),
                "cc": congestion(cc),
                "carrier_cc": congestion(lower.keys.carrier_cc or cc),
                "datagrams": {"header": datagram_headers(self.experiment.path.ip)},
            }
        }


def _members_of(traffic: Traffic) -> Spec:
    """The keys that FlowSpec has, too. Cross traffic and pings have the defaults of the others."""
    keys = traffic.keys
    if isinstance(keys, Flow):
        return same(keys, "FlowSpec")
    given = {name: getattr(keys, name, None) for name in ("route", "start", "stop", "rate")}
    name = keys.tunnel or ("none" if isinstance(keys, CrossTraffic) else None)
    return same(traffic.flow.model_copy(update={**given, "tunnel": name}), "FlowSpec")


def _flow_tcp(traffic: Traffic) -> dict[str, Spec]:
    """The TCP settings of a flow's connections."""
    if traffic.tunnel is None:
        transport = traffic.transport
        spec = spec_tcp.flow_tcp(transport, traffic.flow.window, traffic.links.ip)
        return {"tcp": spec_tcp.with_options_of(traffic.multipath, spec)}
    from tunnelcc.specification.tunnels import flow_tcp  # as in _Builder._tunnel()

    return flow_tcp(traffic)


def _place_in(settings: list[Spec], spec: Spec) -> int:
    """Return the place of ``spec`` in the list, after adding it if it is new."""
    if spec not in settings:
        settings.append(spec)
    return settings.index(spec)


def _preamble(traffic: Traffic) -> int:
    if traffic.flow.preamble is not None:
        return traffic.flow.preamble
    return _IPERF_COOKIE if traffic.direction == "down" else 0


def _datagrams(traffic: Traffic) -> Spec | None:
    """What a flow of datagrams sends, in IP bytes; None: it is a byte stream."""
    sent, header = traffic.sent_datagrams, traffic.datagram_header
    if sent is None:
        return None
    rate = sent.ip_rate(header)
    if isinstance(traffic.keys, CrossTraffic):
        rate = traffic.keys.rate  # exactly
    times = {"on": sent.talk, "off": sent.pause, "timeout": sent.timeout, "playout": sent.playout}
    return {
        "rate": rate,
        "packet": sent.size + header,
        "full": sent.full,
        "last": sent.last + header,
        "header": header,
        "draws_periods": sent.draws_periods,
        "draws_gaps": sent.draws_gaps,
        "answer": 0 if sent.answer is None else sent.answer + header,
        "attempts": sent.attempts,
        **{name: nanoseconds(time or 0.0) for name, time in times.items()},
    }
