# SPDX-License-Identifier: GPL-2.0-only
"""Where the numbers of a resolved network come from: a key, other numbers, or a default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.network.resolved import ResolvedNetwork, ResolvedTunnel
from tunnelcc.network.topology import half_of
from tunnelcc.network.traffic import Traffic
from tunnelcc.network.transport import Transport
from tunnelcc.network.tunnels import PacketTunnel
from tunnelcc.schema import Model
from tunnelcc.schema.units import format_probability, format_rate, format_size, format_time


class Number(NamedTuple):
    """A number of the network as text with its unit, and its origin.

    ``origin``: stated, derived or default. ``source``: the key that states it, what it is derived
    from, or where the default is from ("": the key's own default).
    """

    text: str
    origin: str
    source: str = ""

    @property
    def why(self) -> str:
        """What a table says of the origin: the key, what it is derived from, or default."""
        return self.source if self.origin != "default" else f"default {self.source}".rstrip()


#: Tables of keys in which a value is looked for, the first one first, and their names.
Tables = tuple[tuple[Model | None, str], ...]


def links(network: ResolvedNetwork) -> Iterator[tuple[tuple[str, str, str], dict[str, Number]]]:
    """Yield name, first host and second host, and the numbers, of each direction of a link."""
    for name, link in network.topology.links.items():
        for is_reverse in (False, True):
            ends = link.ends[::-1] if is_reverse else link.ends
            yield (name, *ends), _link(network, name, is_reverse)


def _link(network: ResolvedNetwork, name: str, is_reverse: bool) -> dict[str, Number]:
    link, tables = network.topology.links[name], _tables_of_link(network.experiment, name)
    way = link.direction(is_reverse)

    def origin(key: str) -> tuple[str, str]:
        return _origin_in_reverse(tables, key) if is_reverse else _origin(tables, key)

    rate = origin("rate")
    if rate[0] == "default" and is_reverse and way.rate is not None:
        rate = "derived", "that of the other direction"
    traced = {} if way.trace is None else dict.fromkeys(way.trace.given, way.trace)
    if "rate" in traced:
        rate = "derived", "the mean of trace"
    delay = _origin(tables, "rtt")
    if delay[0] == "stated":
        delay = "derived", f"{delay[1]} / 2"
    tunnel = network.experiment.tunnel
    if network.topology.relays and tunnel is not None and tunnel.relays:
        delay = "derived", f"path.rtt / {2 * (tunnel.relays + 1)}"
    phase = network.phases[name]
    if phase:
        delay = "derived", f"{delay[1] or 'default'}, phase"
    buffer, room = origin("buffer"), link.buffer_bytes(is_reverse)
    if room is None:
        text = "none" if way.rate is None else f"{way.buffer.packets} packets"
        buffer = buffer if way.rate is not None else ("derived", "no rate limit")
    else:
        text = format_size(room)
        if way.buffer.bytes is None:
            given = buffer[1] if buffer[0] == "stated" else "default"
            buffer = "derived", f"{way.buffer}, {given}"
    loss = Number(format_probability(way.loss), *origin("loss"))
    if "loss" in traced:
        loss = Number("varies", *origin("trace"))
    if way.gilbert_elliott is not None:
        loss = Number("in bursts", *origin("gilbert_elliott"))
    numbers = {
        "rate": Number("no limit" if way.rate is None else format_rate(way.rate), *rate),
        "delay": Number(_time(half_of(link.path.rtt, is_reverse, phase) / 1e9), *delay),
        "buffer": Number(text, *buffer),
        "loss": loss,
        "MTU": Number(format_size(link.path.mtu), *_origin(tables, "mtu")),
    }
    for key, name in (("rate", "rate"), ("rtt", "delay"), ("buffer", "buffer"), ("loss", "loss")):
        of = link.path if key == "rtt" else way
        if of.varies(key):
            where = "trace" if of.trace is not None and key in of.trace.given else f"{key}_steps"
            source = _origin(tables, where) if key == "rtt" else origin(where)
            numbers[f"{name}, changes"] = Number(str(len(of.over_time(key)) - 1), *source)
    if way.rate is not None and way.queue.name != "drop-tail":
        numbers["queue"] = Number(way.queue.name, *origin("queue"))
    if way.policer is not None:
        numbers["policer"] = Number(format_rate(way.policer.rate), *origin("policer"))
    if way.jitter:
        numbers["jitter"] = Number(format_time(way.jitter), *origin("jitter"))
    if way.reorder:
        numbers["reorder"] = Number(format_probability(way.reorder), *origin("reorder"))
    return numbers


def _time(value: float) -> str:
    """Return a time (s) to the tenth of a microsecond, which is what a phase needs."""
    return format_time(round(value, 7))


def _tables_of_link(experiment: ExperimentKeys, name: str) -> Tables:
    """Return the tables that describe a link, the most specific first."""
    network, path = experiment.network, (experiment.path, "path")
    if network is not None:
        own = (network.links.get(name), f"network.links.{name}")
        is_access = name in network.layout.access
        return own, (network.access, "network.access") if is_access else path
    tunnel = experiment.tunnel
    if name == "path" or tunnel is None or not tunnel.chain:
        return (path,)
    number = int(name.removeprefix("hop")) - 2
    return (tunnel.chain[number], f"tunnel.chain.{number}"), path


def _origin(tables: Tables, key: str) -> tuple[str, str]:
    """Return the origin of the value of ``key``: stated with its full key, or default."""
    for table, name in tables:
        if table is not None and key in table.model_fields_set:
            return "stated", f"{name}.{key}" if name else key
    return "default", ""


def stated(table: Model, name: str, key: str) -> tuple[str, str]:
    """Return the origin of ``key`` of the only ``table`` that may have it."""
    return _origin(((table, name),), key)


def _origin_in_reverse(tables: Tables, key: str) -> tuple[str, str]:
    """Return the origin of a value of a link's other direction."""
    for table, name in tables:
        if table is None:
            continue
        if f"reverse_{key}" in table.model_fields_set:
            return "stated", f"{name}.reverse_{key}"
        reverse = getattr(table, "reverse", None)
        if reverse is not None and key in reverse.model_fields_set:
            return "stated", f"{name}.reverse.{key}"
    return "default", ""


def hosts(network: ResolvedNetwork) -> Iterator[tuple[str, dict[str, Number]]]:
    """Yield the name and the numbers of each host."""
    for name, host in network.hosts.items():
        tables = _tables_of_host(network, name)
        kernel = f"kernel {host.kernel}"

        def told(key: str, value: object, tables: Tables = tables) -> Number:
            return Number(str(value), *_origin(tables, key))

        def of_kernel(
            text: str, *keys: str, tables: Tables = tables, kernel: str = kernel
        ) -> Number:
            stated = [source for key in keys if (source := _origin(tables, key)[1])]
            return Number(text, "derived", ", ".join((*stated, kernel)))

        scale = ("tcp_adv_win_scale",)
        numbers = {
            "kernel": told("kernel", host.kernel),
            "cores": told("cores", host.cores),
            "speed": told("speed", f"{host.speed:g}"),
            "receive buffer": told("tcp_rmem", format_size(host.receive_buffer)),
            "receive window": of_kernel(
                format_size(host.receive_window), "tcp_rmem", "memory", *scale
            ),
            "send buffer": of_kernel(format_size(host.tcp_wmem), "tcp_wmem"),
        }
        if host.tcp_rmem is None:
            numbers["receive buffer"] = of_kernel(numbers["receive buffer"].text, "memory")
        if host.socket_memory:
            memory = format_size(host.socket_memory)
            numbers["socket memory"] = (
                of_kernel(memory, "memory")
                if host.tcp_memory is None
                else told("tcp_memory", memory)
            )
        yield name, numbers


def _tables_of_host(network: ResolvedNetwork, name: str) -> Tables:
    """Return the tables that describe a host, the most specific first."""
    experiment = network.experiment
    shared = (experiment.hosts, "hosts")
    if experiment.network is not None:
        return (experiment.network.hosts.get(name), f"network.hosts.{name}"), shared
    side = "client" if name == "client" else "server"
    return (getattr(experiment.hosts, side), f"hosts.{side}"), shared


def _shares(layer: PacketTunnel, where: str) -> Number:
    """Return which share of the packets each route has: in both directions, if they differ."""
    assert layer.keys.uplinks is not None
    ways = [
        " : ".join(f"{100 * it:.3g}" for it in layer.uplinks_shares[end]) + " %"
        for end in ("client", "server")
    ]
    why = "derived", "rates of the routes"
    for key in ("weights", "rates"):
        if getattr(layer.keys.uplinks, key) is not None:
            why = "stated", f"{where}.{key}"
    return Number("; ".join(dict.fromkeys(ways)), *why)


def tunnel(placed: ResolvedTunnel) -> dict[str, Number]:
    """Return the numbers of a tunnel."""
    layer, keys, transport = placed.layer, placed.keys, placed.layer.transport
    key = f"tunnels.{keys.title}" if keys.title else placed.key
    device = Number("–", "derived", "it carries bytes")
    if keys.mtu is not None:
        device = Number(format_size(layer.mtu), "stated", f"{key}.mtu")
    elif keys.entry.kind != "relay":
        device = Number(format_size(layer.mtu), "derived", "entry, path MTU")
    uplinks = keys.uplinks
    plain = layer.links.on.mss(layer.outside.mtu, layer.route, layer.versions.outer)
    numbers = {
        "path MTU": Number(
            format_size(layer.outside.mtu),
            "derived",
            "its routes" if placed.routes else "its route",
        ),
        "MTU": device,
        "segment": _segment(transport, plain),
    }
    if (paths := layer.paths) is not None:
        if paths.is_mptcp:
            segment = Number(numbers["segment"].text, "derived", "path MTU, options of MPTCP")
            numbers["segment"] = segment
        where = f"{key}.{paths.keys.KEY}"
        numbers["scheduler"] = Number(paths.keys.scheduler, *stated(paths.keys, where, "scheduler"))
    if uplinks is not None:
        where = f"{key}.uplinks"
        numbers["routes"] = Number(uplinks.use, *stated(uplinks, where, "use"))
        if uplinks.use in ("weights", "measured") and isinstance(layer, PacketTunnel):
            numbers["shares" if uplinks.use == "weights" else "first shares"] = _shares(
                layer, where
            )
        if uplinks.reorder_size:
            size = f"{uplinks.reorder_size} packets"
            numbers["reorder buffer"] = Number(size, *stated(uplinks, where, "reorder_size"))
            time = uplinks.reorder_time
            numbers["waits"] = Number(
                "2.2 × (RTT + 4 × variation)" if time is None else format_time(time),
                *(("default", "entry") if time is None else stated(uplinks, where, "reorder_time")),
            )
        if uplinks.has_probes(keys.entry):
            probes = uplinks.probes(keys.entry)
            fails = f"{probes.fail_after} × {format_time(probes.probe_interval)}"
            numbers["fails after"] = Number(fails, *stated(uplinks, where, "fail_after"))
    is_datagram = not keys.entry.HAS_CARRIERS
    if is_datagram and isinstance(layer, PacketTunnel) and keys.receive_buffer is not None:
        packets = f"{layer.socket_queue} packets"
        numbers["socket"] = Number(packets, "derived", f"{key}.receive_buffer")
    if "send_buffer" in keys.entry.overrides:
        room, window = transport.sending.tcp_wmem, transport.receive_window
        sent, received = Number(format_size(room), "derived", "sender"), _received(window)
        if keys.send_buffer is not None:
            room = transport.send_buffer_of(keys.send_buffer)
            sent = Number(format_size(room), "derived", f"{key}.send_buffer")
        if keys.receive_buffer is not None:
            window = transport.window_of(keys.receive_buffer)
            received = _received(window, f"{key}.receive_buffer")
        numbers |= {"send buffer": sent, "receive window": received}
    return numbers


def _received(window: int, source: str = "receiver") -> Number:
    return Number(format_size(window), "derived", source)


def _segment(transport: Transport, plain: int) -> Number:
    """Return the payload of a full segment. ``plain``: it on the links, without a tunnel."""
    text = format_size(transport.mss)
    if transport.mss == transport.tcp.mss:
        return Number(text, *stated(transport.tcp, "tcp", "mss"))
    return Number(text, "derived", "path MTU" if transport.mss == plain else "tunnel MTU")


def flow(network: ResolvedNetwork, traffic: Traffic) -> dict[str, Number]:
    """Return the numbers of equal flows, but for their fair share."""
    own, experiment = traffic.flow, network.experiment
    rtt = Number(format_time(traffic.rtt), "derived", "its links")
    if own.rtt is not None:
        rtt = Number(rtt.text, "stated", f"flows.{traffic.number}.rtt")
    elif experiment.network is None:
        rtt = Number(rtt.text, *stated(experiment.path, "path", "rtt"))
    alike = (number for number, it in enumerate(network.flows) if it.traffic is traffic)
    phases = sorted({network.phase(number) for number in alike})
    if phases[-1] > 0:
        longer = " to ".join(map(_time, dict.fromkeys((phases[0], phases[-1]))))
        rtt = Number(f"{rtt.text} + {longer}", "derived", f"{rtt.source or 'default'}, phase")
    rates = [(network.direction(step).rate, share) for step, share in traffic.loads.items()]
    limits = [rate / share for rate, share in rates if rate is not None and share > 0]
    bdp = Number("–", "derived", "no rate limit")
    if len(traffic.below.hops) > 1:
        bdp = Number("–", "derived", "of each carrier")
    elif limits:
        size = round(min(limits) * traffic.rtt / 8)
        bdp = Number(format_size(size), "derived", "rate × RTT")
    window = _received(traffic.transport.receive_window)
    if traffic.asked_window is not None:
        window = _received(traffic.asked_window, f"flows.{traffic.number}.window")
    segment = _segment(traffic.transport, traffic.links.mss)
    numbers = {"RTT": rtt, "BDP": bdp, "segment": segment, "window": window}
    if (paths := traffic.multipath) is not None:
        key = f"flows.{traffic.number}.mptcp"
        segment = Number(segment.text, "derived", "path MTU, options of MPTCP")
        scheduler = Number(paths.keys.scheduler, *stated(paths.keys, key, "scheduler"))
        numbers |= {"segment": segment, "scheduler": scheduler}
    return numbers
