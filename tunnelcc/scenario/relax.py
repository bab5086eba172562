# SPDX-License-Identifier: GPL-2.0-only
"""Experiments with one limit relaxed: twice the value, or none.

A key's table declares how it is relaxed (``schema.Relaxed``). Here are the keys that an experiment
has, with what a default of None stands for, and what keeps them in step with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from tunnelcc.config.path import HOST_MTU, SHORT_FORMS, DuplexLink, LinkDirection
from tunnelcc.config.tunnel import KcpKeys, Tunnel, Under
from tunnelcc.errors import unknown_name
from tunnelcc.scenario.experiment import Experiment
from tunnelcc.schema import Model, kind_of, relaxed_of
from tunnelcc.schema.units import Buffer, format_rate, format_time

if TYPE_CHECKING:
    from tunnelcc.network.resolved import ResolvedNetwork

#: A limit is relaxed by this factor. Factors of 1.25 to 4 name the same limit.
FACTOR = 2.0
# A rate that is set is lowered to this part of the narrowest link, which headers need, too.
_BELOW_LINK = 0.93
# Datagrams wait behind what others send: a smaller buffer may help them.
_SHORTER = 1 / 4
#: Ends the name of a key that is lowered.
LOWERED = " lowered"


class Change(NamedTuple):
    """A key that is relaxed. ``settings``: of Experiment.with_(). ``before`` and ``after``: as in a
    scenario. ``lowers``: whether it is lowered.
    """

    key: str
    settings: Mapping[str, Any]
    before: Any
    after: Any
    lowers: bool = False

    @property
    def name(self) -> str:
        """The key, and whether it is lowered."""
        return self.key + LOWERED * self.lowers


def relax(experiment: Experiment, *names: str, factor: float = FACTOR) -> Experiment:
    """Return the experiment with some keys relaxed, by their names in changes().

    Raises ConfigError for a name that is none of those, or for a value that is not possible.

        >>> tc.relax(tc.Experiment(), "path.rate").path.rate / tc.Experiment().path.rate
        2.0
    """
    known = changes(experiment, factor)
    for name in names:
        if name not in known:
            raise unknown_name("key that can be relaxed", name, known)
    return relaxed(experiment, [known[name] for name in names])


def relaxed(experiment: Experiment, those: Iterable[Change]) -> Experiment:
    """Return the experiment with the ``changes`` made. Raises ConfigError."""
    settings: dict[str, Any] = {}
    for it in those:
        settings |= it.settings
    return experiment.with_(settings)


def changes(experiment: Experiment, factor: float = FACTOR) -> dict[str, Change]:
    """Return each key of the experiment that may limit, by its name, with how it is relaxed."""
    found: dict[str, Change] = {}
    for it in _all(experiment.resolved, factor):
        if it.before != it.after:
            found.setdefault(it.name, it)
    return found


def _all(network: ResolvedNetwork, factor: float) -> Iterator[Change]:
    experiment = network.experiment
    yield from _of_links(network, factor)
    if any(flow.transport == "udp" for flow in experiment.flows):
        shorter = (it for it in _of_links(network, _SHORTER) if it.key.endswith("buffer"))
        yield from (it._replace(lowers=True) for it in shorter)
    yield from _of_table("tcp", experiment.tcp, {}, factor)
    yield from _of_hosts(network, factor)
    for number, flow in enumerate(experiment.flows):
        values: dict[str, Any] = {}
        if flow.transport == "quic":
            from tunnelcc.catalog.quic import transport

            values = _quic_windows(transport().with_windows(flow.windows))
        elif flow.transport == "udp":
            values = {"rate": None}  # what is sent, and no limit
        prefix = f"flows.{number}"
        yield from _of_table(prefix, flow, values, factor)
        own = flow.cc.parameters.get("rate") if flow.transport != "udp" else None
        if isinstance(own, float):  # bytes/s
            yield from _of_set_rate(network, f"{prefix}.cc.rate", 8 * own, factor, {})
    seen = set[str]()
    for number, placed in enumerate(network.tunnels):
        key = _table_of(network, number)
        if key not in seen:
            seen.add(key)
            yield from _of_tunnel(network, key, placed.keys, placed.sender, factor)


def _of_table(
    prefix: str,
    table: Model,
    values: Mapping[str, Any],
    factor: float,
    base: Mapping[str, Any] | None = None,
) -> Iterator[Change]:
    """Yield the keys of a table. ``values``: those that differ from its own, as what None stands
    for. ``base``: settings that each needs.
    """
    for name, field in type(table).model_fields.items():
        how = relaxed_of(field)
        before = values.get(name, getattr(table, name))
        is_told = name in _OF_LINKS and isinstance(table, LinkDirection)
        if how is None or before is None or is_told:
            continue
        kind = kind_of(field)
        after = how.to if how.to is not None else _more(before, factor)
        write: Callable[[Any], Any] = kind.format if kind is not None else str
        written = after if isinstance(after, str) else write(after)
        key = f"{prefix}.{name}"
        yield Change(key, {**(base or {}), key: written}, _shown(write(before)), _shown(written))


def _shown(value: Any) -> Any:
    return (
        value
        if isinstance(value, (str, bool))
        else f"{value:g}"
        if isinstance(value, float)
        else value
    )


def _more(value: Any, factor: float) -> Any:
    if isinstance(value, Buffer):
        return value.times(factor)
    more = value * factor
    return round(more) if isinstance(value, int) else float(f"{more:.6g}")


# Links -------------------------------------------------------------------------------------------

#: What links have over time, too, in steps or in a trace.
_OF_LINKS = ("rate", "loss", "buffer", "queue", "mtu", *SHORT_FORMS)


def _of_links(network: ResolvedNetwork, factor: float) -> Iterator[Change]:
    experiment = network.experiment
    routes = [*(it.traffic.links.route for it in network.everyone), *chain(*network.several_routes)]
    used = {step for it in routes for step in it.steps}
    for name, link in network.topology.links.items():
        ways = [is_reverse for step, is_reverse in used if step == name]
        if experiment.network is None:
            yield from _of_path_link(network, name, link.path, factor)
            continue
        if not ways:
            continue
        prefix = f"network.links.{name}"
        given = experiment.network.links.get(name)
        yield from _of_link(prefix, link.path, given, factor)


def _of_path_link(
    network: ResolvedNetwork, name: str, path: DuplexLink, factor: float
) -> Iterator[Change]:
    experiment, tunnel = network.experiment, network.experiment.tunnel
    if name == "path":
        # With relays that divide it, the path's own keys are those of all parts.
        yield from _of_link(
            "path",
            experiment.path.symmetric() if _is_both(network) else experiment.path,
            experiment.path,
            factor,
        )
        return
    if tunnel is None or not tunnel.chain:
        return
    number = int(name.removeprefix("hop")) - 2
    hop, prefix = tunnel.chain[number], f"tunnel.chain.{number}"
    for key in ("rate", "loss", "buffer"):
        if getattr(hop, key) is not None:
            yield from (it for it in _of_way(prefix, path, factor) if it.key == f"{prefix}.{key}")


def _is_both(network: ResolvedNetwork) -> bool:
    return network.topology.links["path"].backward.rate is not None


def _of_link(
    prefix: str, link: DuplexLink, given: DuplexLink | None, factor: float
) -> Iterator[Change]:
    """Yield the keys of a link, of both directions. ``given``: its own table."""
    yield from _of_way(prefix, link, factor)
    if link.mtu < HOST_MTU:
        yield Change(f"{prefix}.mtu", {f"{prefix}.mtu": HOST_MTU}, link.mtu, HOST_MTU)
    yield from _of_table(prefix, link, {}, factor)
    back = link.backward
    short = {name for name in SHORT_FORMS if given is not None and name in given.model_fields_set}
    for it in (
        *_of_way(f"{prefix}.reverse", back, factor),
        *_of_table(f"{prefix}.reverse", back, {}, factor),
    ):
        name = f"reverse_{it.key.rpartition('.')[2]}"
        if name in short and it.key == f"{prefix}.reverse.{name.removeprefix('reverse_')}":
            key = f"{prefix}.{name}"
            yield Change(key, {key: it.after}, it.before, it.after)
        else:
            yield it


def _of_way(prefix: str, way: LinkDirection, factor: float) -> Iterator[Change]:
    """Yield rate, loss, buffer and queue of a direction, with their steps or trace."""
    if way.rate is not None:
        yield _over_time(prefix, way, "rate", format_rate, lambda it: it * factor)
        yield _over_time(prefix, way, "buffer", str, lambda it: it.times(factor))
        if way.queue.name != "drop-tail":
            key = f"{prefix}.queue"
            yield Change(key, {key: "drop-tail"}, way.queue.name, "drop-tail")
        bandwidth = getattr(way.queue, "bandwidth", None)
        if bandwidth is not None:
            key, more = f"{prefix}.queue.bandwidth", format_rate(bandwidth * factor)
            yield Change(key, {key: more}, format_rate(bandwidth), more)
    if way.policer is not None:
        yield from _of_table(f"{prefix}.policer", way.policer, {}, factor)
    if way.gilbert_elliott is not None:
        key = f"{prefix}.gilbert_elliott"
        yield Change(key, {key: None}, "in bursts", "none")
    else:
        yield _over_time(prefix, way, "loss", lambda it: f"{100 * it:g}%", lambda _: 0.0)


def _over_time(
    prefix: str,
    way: LinkDirection,
    name: str,
    write: Callable[[Any], str],
    change: Callable[[Any], Any],
) -> Change:
    """Return the change of a value, of its steps, or of its trace."""
    key, before = f"{prefix}.{name}", way.over_time(name)
    values = [write(it) for _, it in before]
    after = [(at, change(it)) for at, it in before]
    new = [write(it) for _, it in after]
    if way.trace is not None and name in way.trace.given:
        steps: dict[str, Any] = {name: tuple(after) if name != "loss" else ()}
        trace = replace(way.trace, **steps)
        settings: dict[str, Any] = {f"{prefix}.trace": trace if trace.given else None}
        if name == "rate" and way.rate is not None:
            settings[key] = write(change(way.rate))
        key = f"{prefix}.trace"
    elif len(before) > 1:
        later = [[format_time(at), write(it)] for at, it in after[1:]]
        settings = {key: new[0], f"{key}_steps": later if name != "loss" else []}
        key = f"{key}_steps"
    else:
        settings = {key: new[0]}
    return Change(key, settings, _span(values), _span(new))


def _span(values: list[str]) -> str:
    return values[0] if len({*values}) == 1 else f"{values[0]}, …"


# Hosts -------------------------------------------------------------------------------------------


def _of_hosts(network: ResolvedNetwork, factor: float) -> Iterator[Change]:
    experiment = network.experiment
    hosts = experiment.hosts
    yield from _of_table(
        "hosts", hosts, {"tcp_rmem": hosts.receive_buffer, "kernel": hosts.kernel}, factor
    )
    of_sides = [("hosts.client", hosts.client), ("hosts.server", hosts.server)]
    if experiment.network is not None:
        of_sides = [(f"network.hosts.{it}", own) for it, own in experiment.network.hosts.items()]
    for prefix, own in of_sides:
        yield from _of_table(prefix, own, {}, factor)


# Tunnels -----------------------------------------------------------------------------------------


def _table_of(network: ResolvedNetwork, number: int) -> str:
    """Return the table in which keys of a tunnel can be set: that of ``tunnels`` for a name."""
    placed, experiment = network.tunnels[number], network.experiment
    above = (it for it, other in enumerate(network.tunnels) if other.lower == number)
    owner = next(above, None if placed.hop is None else placed.owner)
    if placed.name in experiment.tunnels:
        return f"tunnels.{placed.name}"
    if owner is not None:
        return f"{_table_of(network, owner)}.under"
    first, _, rest = placed.key.partition(".")
    if first in ("tunnel", "tunnels"):
        return placed.key
    entry = getattr(experiment, first)[int(rest.partition(".")[0])]
    return f"tunnels.{entry.tunnel}"


def _of_tunnel(
    network: ResolvedNetwork, key: str, tunnel: Tunnel, sender: str, factor: float
) -> Iterator[Change]:
    experiment, name = network.experiment, key.removeprefix("tunnels.")
    is_below = key.endswith(".under")
    is_named = name in experiment.tunnels or key == "tunnel"
    base = {} if is_named else {f"{key}.name": tunnel.name}
    values = _of_entry(tunnel, sender)
    rate, values["rate"] = tunnel.rate, None
    for it in _of_table(key, tunnel, values, factor, base):
        if not is_below or it.key.rpartition(".")[2] in Under.model_fields:
            yield it
    if is_below:
        return
    if rate:
        yield from _of_set_rate(network, f"{key}.rate", rate, factor, base)
    entry: Any = tunnel.entry
    if (kcp := getattr(entry, "kcp", None)) is not None:
        own = tunnel.kcp or KcpKeys()
        mode = kcp.mode_with(tunnel.mode, own.table())
        sizes = {
            f"{side}_{what}_window": getattr(own, f"{side}_{what}_window")
            or getattr(kcp.windows, f"{side}_{what}")
            for side in ("client", "server")
            for what in ("send", "receive")
        }
        # A mode sets it; by hand, all that the mode sets has to be given.
        by_hand = {
            f"{key}.mode": "manual",
            f"{key}.kcp.nodelay": mode.nodelay,
            f"{key}.kcp.resend": mode.resend,
            f"{key}.kcp.interval": format_time(mode.interval),
        }
        values = {**sizes, "congestion": mode.congestion}
        for it in _of_table(f"{key}.kcp", own, values, factor, base):
            is_set = it.key.endswith(".congestion")
            yield it._replace(settings=by_hand | dict(it.settings)) if is_set else it


def _of_entry(tunnel: Tunnel, sender: str) -> dict[str, Any]:
    """Return what keys of a tunnel stand for that are not given."""
    entry: Any = tunnel.entry
    values: dict[str, Any] = {}
    if (device := getattr(entry, "device", None)) is not None:
        values["queue"] = tunnel.queue or device.queue
    if (socket := getattr(entry, "socket", None)) is not None and socket.packet is not None:
        values["receive_buffer"] = tunnel.receive_buffer or socket.asks
    if hasattr(entry, "asked_buffer") and "receive_buffer" in entry.overrides:
        values["receive_buffer"] = tunnel.receive_buffer or entry.asked_buffer
    if (datagrams := getattr(entry, "datagrams", None)) is not None:
        values["datagram_queue"] = tunnel.datagram_queue or datagrams.queue
    elif (quic := getattr(entry, "quic", None)) is not None:
        values |= _quic_windows(quic)
    if (mux := getattr(entry, "mux", None)) is not None:
        windows = mux.to_server if sender == "client" else mux.to_client
        values |= {
            "stream_window": tunnel.stream_window or windows.stream_window or None,
            "connection_window": tunnel.connection_window or windows.session_window or None,
            "session_buffer": tunnel.session_buffer or windows.session_buffer or None,
        }
    if (copy := getattr(entry, "copy_buffer", None)) is not None:
        values["copy_buffer"] = tunnel.copy_buffer or copy.bytes
    return values


def _quic_windows(quic: Any) -> dict[str, int | None]:
    """Return the windows of QUIC, bytes. First ones are told if they grow."""
    found = {}
    for name, it in (("stream", quic.stream), ("connection", quic.connection)):
        found[f"{name}_window"] = it.most or None
        found[f"first_{name}_window"] = it.first if it.first < it.most else None
    return found


def _of_set_rate(
    network: ResolvedNetwork, key: str, rate: float, factor: float, base: Mapping[str, Any]
) -> Iterator[Change]:
    """Yield a rate that is set, raised, and lowered below the narrowest link of the first flow."""
    before, more = format_rate(rate), format_rate(float(f"{factor * rate:.6g}"))
    yield Change(key, {**base, key: more}, before, more)
    ways = (network.direction(step) for step in network.first.loads)
    narrowest = min((min([way.rate or inf, *way.caps]) for way in ways), default=inf)
    less = _BELOW_LINK * narrowest
    if less < rate:
        lower = format_rate(float(f"{less:.3g}"))
        yield Change(key, {**base, key: lower}, before, lower, lowers=True)
