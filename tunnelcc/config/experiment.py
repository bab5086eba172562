# SPDX-License-Identifier: GPL-2.0-only
"""One simulation: its keys, and the checks that they agree with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import model_validator

from tunnelcc import core
from tunnelcc.config import derived
from tunnelcc.config.derived import buffer_bytes
from tunnelcc.config.flow import LEAST_WRITE_COST, MAX_FLOWS, Flow
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.layout import Layout, Placed, layout
from tunnelcc.config.path import LinkDirection
from tunnelcc.config.settings import apply
from tunnelcc.config.topology import Step, problems_of_network
from tunnelcc.config.tunnel import Hop, Tunnel
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.hosts import costs
from tunnelcc.schema import with_units
from tunnelcc.schema.units import Buffer, format_time


class Experiment(ExperimentKeys):
    """One simulation: a network, its flows and the tunnels they go through.

    Values are text with units, as in a scenario file. A table may be written as a dict. Attributes
    hold SI units (bit/s, seconds, bytes); fractional numbers (0.04, not 40) may be given in them,
    too. A wrong key or value raises ConfigError.
    """

    def with_(self, settings: Mapping[str, Any]) -> Experiment:
        """Return a copy of this experiment with other values for some keys.

        ``settings`` maps dotted keys to values, as ``--set`` does: ``{"path.loss": "1%", "cc":
        "bbr"}``. Fractional numbers are in SI units, as attributes are: ``{"path.rtt": 2 *
        experiment.path.rtt}``. The copy is checked. Raises ConfigError.
        """
        given = self.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=True)
        changed: Experiment = Experiment.parse(apply(given, with_units(Experiment, settings)))
        return changed

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        problems = list(self._problems())
        if problems:
            raise ConfigError(*problems)
        return self

    def _problems(self) -> Iterator[Problem]:
        count = sum(flow.count for flow in self.flows)
        if count > MAX_FLOWS:
            yield Problem("flows", count, f"at most {MAX_FLOWS} flows in total")
            return
        if self.warmup >= self.duration:
            expected = f"a time before the end (duration = {format_time(self.duration)!r})"
            yield Problem("warmup", format_time(self.warmup), expected)
        if self.probe_interval > self.duration:
            given = format_time(self.probe_interval)
            shorter = f"set it, too: probe_interval = {format_time(self.duration / 10)!r}"
            hint = "" if "probe_interval" in self.model_fields_set else shorter
            yield Problem("probe_interval", given, "at most the duration", hint)
        for index, flow in enumerate(self.flows):
            yield from self._problems_of_flow(index, flow)
        for index, source in enumerate(self.cross_traffic):
            if source.start >= self.duration:
                expected = "a time before the end of the run"
                yield Problem(f"cross_traffic.{index}.start", format_time(source.start), expected)
        misplaced = list(problems_of_network(self))
        yield from misplaced or self._problems_of_layout()

    def _problems_of_flow(self, index: int, flow: Flow) -> Iterator[Problem]:
        for key in ("start", "data_start"):
            moment = getattr(flow, key)
            if moment is not None and moment >= self.duration:
                expected = "a time before the end of the run"
                yield Problem(f"flows.{index}.{key}", format_time(moment), expected)
        if flow.preamble == 0 and (flow.direction or self.direction) == "down":
            expected = (
                "at least 1 byte if direction is down, because the server waits for a request"
            )
            yield Problem(f"flows.{index}.preamble", 0, expected)

    def _problems_of_layout(self) -> Iterator[Problem]:
        """Yield problems of the keys on the network."""
        found = layout(self)
        relays = list(self._problems_of_declared_tunnels(found))
        if relays:
            yield from relays
            return
        yield from self._problems_of_tunnels(found)
        yield from self._problems_of_parts()
        yield from self._problems_of_cross_traffic(found)
        narrow = False
        told: set[Problem] = set()
        for placed in found.distinct_flows:
            view = found.view(placed)
            yield from self._problems_of_rtt(found, placed)
            missing = list(_segment_problems(view, found.tunnel_key(placed)))
            missing = missing or list(_transport_problems(view, placed))
            missing = missing or list(_packet_problems(view, found.tunnel_key(placed)))
            missing = missing or list(_missing_costs(view, placed))
            narrow = narrow or bool(missing)
            for problem in missing or _small_writes(view, placed):
                if problem not in told:
                    told.add(problem)
                    yield problem
        yield from (it for it in _segment_problems(self, "tunnel") if it not in told)  # unused, too
        if not narrow:
            yield from dict.fromkeys(self._buffer_problems(found))

    def _problems_of_rtt(self, found: Layout, placed: Placed) -> Iterator[Problem]:
        """Yield a problem if a flow's RTT is below the delay of the links on its route."""
        rtt = placed.flow.rtt
        if self.network is None or rtt is None:
            return
        route = found.hops(placed)[0]
        least = found.topology.delay(route.to_server + route.to_client)
        if rtt < least:
            expected = f"{format_time(least)} or more, the RTT of the links on its route"
            yield Problem(f"flows.{placed.group}.rtt", format_time(rtt), expected)

    def _problems_of_tunnels(self, found: Layout) -> Iterator[Problem]:
        """Yield problems of flows in one tunnel that differ where they must be equal."""
        firsts: dict[tuple[int, int], Flow] = {}
        for placed in found.distinct_flows:
            if placed.tunnel is None:
                continue
            tunnel, flow = found.tunnels[placed.tunnel], placed.flow
            first = tunnel.first.flow
            if flow.payload != first.payload:
                group = tunnel.first.group
                expected = (
                    f"the payload of flows.{group}: all flows in a tunnel have the same payload"
                )
                yield Problem(f"flows.{placed.group}.payload", flow.payload, expected)
            if flow.rtt is not None and tunnel.tunnel.has_one_path:
                expected = (
                    f"no value with {tunnel.tunnel.name}: all its flows have the RTT path.rtt"
                )
                yield Problem(f"flows.{placed.group}.rtt", format_time(flow.rtt), expected)
        for placed in found.flows:
            if placed.tunnel is None:
                continue
            if not found.tunnels[placed.tunnel].tunnel.entry.HAS_CARRIERS:
                continue  # connections of their own, which only share a device
            first = firsts.setdefault((placed.tunnel, placed.carrier), placed.flow)
            if placed.flow.rtt != first.rtt:
                given = placed.flow.rtt if placed.flow.rtt is not None else first.rtt
                expected = "the same value for all flows on one carrier (see tunnel.carriers)"
                yield Problem(f"flows.{placed.group}.rtt", format_time(given or 0), expected)
                return

    def _problems_of_declared_tunnels(self, found: Layout) -> Iterator[Problem]:
        """Yield problems of relays without a host, and of durations longer than the run."""
        tunnels = {"tunnel": self.tunnel} | {f"tunnels.{n}": it for n, it in self.tunnels.items()}
        for key, tunnel in tunnels.items():
            if tunnel is None:
                continue
            for where, it in ((key, tunnel), (f"{key}.under", tunnel.under)):
                if it is not None and (it.fec_timeout or 0) > self.duration:
                    given, most = format_time(it.fec_timeout or 0), format_time(self.duration)
                    yield Problem(f"{where}.fec_timeout", given, f"at most {most}, the duration")
            if self.network is None:
                if key != "tunnel" and (tunnel.chain or tunnel.relays):
                    name = "chain" if tunnel.chain else "relays"
                    yield Problem(f"{key}.{name}", MISSING, "no value: it needs network")
                for index, hop in enumerate(tunnel.chain):
                    if hop.host is not None:
                        where = f"{key}.chain.{index}.host"
                        yield Problem(where, hop.host, "no value: it needs network")
                continue
            for index, hop in enumerate(tunnel.chain):
                yield from _problems_of_hop(hop, found, f"{key}.chain.{index}")
        for placed in found.distinct_flows if self.network is not None else ():
            tunnel = self.tunnel_of(placed.flow)
            if tunnel is not None and (tunnel.relays or 0) > len(found.inner_hosts(placed)):
                count = len(found.inner_hosts(placed))
                expected = (
                    f"at most {count}, the number of hosts between {placed.client} and "
                    f"{placed.server}"
                )
                yield Problem(f"{found.tunnel_key(placed)}.relays", tunnel.relays, expected)
            elif tunnel is not None and tunnel.chain:
                yield from _problems_of_chain(tunnel, placed)

    def _problems_of_parts(self) -> Iterator[Problem]:
        """Yield problems of keys that cannot be divided among the parts of a path."""
        if self.tunnel is None or not self.tunnel.relays or self.network is not None:
            return
        expected = (
            "no value with tunnel.relays, which divides RTT and random loss (use tunnel.chain)"
        )
        for key in ("gilbert_elliott", "policer", "reorder", "jitter", "reverse"):
            if getattr(self.path, key):
                yield Problem(f"path.{key}", str(self.path.model_dump()[key]), expected)
        for index, flow in enumerate(self.flows):
            if flow.rtt is not None:
                yield Problem(f"flows.{index}.rtt", format_time(flow.rtt), expected)

    def _problems_of_cross_traffic(self, found: Layout) -> Iterator[Problem]:
        """Yield problems of datagrams that do not fit on a link: hosts do not fragment them."""
        for index, source in enumerate(self.cross_traffic):
            route, sender = found.cross_traffic(index)
            links = (found.topology.links[step.link].path for step in route.sent_by(sender))
            mtu = min((link.mtu for link in links), default=source.packet)
            if source.packet > mtu:
                expected = f"at most {mtu}, the MTU (path.mtu) of the links on its route"
                yield Problem(f"cross_traffic.{index}.packet", source.packet, expected)

    def _buffer_problems(self, found: Layout) -> Iterator[Problem]:
        """Yield problems of queues that are too short for some packets."""
        seen: set[tuple[Any, ...]] = set()
        for placed in found.distinct_flows:
            view = found.view(placed)
            packets = derived.outer_packets(view)
            for hop in found.hops(placed):
                for end in ("client", "server"):
                    sizes = packets if end == placed.sender else [self.tcp.syn_bytes]
                    for step in hop.sent_by(end):
                        if (step, *sizes) not in seen:
                            seen.add((step, *sizes))
                            yield from self._queue_problems(found, step, sizes)

    def _queue_problems(
        self, found: Layout, step: Step, packets: Sequence[int]
    ) -> Iterator[Problem]:
        """``packets``: IP bytes of the packets that arrive at once."""
        link, key = found.topology.links[step.link].path, found.link_key(step.link)
        direction: LinkDirection = link
        prefix, alias = f"{key}.", "buffer"
        if step.is_reverse:
            direction, prefix = link.backward, f"{key}.reverse."
            if link.reverse is None or link.reverse.rate is None:
                prefix, alias = f"{key}.", "reverse_buffer"
        if direction.policer is not None and direction.policer.burst < max(packets):
            expected = f"room for one packet of {max(packets)} bytes"
            yield Problem(f"{prefix}policer.burst", direction.policer.burst, expected)
        if direction.rate is None:
            return
        bytes_of = partial(derived.queue_bytes, tcp=self.tcp, link=link, rate=direction.rate)
        for problem in direction.queue.problems(bytes_of):
            yield problem.below(f"{prefix}queue")
        framed = [size + link.framing_bytes for size in packets]
        yield from _too_small(
            direction.buffer, direction.rate, link.rtt, framed, f"{prefix}{alias}"
        )


def _problems_of_chain(tunnel: Tunnel, placed: Placed) -> Iterator[Problem]:
    """Yield a problem if a carrier starts and ends on the same host."""
    key = "tunnel" if placed.flow.tunnel is None else f"tunnels.{placed.flow.tunnel}"
    hosts = [placed.client, *(hop.host for hop in tunnel.chain), placed.server]
    for index, (before, host, after) in enumerate(zip(hosts, hosts[1:], hosts[2:], strict=False)):
        if host is not None and host in (before, after):
            expected = f"another host than {host}, where the carrier starts"
            yield Problem(f"{key}.chain.{index}.host", host, expected)
            return


def _problems_of_hop(hop: Hop, found: Layout, key: str) -> Iterator[Problem]:
    """Yield a problem if a relay has no host of the network, or has its own links."""
    if hop.host is None:
        yield Problem(f"{key}.host", MISSING, "a host, because there is a network")
        return
    try:
        found.topology.check_host(f"{key}.host", hop.host)
    except ConfigError as error:
        yield from error.problems
    for name in ("rate", "rtt", "loss", "buffer"):
        if getattr(hop, name) is not None:
            yield Problem(f"{key}.{name}", hop.table()[name], "no value with host")


def _segment_problems(view: ExperimentKeys, key: str) -> Iterator[Problem]:
    """Yield a problem if the path is too narrow for the tunnel at ``key``."""
    try:
        derived.mss(view)
    except ConfigError as error:
        yield from error.below(key).problems


def _packet_problems(view: ExperimentKeys, key: str) -> Iterator[Problem]:
    """Yield a problem if the tunnel at ``key`` cannot carry the largest packets."""
    tunnel = derived.lowest_tunnel(view)
    if tunnel is None:
        return
    size, mtu = derived.largest_packet(view), view.path.mtu
    try:
        tunnel.entry.check_packet(size, mtu, tunnel.mode, tunnel.mtu, tunnel.fec)
    except ConfigError as error:
        yield from error.below(key if tunnel is view.tunnel else f"{key}.under").problems


def _transport_problems(view: ExperimentKeys, placed: Placed) -> Iterator[Problem]:
    """Yield a problem of a flow over QUIC that its tunnel or the MTU does not let through."""
    if placed.flow.transport == "tcp":
        return
    key = f"flows.{placed.group}.transport"
    if view.tunnel is not None and view.tunnel.entry.kind == "relay":
        expected = f"tcp with {view.tunnel.name}, whose relays carry TCP connections"
        yield Problem(key, placed.flow.transport, expected)
        return
    if core.needs_ecn(placed.flow.cc.name):
        expected = "an algorithm that does without ECN, which QUIC does not have here"
        yield Problem(f"flows.{placed.group}.cc", placed.flow.cc.name, expected)
        return
    if placed.flow.payload != "random":
        expected = "random over QUIC, which encrypts: no tunnel can compress it"
        yield Problem(f"flows.{placed.group}.payload", placed.flow.payload, expected)
        return
    from tunnelcc.catalog.quic import transport

    least, mtu = transport().first_packet, derived.inner_mtu(view)
    if mtu < least:
        expected = f"tcp, because packets have at most {mtu} bytes, and the first of QUIC {least}"
        yield Problem(key, placed.flow.transport, expected)


def _missing_costs(view: ExperimentKeys, placed: Placed) -> Iterator[Problem]:
    """Yield a problem if hosts.profile lacks the cost of an operation."""
    try:
        for side in ("client", "server"):
            derived.app_cost(view, side, placed.flow.transport)
            derived.switch_cost(view.hosts.of(side), is_contained=False)
        if view.tunnel is not None:
            profile = costs.load(view.hosts.profile or costs.REFERENCE)
            costs.of(profile, view.tunnel.entry.all_operations(view.tunnel.mode))
    except ConfigError as error:
        yield from error.below("hosts.profile").problems


def _small_writes(view: ExperimentKeys, placed: Placed) -> Iterator[Problem]:
    for side in ("client", "server"):
        cost = derived.app_cost(view, side, placed.flow.transport)
        per_byte = cost / view.hosts.of(side).speed
        if 0 < placed.flow.write_size * per_byte < LEAST_WRITE_COST:
            expected = (
                "writes that take 1us of CPU time or more (see hosts.app_cost, "
                "hosts.speed), as a system call does"
            )
            yield Problem(f"flows.{placed.group}.write_size", placed.flow.write_size, expected)


def _too_small(
    buffer: Buffer, rate: float, rtt: float, packets: Sequence[int], key: str
) -> Iterator[Problem]:
    """Yield a problem if a queue is too short for ``packets`` (bytes) that arrive at once.

    The link sends one of them; the others must fit into the queue.
    """
    waiting = packets[1:]
    if buffer.packets is not None:
        if buffer.packets < len(waiting):
            expected = f"room for all fragments of a packet but one ({len(packets)} fragments)"
            yield Problem(key, str(buffer), expected)
        return
    room, needed = buffer_bytes(buffer, rate, rtt), max([*packets, sum(waiting)])
    what = "one packet" if needed == max(packets) else "all fragments of a packet but one"
    if room < needed:
        expected = f"room for {what} ({needed} bytes)"
        yield Problem(key, str(buffer), expected, f"this buffer is {room} bytes")
