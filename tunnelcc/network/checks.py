# SPDX-License-Identifier: GPL-2.0-only
"""Checks that the keys of an experiment agree with each other, and with its network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from tunnelcc.catalog.values import LEAST_IPV6_MTU, IpVersions, Use, datagram_headers
from tunnelcc.config.flow import LEAST_WRITE_COST, MAX_FLOWS, Flow
from tunnelcc.config.hosts import OF_MACHINES
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.multipath import as_given
from tunnelcc.config.network import Network
from tunnelcc.config.traffic import CrossTraffic, Ping
from tunnelcc.config.tunnel import BELOW_RELAYS, Hop, Tunnel
from tunnelcc.errors import MISSING, ConfigError, Problem, problems_in
from tunnelcc.hosts import costs
from tunnelcc.network.layers import problems_of_queue
from tunnelcc.network.multipath import routes_of
from tunnelcc.network.resolve import route_of
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.network.topology import Route, Topology, of_network, of_path
from tunnelcc.network.traffic import Traffic
from tunnelcc.network.tunnels import Relays, route_between
from tunnelcc.schema.units import format_probability, format_time


def problems(
    experiment: ExperimentKeys, network: Callable[[], ResolvedNetwork]
) -> Iterator[Problem]:
    """Yield what is wrong with ``experiment``, each of whose keys is valid alone.

    ``network``: returns its network, once all that it names exists.
    """
    count = sum(flow.count for flow in experiment.flows)
    if count > MAX_FLOWS:
        yield Problem("flows", count, f"at most {MAX_FLOWS} flows in total")
        return
    if experiment.warmup >= experiment.duration:
        expected = f"a time before the end (duration = {format_time(experiment.duration)!r})"
        yield Problem("warmup", format_time(experiment.warmup), expected)
    if experiment.probe_interval > experiment.duration:
        given = format_time(experiment.probe_interval)
        shorter = f"set it, too: probe_interval = {format_time(experiment.duration / 10)!r}"
        hint = "" if "probe_interval" in experiment.model_fields_set else shorter
        yield Problem("probe_interval", given, "at most the duration", hint)
    for key, entry, _ in experiment.entries():
        for name in ("start", "data_start"):
            moment = getattr(entry, name, None)
            if moment is not None and moment >= experiment.duration:
                expected = "a time before the end of the run"
                yield Problem(f"{key}.{name}", format_time(moment), expected)
        is_empty = isinstance(entry, Flow) and entry.preamble == 0
        if is_empty and experiment.direction_of(entry) == "down":
            expected = (
                "at least 1 byte if direction is down, because the server waits for a request"
            )
            yield Problem(f"{key}.preamble", 0, expected)
    misplaced = list(problems_of_names(experiment))
    if misplaced:
        yield from misplaced
        return
    found = network()
    if experiment.until is not None:
        yield from _of_until(found)
    links = found.topology.links.values()
    of_links = [problem.below(link.key) for link in links for problem in link.path.problems()]
    yield from of_links or list(_of_ip(found)) or _of_network(found)


def _of_until(network: ResolvedNetwork) -> Iterator[Problem]:
    """Yield why the goodput of a network has no steady state to wait for."""
    experiment, changes = network.experiment, list[str]()
    warmup = experiment.warmup
    for key, entry, _ in experiment.entries():
        if isinstance(entry, Flow) and entry.bytes is not None:
            changes.append(f"{key}.bytes")
        if isinstance(entry, Flow) and entry.interarrival is not None and entry.count > 1:
            changes.append(f"{key}.interarrival")
        for name in ("start", "stop", "data_start"):
            moment = getattr(entry, name, None)
            if moment is not None and moment > warmup:
                changes.append(f"{key}.{name}")
    for link in network.topology.links.values():
        for is_reverse in (False, True):
            way = link.direction(is_reverse)
            for name in ("rate", "loss", "buffer"):
                if any(moment > warmup for moment, _ in way.over_time(name)):
                    changes.append(f"{link.key}.{'trace' if way.trace else f'{name}_steps'}")
        if any(moment > warmup for moment, _ in link.path.over_time("rtt")):
            changes.append(f"{link.key}.{'trace' if link.path.trace else 'rtt_steps'}")
        if any(end > warmup for _, end in link.path.outages):
            changes.append(f"{link.key}.outages")
    if changes:
        expected = "flows without an end, and nothing that changes after the warm-up"
        given = format_probability(experiment.until or 0)
        yield Problem("until", given, expected, f"{changes[0]} does")


def problems_of_names(experiment: ExperimentKeys) -> Iterator[Problem]:
    """Yield problems of tunnels, hosts and routes that are named but do not exist or fit."""
    nested = list(experiment.problems_of_under()) or list(_of_under(experiment))
    if nested:
        yield from nested
        return
    for key, _, name in experiment.entries():
        yield from problems_in(f"{key}.tunnel", partial(experiment.tunnel_named, name))
    network, path = experiment.network, experiment.path
    try:
        direction = experiment.direction
        topology = of_network(network, path) if network else of_path([path], direction)
    except ConfigError as error:
        yield from error.problems
        return
    if network is not None:
        yield from _of_hosts(experiment, network)
    strangers = list(_of_gateway_names(experiment, topology))
    if strangers:
        yield from strangers
        return
    yield from _of_routes(experiment, topology)


def _of_under(experiment: ExperimentKeys) -> Iterator[Problem]:
    """Yield problems of tunnels that cannot go through another one."""
    for name in (None, *experiment.tunnels):
        upper = experiment.tunnel_named(name)
        key = "tunnel" if name is None else f"tunnels.{name}"
        lower = None if upper is None or upper.under is None else upper.below
        if upper is None or lower is None:
            continue
        key = f"{key}.under"
        why = lower.entry.refuses_datagrams
        if not upper.entry.CARRIES_PACKETS:
            if lower.entry.HAS_CARRIERS:
                yield Problem(f"{key}.name", lower.name, BELOW_RELAYS)
            for given, value in (("between", lower.between), ("under", lower.under)):
                if value is not None:
                    shown = list(value) if isinstance(value, tuple) else str(value.name)
                    expected = f"no value below {upper.name}, whose relays' hosts run it"
                    yield Problem(f"{key}.{given}", shown, expected)
        elif upper.entry.HAS_CARRIERS and not lower.entry.CARRIES_PACKETS:
            expected = f"a tunnel of packets below {upper.name}, which sends over TCP"
            yield Problem(f"{key}.name", lower.name, expected)
        elif upper.entry.kind == "stream" and lower.entry.refuses_streams:
            expected = f"a tunnel that carries TCP, because {upper.name} sends over it"
            yield Problem(f"{key}.name", lower.name, expected)
        elif why:
            expected = f"a tunnel that carries UDP: {lower.name} does not, because {why}"
            yield Problem(f"{key}.name", lower.name, expected)
        elif lower.ip is not None and lower.ip != experiment.path.ip:
            expected = f"{experiment.path.ip}, which is path.ip, below another tunnel"
            yield Problem(f"{key}.ip", lower.ip, expected)
    for index, flow in enumerate(experiment.flows):
        try:
            tunnel = experiment.tunnel_of(flow)
        except ConfigError:
            continue  # told elsewhere
        if flow.rtt is None or tunnel is None:
            continue
        if tunnel.multipath is not None:
            expected = (
                f"no value with tunnel.{tunnel.multipath.KEY}, whose paths have the delays of "
                "their links"
            )
            yield Problem(f"flows.{index}.rtt", format_time(flow.rtt), expected)
        elif tunnel.entry.CARRIES_PACKETS and (tunnel.below or tunnel.uplinks):
            expected = "no value with under or uplinks: all packets of a tunnel have the same way"
            yield Problem(f"flows.{index}.rtt", format_time(flow.rtt), expected)


def _of_hosts(experiment: ExperimentKeys, network: Network) -> Iterator[Problem]:
    for problem in network.problems_of_hosts(experiment.hosts):
        yield problem.below("network")
    for name, overrides in network.hosts.items() if experiment.hosts.one_machine else ():
        for key in OF_MACHINES:
            if getattr(overrides, key) is not None:
                expected = "no value, because all hosts share one machine (hosts.one_machine)"
                yield Problem(f"network.hosts.{name}.{key}", getattr(overrides, key), expected)
    for side in ("client", "server"):
        if getattr(experiment.hosts, side).model_fields_set:
            expected = "no value with network; use network.hosts"
            yield Problem(f"hosts.{side}", MISSING, expected)


def _of_routes(experiment: ExperimentKeys, topology: Topology) -> Iterator[Problem]:
    """Yield a problem for the first wrong member of each group of flows, and of each source."""
    first = 0
    for key, entry, name in experiment.entries():
        members = [int(key.rpartition(".")[2])]
        if isinstance(entry, Flow):
            kinds = 1 if entry.from_ is not None else min(entry.count, len(topology.pairs) or 1)
            members = [*range(first, first + kinds)]
            first += entry.count
        try:
            for member in members:
                route = route_of(topology, entry, member, key)
                if isinstance(entry, Flow) and not topology.delay(route.steps):
                    links = ", ".join(dict.fromkeys(step.link for step in route.steps))
                    expected = f"a route with an rtt above 0 ({links} have none)"
                    yield Problem(f"{key}.route", MISSING, expected)
                    break
                yield from _of_gateways(experiment, topology, name, route, key)
        except ConfigError as error:
            yield from error.problems


def _of_gateway_names(experiment: ExperimentKeys, topology: Topology) -> Iterator[Problem]:
    """Yield problems of hosts in ``between`` and ``uplinks`` that do not exist."""
    for key, tunnel in experiment.declared_tunnels():
        if tunnel.between is None:
            continue
        named = [(f"{key}.between", it) for it in tunnel.between]
        if tunnel.uplinks is not None:
            named += [(f"{key}.uplinks.routes", it) for it in sum(tunnel.uplinks.routes, ())]
        wrong = (problems_in(key, partial(topology.check_host, "", host)) for key, host in named)
        yield from next(filter(None, wrong), ())


def _of_gateways(
    experiment: ExperimentKeys, topology: Topology, name: str | None, route: Route, key: str
) -> Iterator[Problem]:
    """Yield problems of the gateways of a tunnel on the way of what ``key`` describes.

    ``name``: of the tunnel; None: the experiment's.
    """
    try:
        tunnel = experiment.tunnel_named(name)
    except ConfigError:
        return  # told already
    if tunnel is None:
        return
    where = "tunnel" if name is None else f"tunnels.{name}"
    if tunnel.between is None:
        yield from _of_paths(topology, tunnel, route, where)
        yield from _of_lower_gateways(topology, tunnel, route)
        return
    try:
        crossed = route_between(topology, tunnel, route, f" of {key}")
    except ConfigError as error:
        hint = f"{key}.tunnel = 'none' leaves it out" if name is None else ""
        yield from (replace(it, hint=hint) for it in error.below(where).problems)
        return
    yield from _of_uplinks(topology, tunnel, crossed, where)
    yield from _of_paths(topology, tunnel, crossed, where)
    inside = {step.link for step in crossed.to_server + crossed.to_client}
    for step in route.to_server + route.to_client:
        link = topology.links[step.link]
        if step.link not in inside and link.path.too_big != "known":
            expected = "known on links outside the gateways: their hosts know that MTU"
            yield Problem(f"{link.key}.too_big", link.path.too_big, expected)
    yield from _of_lower_gateways(topology, tunnel, crossed)


def _of_lower_gateways(topology: Topology, upper: Tunnel, route: Route) -> Iterator[Problem]:
    """Yield problems of the gateways of tunnels below ``upper``, whose packets take ``route``."""
    lower = upper.below if upper.entry.CARRIES_PACKETS else None
    if lower is None:
        return
    where = f"tunnels.{lower.title}"  # only these have gateways of their own
    whose = f" of the packets of {upper.title or upper.name}"
    try:
        crossed = route_between(topology, lower, route, whose)
    except ConfigError as error:
        yield from error.below(where).problems
        return
    yield from _of_uplinks(topology, lower, crossed, where)
    yield from _of_lower_gateways(topology, lower, crossed)


def _of_paths(topology: Topology, tunnel: Tunnel, crossed: Route, where: str) -> Iterator[Problem]:
    """Yield problems of the paths of carriers of the tunnel at ``where``."""
    if (keys := tunnel.multipath) is not None:
        yield from problems_in(where, partial(routes_of, topology, crossed.ends, keys))


def _of_uplinks(
    topology: Topology, tunnel: Tunnel, crossed: Route, where: str
) -> Iterator[Problem]:
    """Yield a problem of the routes beside ``crossed``, the first of the tunnel at ``where``."""
    known = [crossed]
    for via in tunnel.uplinks.routes if tunnel.uplinks else ():
        key = f"{where}.uplinks.routes"
        try:
            route = topology.both_ways(*crossed.ends, via)
        except ConfigError as error:
            yield replace(error.problems[0], key=key)
            return
        if route in known:
            first = " → ".join(topology.hosts_of(crossed.client, crossed.to_server))
            expected = f"routes that differ from each other, and from the first one ({first})"
            yield Problem(key, list(via), expected)
            return
        known.append(route)


def _of_network(found: ResolvedNetwork) -> Iterator[Problem]:
    """Yield problems of the keys on the network."""
    relays = list(_of_declared_tunnels(found))
    if relays:
        yield from relays
        return
    experiment, told, is_narrow = found.experiment, set[Problem](), False
    yield from _of_tunnels(found)
    yield from _of_parts(experiment)
    for traffic in found.all_kinds:
        key = found.tunnel_key(traffic)
        yield from _of_rtt(found, traffic)
        missing = list(problems_in(key, partial(getattr, traffic, "mss")))
        missing = missing or list(_of_transport(traffic))
        missing = missing or list(_of_datagrams(traffic, key))
        missing = missing or list(_of_packets(traffic, key))
        missing = missing or list(problems_in("hosts.profile", partial(_pay, traffic)))
        is_narrow = is_narrow or bool(missing)
        for problem in missing or _of_writes(traffic):
            if problem not in told:
                told.add(problem)
                yield problem
    yield from (it for it in _of_unused(found) if it not in told)
    if not is_narrow:
        yield from dict.fromkeys(_of_buffers(found))


def _of_unused(found: ResolvedNetwork) -> Iterator[Problem]:
    """Yield a problem if the experiment's tunnel, which flows need not use, is too large."""
    experiment = found.experiment
    tunnel, path = experiment.tunnel_named(None), experiment.path
    if tunnel is None:
        return
    keys = tunnel if tunnel.entry.CARRIES_PACKETS else tunnel.below or tunnel
    inner = (keys.entry.CARRIES_PACKETS and keys.ip) or path.ip
    versions = IpVersions(inner, path.ip)
    use = Use(path.host_mtu, keys.mode, keys.mtu, keys.mss, versions)
    checks = [keys.entry.clamped_mss]
    checks += [keys.entry.told_mss] if found.first.flow.transport != "udp" else []
    for check in checks:
        yield from problems_in("tunnel", partial(check, use))


def _of_ip(found: ResolvedNetwork) -> Iterator[Problem]:
    """Yield problems of links, devices and datagrams that are too small for IPv6."""
    experiment, told = found.experiment, set[str]()
    if experiment.path.ip == 6:
        expected = f"at least {LEAST_IPV6_MTU} if path.ip is 6 (RFC 8200, section 5)"
        for link in found.topology.links.values():
            key = f"{link.key}.mtu"
            if link.path.mtu < LEAST_IPV6_MTU and key not in told:
                told.add(key)
                yield Problem(key, link.path.mtu, expected)
        least = datagram_headers(6)
        for index, source in enumerate(experiment.cross_traffic):
            if source.packet < least:
                expected = f"at least {least} if path.ip is 6, the headers of IPv6 and UDP"
                yield Problem(f"cross_traffic.{index}.packet", source.packet, expected)
    for placed in found.tunnels:
        key, layer = placed.key, placed.layer
        if layer.versions.inner == 6 and layer.mtu < LEAST_IPV6_MTU and key not in told:
            told.add(key)
            ip = f"{key}.ip" if placed.keys.ip else "path.ip"
            expected = f"at least {LEAST_IPV6_MTU} if {ip} is 6 (RFC 8200, section 5)"
            yield Problem(f"{key}.mtu", layer.mtu, expected)


def _of_rtt(found: ResolvedNetwork, traffic: Traffic) -> Iterator[Problem]:
    """Yield a problem if a flow's RTT is below the delay of the links on its route."""
    rtt = traffic.flow.rtt
    if found.experiment.network is None or rtt is None:
        return
    least = found.topology.delay(traffic.own_route.steps)
    if rtt < least:
        expected = f"{format_time(least)} or more, the RTT of the links on its route"
        yield Problem(f"flows.{traffic.number}.rtt", format_time(rtt), expected)


def _of_tunnels(found: ResolvedNetwork) -> Iterator[Problem]:
    """Yield problems of flows in one tunnel that differ where they must be equal."""
    for traffic in found.kinds:
        if traffic.tunnel_number is None:
            continue
        tunnel, flow = found.tunnels[traffic.tunnel_number], traffic.flow
        if flow.transport != "udp" and flow.payload != tunnel.contents.payload:
            expected = (
                f"the payload of flows.{tunnel.group}: all flows in a tunnel have the same payload"
            )
            yield Problem(f"flows.{traffic.number}.payload", flow.payload, expected)
        if flow.rtt is not None and tunnel.keys.has_one_path:
            expected = f"no value with {tunnel.keys.name}: all its flows have the RTT path.rtt"
            yield Problem(f"flows.{traffic.number}.rtt", format_time(flow.rtt), expected)
    firsts: dict[tuple[int, int], Flow] = {}
    for placed in found.flows:
        if placed.tunnel is None:
            continue
        if not found.tunnels[placed.tunnel].keys.entry.HAS_CARRIERS:
            continue  # connections of their own, which only share a device
        first = firsts.setdefault((placed.tunnel, placed.carrier), placed.flow)
        if placed.flow.rtt != first.rtt:
            given = placed.flow.rtt if placed.flow.rtt is not None else first.rtt
            expected = "the same value for all flows on one carrier (see tunnel.carriers)"
            yield Problem(f"flows.{placed.group}.rtt", format_time(given or 0), expected)
            return


def _of_declared_tunnels(found: ResolvedNetwork) -> Iterator[Problem]:
    """Yield problems of relays without a host, and of durations longer than the run."""
    experiment = found.experiment
    for key, tunnel in experiment.declared_tunnels():
        for where, it in ((key, tunnel), (f"{key}.under", tunnel.under)):
            if it is not None and (it.fec_timeout or 0) > experiment.duration:
                given, most = format_time(it.fec_timeout or 0), format_time(experiment.duration)
                yield Problem(f"{where}.fec_timeout", given, f"at most {most}, the duration")
        if experiment.network is None:
            if key != "tunnel" and (tunnel.chain or tunnel.relays):
                name = "chain" if tunnel.chain else "relays"
                yield Problem(f"{key}.{name}", MISSING, "no value: it needs network")
            for index, hop in enumerate(tunnel.chain):
                if hop.host is not None:
                    where = f"{key}.chain.{index}.host"
                    yield Problem(where, hop.host, "no value: it needs network")
            continue
        for index, hop in enumerate(tunnel.chain):
            yield from _of_hop(hop, found.topology, f"{key}.chain.{index}")
    for traffic in found.all_kinds if experiment.network is not None else ():
        relays = traffic.tunnel
        if not isinstance(relays, Relays):
            continue
        if (relays.keys.relays or 0) > len(relays.inner_hosts):
            count, (client, server) = len(relays.inner_hosts), relays.route.ends
            expected = f"at most {count}, the number of hosts between {client} and {server}"
            yield Problem(f"{found.tunnel_key(traffic)}.relays", relays.keys.relays, expected)
        elif relays.keys.chain:
            yield from _of_chain(relays, traffic)


def _of_chain(relays: Relays, traffic: Traffic) -> Iterator[Problem]:
    """Yield a problem if a carrier starts and ends on the same host."""
    name, (client, server), chain = traffic.keys.tunnel, relays.route.ends, relays.keys.chain
    key = "tunnel" if name is None else f"tunnels.{name}"
    hosts = [client, *(hop.host for hop in chain), server]
    for index, (before, host, after) in enumerate(zip(hosts, hosts[1:], hosts[2:], strict=False)):
        if host is not None and host in (before, after):
            expected = f"another host than {host}, where the carrier starts"
            yield Problem(f"{key}.chain.{index}.host", host, expected)
            return


def _of_hop(hop: Hop, topology: Topology, key: str) -> Iterator[Problem]:
    """Yield a problem if a relay has no host of the network, or has its own links."""
    if hop.host is None:
        yield Problem(f"{key}.host", MISSING, "a host, because there is a network")
        return
    try:
        topology.check_host(f"{key}.host", hop.host)
    except ConfigError as error:
        yield from error.problems
    for name in ("rate", "rtt", "loss", "buffer"):
        if getattr(hop, name) is not None:
            yield Problem(f"{key}.{name}", hop.table()[name], "no value with host")


def _of_parts(experiment: ExperimentKeys) -> Iterator[Problem]:
    """Yield problems of keys that cannot be divided among the parts of a path."""
    tunnel, path = experiment.tunnel, experiment.path
    if tunnel is None or not tunnel.relays or experiment.network is not None:
        return
    expected = "no value with tunnel.relays, which divides RTT and random loss (use tunnel.chain)"
    for key in (
        "gilbert_elliott", "policer", "reorder", "jitter", "reverse", "rtt_steps", "loss_steps",
    ):  # fmt: skip
        if getattr(path, key):
            yield Problem(f"path.{key}", str(path.model_dump()[key]), expected)
    for key in ("rtt", "loss"):
        if path.trace is not None and key in path.trace.given:
            column = f"no column of the {key} with tunnel.relays, which divides it"
            yield Problem("path.trace", str(path.trace), column)
    for index, flow in enumerate(experiment.flows):
        if flow.rtt is not None:
            yield Problem(f"flows.{index}.rtt", format_time(flow.rtt), expected)


def _of_datagrams(traffic: Traffic, key: str) -> Iterator[Problem]:
    """Yield problems of datagrams that the tunnel refuses, or that are too large.

    Hosts do not fragment them.
    """
    sent, tunnel = traffic.sent_datagrams, traffic.tunnel_keys
    if sent is None:
        return
    if tunnel is not None and (why := tunnel.entry.refuses_datagrams):
        expected = f"a tunnel that carries UDP: {tunnel.name} does not, because {why}"
        yield Problem(key, tunnel.name, expected)
        return
    header, mtu = traffic.datagram_header, traffic.below.mtu
    if sent.largest + header <= mtu:
        return
    name, given, most = "write_size", sent.largest, mtu - header
    if isinstance(traffic.keys, CrossTraffic):
        name, given, most = "packet", sent.largest + header, mtu
    elif isinstance(traffic.keys, Ping):
        name = "size"
    elif traffic.flow.traffic != "constant":
        name = "traffic"
    where = f"in {tunnel.name}" if tunnel else "(path.mtu) of the links on its route"
    packets = "" if most == mtu else f" ({mtu} with headers)"
    expected = f"at most {most}{packets}, the MTU {where}"
    yield Problem(f"{traffic.key}.{name}", given, expected)


def _of_packets(traffic: Traffic, key: str) -> Iterator[Problem]:
    """Yield a problem if the tunnel at ``key`` cannot carry the largest packets."""
    tunnel = traffic.packet_tunnel
    if tunnel is None:
        return
    keys, use = tunnel.keys, tunnel.use._replace(path_mtu=traffic.links.mtu)
    size = traffic.below.largest_packet(only_tcp=traffic.contents.only_tcp)
    where = f"{key}.under" if isinstance(traffic.tunnel, Relays) else key
    yield from problems_in(where, partial(keys.entry.check_packet, size, keys.fec, use))


def _of_transport(traffic: Traffic) -> Iterator[Problem]:
    """Yield a problem of a flow over QUIC or several paths that its tunnel, the MTU or other keys
    do not let through.
    """
    flow, tunnel = traffic.flow, traffic.tunnel_keys
    if flow.mptcp is not None:
        key = f"flows.{traffic.number}.mptcp.paths"
        paths = ", ".join(str(as_given(it)) for it in flow.mptcp.paths)
        if tunnel is not None:
            expected = (
                f"no value through {tunnel.name}, which has one path (tunnel = 'none' has none)"
            )
            yield Problem(key, paths, expected)
    if traffic.paths is not None and traffic.paths.is_mptcp:
        tcp, whose = traffic.links.on.tcp, "flows" if flow.mptcp is not None else "tunnel"
        if not tcp.timestamps:
            yield Problem("tcp.timestamps", False, f"true with {whose}.mptcp")
        if tcp.mtu_probing:
            yield Problem("tcp.mtu_probing", tcp.mtu_probing, f"0 with {whose}.mptcp")
    key = f"flows.{traffic.number}.transport"
    if flow.transport == "tcp" and tunnel is not None and (why := tunnel.entry.refuses_streams):
        yield Problem(key, flow.transport, f"udp or quic with {tunnel.name}, because {why}")
        return
    if flow.transport != "quic":
        return
    if tunnel is not None and tunnel.entry.kind == "relay":
        expected = f"tcp with {tunnel.name}, whose relays carry TCP connections"
        yield Problem(key, flow.transport, expected)
        return
    if flow.cc.needs_ecn:
        expected = "an algorithm that does without ECN, which QUIC does not have here"
        yield Problem(f"flows.{traffic.number}.cc", flow.cc.name, expected)
        return
    if flow.payload != "random":
        expected = "random over QUIC, which encrypts: no tunnel can compress it"
        yield Problem(f"flows.{traffic.number}.payload", flow.payload, expected)
        return
    from tunnelcc.catalog.quic import transport

    least, mtu = transport().first_packet(traffic.below.versions.inner), traffic.below.mtu
    if mtu < least:
        expected = f"tcp, because packets have at most {mtu} bytes, and the first of QUIC {least}"
        yield Problem(key, flow.transport, expected)


def _pay(traffic: Traffic) -> None:
    """Raise ConfigError if hosts.profile lacks the cost of an operation."""
    tunnel, transport = traffic.tunnel_keys, traffic.transport
    for side in ("client", "server"):
        traffic.app_cost(side)
        transport.host(side).context_switch(is_contained=False)
    if tunnel is not None:
        profile = costs.load(transport.shared.profile or costs.REFERENCE)
        costs.of(profile, tunnel.entry.all_operations(tunnel.mode))


def _of_writes(traffic: Traffic) -> Iterator[Problem]:
    """Yield a problem if the application's writes take too little CPU time."""
    size = traffic.flow.write_size
    for side in ("client", "server"):
        speed = traffic.transport.host(side).speed
        if 0 < size * traffic.app_cost(side) / speed < LEAST_WRITE_COST:
            expected = (
                "writes that take 1us of CPU time or more (see hosts.app_cost, hosts.speed), as a "
                "system call does"
            )
            yield Problem(f"flows.{traffic.number}.write_size", size, expected)


def _of_buffers(found: ResolvedNetwork) -> Iterator[Problem]:
    """Yield problems of queues that are too short for some packets."""
    seen: set[tuple[Any, ...]] = set()
    for traffic in found.kinds:
        others = traffic.paths.routes[1:] if traffic.paths is not None else ()
        crossed = [(it, traffic.outer_packets) for it in (*traffic.below.hops, *others)]
        crossed += [(it.route, [traffic.packet_on(it)[1]]) for it in traffic.access.values()]
        tcp, on = traffic.transport.tcp, traffic.links.on
        for hop, packets in crossed:
            for end in ("client", "server"):
                sizes = packets if end == traffic.sender else [tcp.syn_bytes(on.ip)]
                for step in hop.sent_by(end):
                    if (step, *sizes) not in seen:
                        seen.add((step, *sizes))
                        yield from problems_of_queue(on, step, sizes)
