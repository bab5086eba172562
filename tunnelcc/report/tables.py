# SPDX-License-Identifier: GPL-2.0-only
"""Tables for the terminal: results of a run, and the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table as Grid

from tunnelcc import catalog, core, payloads
from tunnelcc.errors import ConfigError, Problem, nearest, unknown_name
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.metrics import limits, path_leg
from tunnelcc.output.tables import Table, console
from tunnelcc.schema import keys_of, listed_as
from tunnelcc.schema.units import format_size, format_time

if TYPE_CHECKING:
    import xarray

    from tunnelcc.config import Experiment
    from tunnelcc.formats.measurement import Measurement
    from tunnelcc.hosts.costs import Profile
    from tunnelcc.report.overview import Overview
    from tunnelcc.simulation.result import Result

# With more flows than this, a table shows those of each group as one line.
_MOST_ROWS = 16

# In place of a carrier's numbers, where a row above has them.
_SHARED = "shared"

# Above this utilisation the bottleneck is what limits.
_FULL = 0.95

# Above this share of packets that the queue drops, repairing them is what fills KCP's window.
_MANY_DROPS = 0.05

# Limits that are a window; ARQ protocols without congestion control have their own in their place.
_WINDOWS = ("congestion_window", "receive_window")
_OWN_WINDOWS = ("kcp", "rudp")

# What one may change where congestion control is not the limit.
_REASONS = {
    "handshake": "the handshake.",
    "application": "the application, which had no data to send.",
    "cpu": "the application's CPU (see hosts.speed, hosts.cores and hosts.app_cost).",
    "send_buffer": "the send buffer (hosts.tcp_wmem increases it).",
    "receive_window": "the receive window (hosts.tcp_rmem increases it).",
}


def print_result(result: Result) -> None:
    """Print flows, path and hosts of a run."""
    experiment = result.experiment
    out, totals = console(), _with_names(result.to_dict(), experiment)
    out.print(result.heading, style="bold", markup=False)
    out.print(
        f"measured from {format_time(experiment.warmup)} to {format_time(experiment.duration)}, "
        f"seed {experiment.seed}"
    )
    _flow_table(totals).print(out)
    path, aggregate, hosts = totals["path"], totals["aggregate"], totals["hosts"]
    # A small network's hosts are all told of, of a large one those that did most.
    by_use = sorted(hosts, key=lambda name: -hosts[name]["utilisation"])
    busiest = {name: hosts[name] for name in (hosts if len(hosts) <= 4 else by_use[:4])}
    lines = [
        ("goodput", f"{_mbps(aggregate['goodput_bps'])} Mbit/s"),
        ("Jain's index", _jain(totals)),
        *_path_lines(totals),
        *([("packets marked", f"{path['marks']} by the queue (ECN)")] if path["marks"] else []),
    ]
    # Without a tunnel or hosts.app_cost nothing that a host does has a cost: 0 % would be untrue.
    if any(host["utilisation"] for host in hosts.values()):
        used = (f"{name} {_percent(host['utilisation'])}" for name, host in busiest.items())
        lines.append(("CPU", ", ".join(used)))
    if failed := sum(_path_leg(flow)["connect_failed_s"] is not None for flow in totals["flows"]):
        lines.append(("not connected", f"{failed} flows: the last SYN got no answer"))
    arqs = [_path_leg(flow).get("arq", {}) for flow in totals["flows"]]
    if closed := sum(arq.get("closed_s") is not None for arq in arqs):
        lines.append(
            ("broken off", f"{closed} flows: the tunnel closed because its pings got no answer")
        )
    if stuck := sum(arq.get("given_up", 0) > 0 and arq["closed_s"] is None for arq in arqs):
        lines.append(
            (
                "stuck",
                f"{stuck} flows: the tunnel gave up on a packet after its last retransmission",
            )
        )
    out.print(_grid([*lines, *_packet_tunnel_lines(totals), *_fec_lines(totals)]))
    for sentence in _limit_sentences(totals):
        out.print(sentence, markup=False)


def _with_names(totals: dict[str, Any], experiment: Experiment) -> dict[str, Any]:
    """Return the totals with the catalogue's name for a tunnel that has no other."""
    of_all = experiment.tunnel.name if experiment.tunnel else ""
    tunnels = [
        {**tunnel, "tunnel": of_all if tunnel["tunnel"] == "tunnel" else tunnel["tunnel"]}
        for tunnel in totals["tunnels"]
    ]
    return {**totals, "tunnels": tunnels}


def _path_lines(totals: dict[str, Any]) -> list[tuple[str, str]]:
    """Tell of the bottleneck: in both directions, if data cross both."""
    path, directions = totals["path"], [flow["direction"] for flow in totals["flows"]]
    ways = [(path, "")]
    if len(set(directions)) > 1:
        ends = ("server", "client") if directions[0] == "up" else ("client", "server")
        ways = [(path, f" to the {ends[0]}"), (path["reverse"], f" to the {ends[1]}")]

    def told(text: Callable[[dict[str, Any]], str]) -> str:
        return "; ".join(f"{text(way)}{where}" for way, where in ways)

    return [
        ("path utilisation", told(lambda way: _percent(way["utilisation"]))),
        (
            "queueing delay",
            told(
                lambda way: (
                    f"mean {_ms(way['queue_delay_mean_s'])} ms, "
                    f"p95 {_ms(way['queue_delay_p95_s'])} ms"
                )
            ),
        ),
        ("packets lost", told(_lost)),
    ]


def _lost(path: dict[str, Any]) -> str:
    """Tell of the packets that a link lost, in one direction."""
    policed = path["policer_drops"]
    causes = [
        f"{path['drops']} dropped by the queue",
        *([f"{policed} by the policer"] if policed is not None else []),
        f"{path['random_losses']} at random",
    ]
    return f"{', '.join(causes)} ({_percent(path['loss_rate'])} of {path['packets']})"


def print_measured(result: Result, measured: Measurement) -> None:
    """Print measured and simulated goodput, both after the warm-up."""
    theirs = measured.mean_goodput(result.experiment.warmup)
    ratio = f"{result.goodput / theirs:.2f}" if theirs else "–"
    console().print(
        f"measured: {_mbps(theirs)} Mbit/s, {len(measured.streams)} streams "
        f"({measured.source}); simulated / measured {ratio}",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def print_harm(found: xarray.Dataset) -> None:
    """Print the harm between flows, and of tunnels. ``found``: from simulation.harm.harm()."""
    rates = found.flow_goodput.values, found.flow_goodput_alone.values, found.flow_harm.values
    ccs = [core.congestion_label(str(name)) for name in found.cc.values]
    labels = [*zip(ccs, found.flow_tunnel.values, strict=True)]
    groups: dict[Any, list[int]] = {}
    for index, label in enumerate(labels):
        groups.setdefault(label if len(labels) > _MOST_ROWS else index, []).append(index)
    rows = []
    for members in groups.values():
        here, alone, harm = (float(values[members].mean()) for values in rates)
        name = str(members[0]) if len(members) == 1 else f"{len(members)} flows, mean"
        rows.append((name, *labels[members[0]], _mbps(here), _mbps(alone), _part(harm)))
    columns = ("flow", "path cc", "tunnel", "goodput Mbit/s", "alone", "harm")
    title = "Harm to flows: share of the flow's goodput alone that the others take"
    Table(title, columns, rows, (3, 4, 5)).print(console())
    if found.sizes["tunnel"]:
        names = ("others_goodput", "others_goodput_without", "tunnel_harm")
        numbers = zip(*(found[name].values for name in names), strict=True)
        of_tunnels = [
            (name, _mbps(here), _mbps(without), _part(harm))
            for name, (here, without, harm) in zip(found.tunnel.values, numbers, strict=True)
        ]
        titles = ("tunnel", "others Mbit/s", "without it", "harm")
        title = "Harm of tunnels to the flows outside them"
        Table(title, titles, of_tunnels, (1, 2, 3)).print(console())


def _limit_sentences(totals: dict[str, Any]) -> Iterator[str]:
    """Name what limited a flow if it was neither congestion control nor a full path."""
    if (totals["path"]["utilisation"] or 0) >= _FULL:
        return
    for label, members in _rows(totals["flows"]):
        name, share = limits.largest(_limits(members))
        leg = _path_leg(members[0])
        is_kcp = name in _WINDOWS and leg["cc"] == "kcp"
        if (is_kcp or name not in limits.CONGESTION_CONTROL) and share > 1 / 2:
            connection = "The carrier of flow" if len(members[0]["legs"]) > 1 else "Flow"
            subject = f"{connection} {label} was" if len(members) == 1 else f"The {label} were"
            if is_kcp:
                reason = _reason_of_kcp(totals["path"], members[0]["direction"])
            elif "arq" in leg:
                # Sockets of TCP have no part in it.
                reason = _REASONS[name].partition(" (")[0].partition(",")[0].rstrip(".") + "."
            else:
                reason = _REASONS[name]
            yield (f"{subject} limited for {_percent(share)} of the time by {reason}")


def _reason_of_kcp(path: dict[str, Any], direction: str) -> str:
    """Say why KCP's window is full: it is small for the path, or full of what the queue dropped."""
    dropped = path["drops"] / max(path["packets"], 1)
    if dropped < _MANY_DROPS:
        return "KCP's window (the windows of tunnel.kcp increase it)."
    sender = "client" if direction == "up" else "server"
    return (
        "KCP's window. It is more than path and buffer hold: the queue dropped "
        f"{_percent(dropped)} of the packets. A smaller tunnel.kcp.{sender}_send_window wastes "
        "less of the path; a larger path.buffer holds more of a burst."
    )


def _limits(members: list[dict[str, Any]]) -> dict[str, float]:
    """Return the mean shares of time in each limit, of the flows across the path."""
    of_each = [_path_leg(flow)["limits"] for flow in members]
    return {name: fmean(each[name] for each in of_each) for name in limits.LIMITS}


def _packet_tunnel_lines(totals: dict[str, Any]) -> list[tuple[str, str]]:
    tunnels = totals["tunnels"]
    return [
        (
            "tunnel" if len(tunnels) == 1 else f"tunnel {tunnel['tunnel']}",
            f"device dropped {tunnel['device_drops']} of {tunnel['packets']} packets "
            f"(longest queue: {tunnel['device_queue_max_packets']}), fragmented "
            f"{tunnel['fragmented']}, far socket dropped {tunnel['socket_drops']}",
        )
        for tunnel in tunnels
        if "packets" in tunnel
    ]


def _fec_lines(totals: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Tell what parity cost and what it repaired, in the direction of the data."""
    for tunnel in totals["tunnels"]:
        fec, label = tunnel.get("fec"), "FEC"
        if len(totals["tunnels"]) > 1:
            label = f"FEC of {tunnel['tunnel']}"
        if fec is not None:
            packets = fec["packets"]
            yield (
                label,
                f"parity {_share(fec['parity_bytes'], tunnel['outer_bytes'])} of the bytes; "
                f"recovered {_share(fec['recovered'], packets)} of {packets} packets, "
                f"residual loss {_share(fec['lost'], packets)}",
            )
            continue
        of_each = {
            flow["carrier"]: _path_leg(flow)
            for flow in totals["flows"]
            if flow["flow"] in tunnel["flows"]
        }
        legs = [leg for leg in of_each.values() if leg.get("arq", {}).get("parity_datagrams")]
        if legs:
            arqs = [leg["arq"] for leg in legs]
            parity, brought, lost = (
                sum(arq[name] for arq in arqs)
                for name in ("parity_bytes", "recovered", "unrecovered")
            )
            yield (
                label,
                f"parity {_share(parity, sum(leg['wire_bytes'] for leg in legs))} of the bytes; "
                f"recovered {brought} datagrams, could not repair {lost}, since the start",
            )


def _share(part: float, whole: float) -> str:
    return _percent(part / whole if whole else None)


def _flow_table(totals: dict[str, Any]) -> Table:
    flows, tunnels = totals["flows"], _tunnels_of_flows(totals)
    differ = len(set(tunnels.values())) > 1
    tunnelled = any(len(flow["legs"]) > 1 for flow in flows)
    has_messages = any(flow["messages"] for flow in flows)
    is_both_ways = len({flow["direction"] for flow in flows}) > 1
    columns = [
        "flow",
        "cc",
        *(["tunnel"] if differ else []),
        *(["direction"] if is_both_ways else []),
    ]
    has_transports = {flow["transport"] for flow in flows} != {"tcp"}
    columns += ["transport"] if has_transports else []
    columns += ["goodput Mbit/s", "Retr"]
    columns += ["carrier cc", "carrier retr"] if tunnelled else []
    columns += ["RTOs", "srtt ms", "p95 ms", "limited by"]
    columns += ["messages: mean ms", "p99 ms"] if has_messages else []
    rows: list[list[str]] = []
    told: set[int | None] = set()
    for label, members in _rows(flows):
        # Flows may share a carrier, which counts once.
        of_each = {flow["carrier"]: _path_leg(flow) for flow in members if len(flow["legs"]) > 1}
        carriers = list(of_each.values())
        is_told = bool(of_each) and told.issuperset(of_each)
        told.update(of_each)
        legs = [*carriers, *(_path_leg(flow) for flow in members if len(flow["legs"]) == 1)]
        row = [
            label,
            core.congestion_label(members[0]["cc"]),
            *([_some("tunnels", (tunnels[it["flow"]] for it in members))] if differ else []),
            *([_some("directions", (it["direction"] for it in members))] if is_both_ways else []),
            *([_some("transports", (it["transport"] for it in members))] if has_transports else []),
            _mbps(sum(flow["goodput_bps"] for flow in members)),
            str(sum(flow["retransmits"] for flow in members)),
        ]
        if tunnelled:
            row += (
                [
                    core.congestion_label(carriers[0]["cc"]),
                    _SHARED if is_told else str(sum(leg["retransmits"] for leg in carriers)),
                ]
                if carriers
                else ["", ""]
            )
        row += [
            _SHARED if is_told else str(sum(leg["rtos"] for leg in legs)),
            _ms(_mean(leg["srtt_mean_s"] for leg in legs)),
            _ms(max((leg["srtt_p95_s"] or 0 for leg in legs), default=None)),
            _limit(members),
        ]
        if has_messages:
            written = [flow["messages"] for flow in members if flow["messages"]]
            timed = [messages for messages in written if messages["count"]]
            row += [
                _ms(_mean(messages["latency_mean_s"] for messages in timed)),
                _ms(max((messages["latency_p99_s"] for messages in timed), default=None)),
            ]
        rows.append(row)
    numbers = [
        index
        for index, name in enumerate(columns)
        if name not in ("flow", "cc", "tunnel", "direction", "carrier cc", "limited by")
    ]
    return Table("", columns, rows, numbers, whole=[columns.index("limited by")])


def _tunnels_of_flows(totals: dict[str, Any]) -> dict[int, str]:
    """Return the tunnel's name of each flow, by the flow's number."""
    names = dict.fromkeys((flow["flow"] for flow in totals["flows"]), "none")
    for tunnel in totals["tunnels"]:
        names |= dict.fromkeys(tunnel["flows"], tunnel["tunnel"])
    return names


def _some(what: str, names: Iterable[str]) -> str:
    different = list(dict.fromkeys(names))
    return different[0] if len(different) == 1 else f"{len(different)} {what}"


def _limit(members: list[dict[str, Any]]) -> str:
    name, share = limits.largest(_limits(members))
    leg, text = _path_leg(members[0]), limits.LIMITS[name]
    if name in _WINDOWS and leg["cc"] in _OWN_WINDOWS:
        text = f"{leg['cc'].upper()}'s window"
    return f"{text} {_percent(share)}"


def _jain(totals: dict[str, Any]) -> str:
    aggregate, flows = totals["aggregate"], totals["flows"]
    text = _number(aggregate["jain"], 3)
    without = sum(flow["carrier"] is None for flow in flows)
    for groups, count in (
        ("users", len(totals["users"])),
        ("carriers", len(totals["carriers"]) + without),
    ):
        if 1 < count < len(flows):
            text += f", between {groups} {_number(aggregate[f'jain_{groups}'], 3)}"
    return text


def _rows(flows: list[dict[str, Any]]) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    if len(flows) <= _MOST_ROWS:
        yield from ((str(flow["flow"]), [flow]) for flow in flows)
        return
    for kind in dict.fromkeys((flow["cc"], flow["transport"]) for flow in flows):
        members = [flow for flow in flows if (flow["cc"], flow["transport"]) == kind]
        yield f"{len(members)} flows", members


def _path_leg(flow: dict[str, Any]) -> dict[str, Any]:
    legs: list[dict[str, Any]] = flow["legs"]
    return legs[path_leg([leg["name"] for leg in legs])]


def print_list() -> None:
    """Print tunnels, congestion controls, cost profiles and payloads, one per line."""
    out = console()
    out.print("Tunnels", style="bold")
    entries = [catalog.load(name) for name in catalog.names()]
    out.print(_grid((entry.name, entry.summary) for entry in entries))
    out.print("\nCongestion controls", style="bold")
    algorithms = [(core.congestion_label(item.name), item.summary) for item in core.algorithms()]
    foreign = "an ns3::TcpCongestionOps, unchanged"
    algorithms += [(name, foreign) for name in core.ns3_congestion_controls()]
    out.print(_grid(algorithms))
    out.print("\nCost profiles of hosts", style="bold")
    out.print(_grid((name, costs.load(name).summary) for name in costs.names()))
    out.print("\nPayloads", style="bold")
    out.print(_grid(payloads.CORPORA.items()))


def print_payload(name: str) -> None:
    """Print what a payload is. Raises ConfigError."""
    if name not in payloads.CORPORA:
        raise unknown_name("payload", name, payloads.CORPORA)
    console().print(_grid([(name, payloads.CORPORA[name])]))


def print_metrics(name: str | None = None) -> None:
    """Print every metric of a run: unit, meaning, formula with source, and arguments.

    ``name``: only those that have it in their names. Raises ConfigError if there are none.
    """
    from tunnelcc.metrics import METRICS

    rows = []
    found = [key for key in METRICS if name is None or name in key]
    if not found and name is not None:
        expected = "a metric of `tunnelcc show metrics`, or a part of its name"
        raise ConfigError(Problem("show metrics", name, expected, nearest(name, METRICS)))
    for key in found:
        metric = METRICS[key]
        takes = f" (takes {', '.join(metric.keys)})" if metric.keys else ""
        definition = f"{metric.definition}{takes}"
        rows.append((key, metric.units, metric.long_name, definition))
    Table("", ("metric", "unit", "meaning", "definition"), rows).print(console())


def _abbreviated() -> dict[str, str]:
    """Return the groups of keys that repeat another group, and their meaning."""
    from tunnelcc.config import HostOverrides, Hosts, LinkDirection, Path

    sides = ("client", "server")
    common = [key for key in Hosts.model_fields if key not in HostOverrides.model_fields]
    but = " and ".join(key for key in common if key not in sides)
    both = [key for key in Path.model_fields if key not in LinkDirection.model_fields]
    other = f"any key of path except {', '.join(both)}, for the other direction"
    return {
        "tunnels.NAME": "any key of tunnel; flows.tunnel selects it by NAME",
        "network.access": "any key of path, for access links; default: no limit, delay or loss",
        "network.links.NAME": "between = ['HOST', 'HOST'], and any key that differs from path",
        "network.hosts.NAME": f"any key of hosts except {but}, for this host only",
        "path.reverse": f"{other}; default rate: no limit, or path.rate if data cross both ways",
        **{
            f"hosts.{side}": f"any key of hosts except {but}, for the {side} only" for side in sides
        },
    }


def print_experiment(name: str | None = None) -> None:
    """Print every key of an experiment: default, meaning and accepted values.

    ``name``: only that key, or the keys of that table. Raises ConfigError if there is none.
    """
    from tunnelcc.config import Experiment

    out, rows, told = console(), [], set()
    abbreviated = _abbreviated()
    for info in keys_of(Experiment):
        group = next((group for group in abbreviated if info.key.startswith(f"{group}.")), None)
        if group is None:
            default = "" if info.default is None else str(info.default)
            rows.append((info.key, default or "–", info.doc, info.expected))
        elif group not in told:
            told.add(group)
            rows.append((f"{group}.*", "–", abbreviated[group], ""))
    if name is not None:
        listed = listed_as(Experiment, "flows.cc" if name == "cc" else name)
        chosen = [row for row in rows if f"{row[0]}.".startswith(f"{listed}.")]
        if not chosen:
            expected = "a key of `tunnelcc show experiment`"
            hint = nearest(name, [row[0] for row in rows])
            raise ConfigError(Problem("show experiment", name, expected, hint))
        Table("", ("key", "default", "meaning", "accepts"), chosen).print(out)
        return
    Table("", ("key", "default", "meaning", "accepts"), rows).print(out)
    out.print("Defaults of each hosts.kernel", style="bold")
    for kernel in kernels().values():
        out.print(f"\n{kernel.version}: {kernel.summary}", markup=False)
        rows = [
            (name, str(value), label, source)
            for name, (value, label, source) in kernel.sources.items()
        ]
        Table("", ("setting", "value", "label", "source"), rows).print(out)


def print_tunnel(name: str, mode: str | None = None) -> None:
    """Print a catalogue entry, in ``mode`` if given, with the source of every number.

    Raises ConfigError.
    """
    from tunnelcc.report.overview import overview  # with all classes of tunnels

    try:
        entry = catalog.load(name)
        view = overview(entry, mode)
    except ConfigError as error:
        raise error.below("tunnel") from None
    out = console()
    out.print(entry.name, style="bold", markup=False)
    out.print(
        _grid([("summary", entry.summary), ("kind", entry.kind), ("software", entry.software)])
    )
    out.print(f"file      {catalog.path_of(name)}", markup=False, soft_wrap=True)
    if view.modes:
        others = ", ".join(other for other in view.modes if other != view.mode)
        text = f"mode {view.mode}" + (f"; --mode shows {others}" if others else "")
        out.print(f"{text}\n", markup=False)
    out.print(_stack(view))
    _wire_bytes(view).print(out)
    moments = [(what, str(count)) for what, count in view.round_trips.items()]
    out.print()
    Table("", ("for", "round trips before the first byte leaves"), moments, (1,)).print(out)
    out.print()
    settings = list(catalog.settings(entry))
    Table("", ("setting", "value", "label", "source"), settings).print(out)


def _stack(view: Overview) -> Grid:
    """Print the layers from the application's bytes to the wire."""
    table = Grid(box=box.SQUARE, show_lines=True, header_style="dim")
    is_alike = all(layer.to_server == layer.to_client for layer in view.stack)
    for heading in ("layer", "either way") if is_alike else ("layer", "to server", "to client"):
        table.add_column(heading)
    for layer in view.stack:
        texts = (layer.to_server,) if is_alike else (layer.to_server, layer.to_client)
        table.add_row(layer.name, *map(escape, texts))
    return table


def _wire_bytes(view: Overview) -> Table:
    """Print the IP bytes per application byte by size of a write on an idle connection."""
    sizes = [format_size(size) for size in view.wire_bytes]
    rows = [
        (heading, *(f"{ratio[index]:.3f}" for ratio in view.wire_bytes.values()))
        for index, heading in enumerate(("written, to server", "written, to client"))
    ]
    return Table("", ("IP bytes per byte", *sizes), rows, range(1, len(sizes) + 1))


def print_profile(name: str) -> None:
    """Print a cost profile with the source of every number. Raises ConfigError."""
    try:
        profile = costs.load(name)
    except ConfigError as error:
        raise error.below("profile") from None
    out = console()
    out.print(profile.name, style="bold", markup=False)
    out.print(profile.summary, markup=False)
    rows = []
    for operation in costs.OPERATIONS:
        cost = profile.operation(operation)
        numbers = (f"{cost.per_call:.0f}", f"{cost.per_byte:.3f}")
        rows.append((operation, *numbers, cost.label, cost.source))
    columns = ("operation", "ns per call", "ns per byte", "label", "source")
    Table("", columns, rows, (1, 2)).print(out)


def print_measured_profile(profile: Profile, spreads: Mapping[str, float]) -> None:
    """Print the costs of this machine next to the reference. Spreads are ratios."""
    from tunnelcc import calibrate  # takes a while, and other tables need none of it

    out = console()
    out.print(profile.summary, style="bold", markup=False)
    reference = costs.load(costs.REFERENCE)
    rows = []
    for name, operation in profile.operations.items():
        cost = costs.of(profile, [name])
        rows.append((
            name, f"{operation.per_call:.0f}", f"{operation.per_byte:.3f}", f"{spreads[name]:.0%}",
            f"{cost(128):.0f}", f"{cost(1408):.0f}", f"{costs.of(reference, [name])(1408):.0f}",
        ))  # fmt: skip
    columns = (
        "operation", "ns per call", "ns per byte", "spread", "128 B", "1408 B", "reference, 1408 B"
    )  # fmt: skip
    Table("", columns, rows, range(1, len(columns))).print(out)
    for name, spread in spreads.items():
        if spread > calibrate.UNSTEADY:
            text = (
                f"Warning: {name} is {calibrate.unsteady(spread)}; measure again on an idle machine"
            )
            out.print(text, markup=False)
    missing = [name for name in costs.OPERATIONS if name not in profile.operations]
    if missing:
        out.print(f"Not measured; values of {costs.REFERENCE}: {', '.join(missing)}", markup=False)


def print_congestion_control(name: str) -> None:
    """Print an algorithm and its parameters. Raises ConfigError."""
    name = core.congestion_name(name)
    if not core.has_congestion_control(name):
        names = (*core.congestion_controls(), *core.ns3_congestion_controls())
        raise unknown_name("cc", name, names)
    out = console()
    out.print(core.congestion_label(name), style="bold", markup=False)
    own = {item.name: item for item in core.algorithms()}
    if name in own:
        out.print(_grid([("summary", own[name].summary), ("source", own[name].source)]))
    else:
        text = "an ns3::TcpCongestionOps, unchanged; its parameters are its ns-3 attributes"
        out.print(_grid([("summary", text), ("source", "ns-3 3.44, or a class of your own")]))
    rows = [
        (
            item.name,
            _default(item),
            "one of " + ", ".join(item.choices) if item.choices else item.unit,
            f"{item.minimum:g}",
            f"{item.maximum:g}",
            item.doc,
            item.source,
        )
        for item in core.congestion_parameters(name)
    ]
    columns = ("parameter", "default", "unit", "from", "to", "meaning", "source")
    Table("", columns, rows, (1,)).print(out)


def _default(parameter: core.Parameter) -> str:
    if parameter.is_required:
        return "none: required"
    if parameter.choices:
        return parameter.choices[int(parameter.default)]
    return f"{parameter.default:g}"


def _grid(rows: Iterable[tuple[str, str]]) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for key, value in rows:
        grid.add_row(escape(key), escape(value))
    return grid


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _mbps(rate: float | None) -> str:
    return "–" if rate is None or isnan(rate) else f"{rate / 1e6:.2f}"


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e3:.1f}"


def _part(value: float) -> str:
    return "–" if isnan(value) else f"{value:.3f}"


def _percent(part: float | None) -> str:
    return "–" if part is None else f"{part * 100:.3g} %"
