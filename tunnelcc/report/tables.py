# SPDX-License-Identifier: GPL-2.0-only
"""Tables for the terminal of what a run, a measurement or a comparison of runs found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc import core
from tunnelcc.analysis import busy, one_sided, path_mtu, phases
from tunnelcc.analysis.counters import connection_of, path_leg
from tunnelcc.analysis.values import Cause, Finding
from tunnelcc.metrics import METRICS, drift, evaluate
from tunnelcc.output.tables import Column, Table, console, grid
from tunnelcc.schema.units import format_probability, format_time
from tunnelcc.words import causes, findings, lists, warnings
from tunnelcc.words.quantities import RATE, mbit, ms, number, percent, rate, shown

if TYPE_CHECKING:
    import xarray

    from tunnelcc.formats.measurement import Measurement
    from tunnelcc.network.traffic import ResolvedFlow
    from tunnelcc.results.result import Result
    from tunnelcc.scenario import Experiment

# With more flows than this, a table shows those of each group as one line.
_MOST_ROWS = 16

# In place of a carrier's numbers, where a row above has them.
_SHARED = "shared"

# Limits that the table tells of, but no sentence.
_UNTOLD = ("link", "congestion_window", "pacing")


def _known(result: Result) -> str:
    """Say how well a run knows its goodput that ends once it does."""
    part = result.experiment.until
    if part is None:
        return ""
    told = format_probability(part)
    if result.duration < result.experiment.duration:
        return f", when goodput was known to ± {told}"
    return f", when goodput was not yet known to ± {told}"


def print_result(
    result: Result, metrics: Sequence[str] = (), limits: Sequence[Finding] = ()
) -> None:
    """Print flows, path and hosts of a run, the user's own metrics, and the ``metrics`` named.

    ``limits``: what limits each entry of ``flows``, if runs have confirmed it.
    """
    experiment = result.experiment
    out, totals = console(), _with_names(result.to_dict(), experiment)
    out.print(result.heading, style="bold", markup=False)
    out.print(
        f"measured from {format_time(experiment.warmup)} to {format_time(result.duration)}"
        f"{_known(result)}, seed {experiment.seed}{_drawn(result)}"
    )
    _flow_table(totals, result, limits).print(out)
    for table in (_datagram_table(totals), _ping_table(totals, result)):
        if table is not None:
            table.print(out)
    hosts = totals["hosts"]
    # A small network's hosts are all told of, of a large one those that did most.
    by_use = sorted(hosts, key=lambda name: -hosts[name]["host_cpu"])
    busiest = {name: hosts[name] for name in (hosts if len(hosts) <= 4 else by_use[:4])}
    placed = result.network.flows
    early = sum(it.bytes is not None and it.start < experiment.warmup for it in placed)
    those = "1 flow that starts" if early == 1 else f"{early} flows that start"
    lines = [
        ("goodput", rate(result.goodput)),
        # Of flows that end, it tells nothing.
        *(
            []
            if all(flow.bytes for flow in experiment.flows)
            else [("Jain's index", _jain(totals))]
        ),
        *_path_lines(totals),
        *([("completion", f"without {those} in the warm-up")] if early else []),
    ]
    # Without a tunnel or hosts.app_cost nothing that a host does has a cost: 0 % would be untrue.
    if any(host["host_cpu"] for host in hosts.values()):
        used = (f"{name} {percent(host['host_cpu'])}" for name, host in busiest.items())
        lines.append(("CPU", ", ".join(used)))
    if failed := sum(_path_leg(flow)["connect_failed_at"] is not None for flow in totals["flows"]):
        lines.append(("not connected", f"{failed} flows: the last SYN got no answer"))
    legs = [_path_leg(flow) for flow in totals["flows"]]
    if closed := sum(leg.get("arq_closed_at") is not None for leg in legs):
        lines.append(
            ("broken off", f"{closed} flows: the tunnel closed because its pings got no answer")
        )
    if stuck := sum(
        leg.get("arq_given_up", 0) > 0 and leg["arq_closed_at"] is None for leg in legs
    ):
        lines.append(
            (
                "stuck",
                f"{stuck} flows: the tunnel gave up on a packet after its last retransmission",
            )
        )
    lines += [*_packet_tunnel_lines(totals), *_relay_lines(totals)]
    lines += [*_uplinks_lines(totals), *_fec_lines(totals)]
    lines += _metric_lines(result, metrics)
    out.print(grid(lines))
    use = {name: host["host_cpu"] for name, host in hosts.items()}
    warning = warnings.cpu(busy.of_hosts(result.network, use))
    # The warning tells of the CPU, with all keys.
    untold = {*_UNTOLD, "cpu"} if warning else _UNTOLD
    sentences = limit_sentences(result, limits) or _limit_sentences(totals, result, untold)
    for sentence in sentences:
        out.print(sentence, markup=False)
    for link in path_mtu.of_links(result.network, totals):
        out.print(warnings.mtu(link), markup=False)
    for tunnel in path_mtu.of_tunnels(result.network, totals):
        out.print(warnings.divided(tunnel), markup=False)
    for queue in one_sided.of_links(result.network):
        out.print(warnings.one_sided(queue), markup=False)
    for slow in phases.of_links(result.network):
        out.print(warnings.phase(slow), markup=False)
    if drifts := _drifts(totals):
        out.print(drifts, markup=False)
    if warning:
        out.print(warning, markup=False)


def _drawn(result: Result) -> str:
    """Say which RTT the seed has drawn for the only path."""
    path = result.experiment.path
    phase = result.network.phases["path"] if result.experiment.network is None else 0
    return f", RTT {format_time(round(path.rtt + phase / 1e9, 7))}" if phase else ""


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
    path, back = _bottleneck(totals)
    directions = [flow["flow_direction"] for flow in totals["flows"]]
    ways = [(path, "")]
    if len(set(directions)) > 1:
        ends = ("server", "client") if directions[0] == "up" else ("client", "server")
        ways = [(path, f" to the {ends[0]}"), (back, f" to the {ends[1]}")]

    def told(text: Callable[[dict[str, Any]], str]) -> str:
        return "; ".join(f"{text(way)}{where}" for way, where in ways)

    return [
        ("path utilisation", told(lambda way: percent(way["link_utilisation"]))),
        (
            "queueing delay",
            told(
                lambda way: (
                    f"mean {ms(way['link_queue_delay_mean'])} ms, "
                    f"p95 {ms(way['link_queue_delay_p95'])} ms"
                )
            ),
        ),
        ("packets lost", told(_lost)),
        *(
            [("packets marked", told(lambda way: f"{way['link_marks'] or 0} by the queue (ECN)"))]
            if any(way["link_marks"] for way, _ in ways)
            else []
        ),
    ]


def _bottleneck(totals: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the totals of the bottleneck in the direction of the data, and in the other one."""
    link = [*totals["links"].values()][totals["metrics"]["bottleneck_link"]]
    ways = link["forward"], link["reverse"]
    return ways[::-1] if totals["metrics"]["bottleneck_direction"] else ways


def _lost(path: dict[str, Any]) -> str:
    """Tell of the packets that a link lost, in one direction."""
    policed = path["link_policer_drops"]
    causes = [
        f"{path['link_queue_drops']} dropped by the queue",
        *([f"{policed} by the policer"] if policed is not None else []),
        f"{path['link_random_losses']} at random",
        *([f"{too_big} too large for its MTU"] if (too_big := path["link_mtu_drops"]) else []),
        *([f"{cut} as fragments"] if (cut := path["link_fragment_drops"]) else []),
    ]
    return f"{', '.join(causes)} ({percent(path['link_loss_rate'])} of {path['link_packets']})"


def print_measured(result: Result, measured: Measurement) -> None:
    """Print measured and simulated goodput, both after the warm-up."""
    theirs = measured.mean_goodput(result.experiment.warmup)
    ratio = f"{result.goodput / theirs:.2f}" if theirs else "–"
    console().print(
        f"measured: {rate(theirs)}, {len(measured.streams)} streams "
        f"({measured.source}); simulated / measured {ratio}",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def print_harm(found: xarray.Dataset) -> None:
    """Print the harm between flows, and of tunnels. ``found``: from simulation.harm.harm()."""
    times = [
        [None if isnan(time) else time for time in each.values]
        for each in (found.flow_completion_time, found.flow_completion_time_alone)
    ]
    has_times = any(time is not None for each in times for time in each)
    ccs = [core.congestion_label(str(name)) for name in found.flow_cc.values]
    labels = [*zip(ccs, found.flow_tunnel.values, strict=True)]
    groups: dict[Any, list[int]] = {}
    for index, label in enumerate(labels):
        groups.setdefault(label if len(labels) > _MOST_ROWS else index, []).append(index)
    rates = found.flow_goodput.values, found.flow_goodput_alone.values
    rows = []
    for members in groups.values():
        rows.append((
            str(members[0]) if len(members) == 1 else f"{len(members)} flows, mean",
            *labels[members[0]],
            *(mbit(float(values[members].mean())) for values in rates),
            *(number(_mean(each[it] for it in members), 3) for each in times if has_times),
            number(float(found.flow_harm.values[members].mean()), 3),
        ))  # fmt: skip
    columns = (
        "flow", "path cc", "tunnel", RATE.heading("goodput"), "alone",
        *(("completion s", "alone") if has_times else ()), "harm",
    )  # fmt: skip
    whole = "goodput alone, or of the completion time," if has_times else "goodput alone"
    title = f"Harm to flows: share of the {whole} that the others take"
    Table(title, columns, rows, (*range(3, len(columns)),)).print(console())
    if found.sizes["tunnel"]:
        names = ("others_goodput", "others_goodput_without", "tunnel_harm")
        numbers = zip(*(found[name].values for name in names), strict=True)
        of_tunnels = [
            (name, mbit(here), mbit(without), number(harm, 3))
            for name, (here, without, harm) in zip(found.tunnel.values, numbers, strict=True)
            if not isnan(here)
        ]
        titles = ("tunnel", RATE.heading("others"), "without it", "harm")
        title = "Harm of tunnels to the flows outside them"
        if of_tunnels:
            Table(title, titles, of_tunnels, (1, 2, 3)).print(console())
        else:
            console().print("No flow is outside the tunnel: there is none that it could harm")


def _limit_sentences(
    totals: dict[str, Any], result: Result, untold: Collection[str]
) -> Iterator[str]:
    """Name what limited flows if it is none of ``untold``; flows with the same limit together."""
    told: dict[tuple[str, ...], tuple[Cause, list[int], str, list[float]]] = {}
    for entry, members in _rows(totals["flows"], result.network.flows):
        numbers = [flow["flow"] for flow in members]
        cause, share = causes.most([result.limited[it] for it in numbers])
        if cause is None or cause.limit in untold or share <= 1 / 2:
            continue
        of_entry = f" of flows.{entry}" if entry is not None else ""
        of_row = f"The {len(members)} flows{of_entry}" if len(members) > 1 else ""
        name = (causes.text(cause), causes.keys(cause), of_row)
        alike = told.setdefault(name, (cause, [], of_row, []))
        alike[1].extend(numbers)
        alike[3].append(share)
    for cause, numbers, of_row, shares in told.values():
        yield causes.sentence(of_row or lists.flows(numbers), len(numbers), shares, cause)


def limit_sentences(result: Result, limits: Sequence[Finding]) -> list[str]:
    """Return what limits flows, confirmed by runs; flows with the same limits together."""
    alike: dict[Any, list[Finding]] = {}
    for it in limits:
        names = tuple(tuple(change.name for change in each.changes) for each in it.found[:3])
        kind = names, it.worth.metric, it.is_slow_start, it.lower and it.lower.changes[0].name
        if result.network.flows and not _is_over(result, it.entry):
            alike.setdefault(kind, []).append(it)
    lines: list[str] = []
    for members in alike.values():
        entries = {it.entry for it in members}
        placed = enumerate(result.network.flows)
        numbers = [number for number, flow in placed if flow.group in entries]
        by_gain = sorted(members, key=lambda it: it.found[0].gain if it.found else 0.0)
        middle = by_gain[len(by_gain) // 2]
        lines += findings.sentences(lists.flows(numbers), len(numbers), middle)
    return lines


def _is_over(result: Result, entry: int) -> bool:
    """Whether all flows of an entry were over before the end of the warm-up."""
    ends = result["flow_completed_at"]
    placed = enumerate(result.network.flows)
    return all(ends[it] <= result.experiment.warmup for it, flow in placed if flow.group == entry)


def _drifts(totals: dict[str, Any]) -> str:
    """Name the flows whose goodput has not settled; "": all have, or it is not known."""
    told: dict[str, float] = {}
    entries = [flow["flow_group"] for flow in totals["flows"]]
    for flow, entry in zip(totals["flows"], entries, strict=True):
        if flow["flow_drift"]:
            of_entry = entries.count(entry) > drift.MOST_ALONE
            subject = f"flows.{entry}" if of_entry else f"flow {flow['flow']}"
            told[f"{subject} ({core.congestion_label(flow['flow_app_cc'])})"] = flow["flow_drift"]
    if not told:
        return ""
    changes = ", ".join(f"{name} {100 * it:+.0f} %" for name, it in told.items())
    return (
        "Not steady. Goodput in the second half of the time minus that in the first, as a part of "
        f"the mean: {changes}. {drift.ADVICE}"
    )


def _packet_tunnel_lines(totals: dict[str, Any]) -> list[tuple[str, str]]:
    tunnels = totals["tunnels"]
    return [
        (
            "tunnel" if len(tunnels) == 1 else f"tunnel {tunnel['tunnel']}",
            f"device dropped {way['tunnel_device_drops']} of {way['tunnel_packets']} packets "
            f"(longest queue: {way['tunnel_device_packets_max']}), fragmented "
            f"{way['tunnel_fragmented']}, far socket dropped {way['tunnel_socket_drops']}"
            + ("" if relayed is None else f", the relay dropped {relayed}")
            + (f", {large} too large" if (large := way.get("tunnel_too_large")) else "")
            + (f", {full} in QUIC's queue" if (full := way.get("tunnel_queue_drops")) else ""),
        )
        for tunnel in tunnels
        if (way := tunnel.get("forward")) is not None
        for relayed in [way.get("tunnel_relay_drops")]  # older runs do not have it
    ]


def _relay_lines(totals: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Tell which datagrams relays dropped."""
    tables = {"flow": "flows", "cross_traffic": "cross_traffic", "ping": "pings"}
    for of, table in tables.items():
        for place, it in enumerate(totals[table]):
            if dropped := it.get(f"{of}_relay_drops"):
                name = f"flow {place}" if of == "flow" else f"{table}.{place}"
                yield "relay", f"dropped {dropped} datagrams of {name}"


def _uplinks_lines(totals: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Tell what several routes did to the order of packets, in the direction of the data."""
    for tunnel in totals["tunnels"]:
        way = tunnel.get("forward", {})
        if "tunnel_uplinks_reordered" not in way:
            continue
        came, left = (way[f"tunnel_uplinks_{it}reordered"] for it in ("", "left_"))
        several = len(totals["tunnels"]) > 1
        yield (
            f"uplinks of {tunnel['tunnel']}" if several else "uplinks",
            f"{came:.1%} of the packets came out of order, {left:.1%} left so; each waited "
            f"{1e3 * way['tunnel_uplinks_hol_delay_mean']:.1f} ms for others",
        )


def _fec_lines(totals: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Tell what parity cost and what it repaired, in the direction of the data."""
    for tunnel in totals["tunnels"]:
        way, label = tunnel.get("forward", {}), "FEC"
        if len(totals["tunnels"]) > 1:
            label = f"FEC of {tunnel['tunnel']}"
        if "tunnel_fec_packets" in way:
            packets = way["tunnel_fec_packets"]
            parity = _share(way["tunnel_fec_parity_bytes"], way["tunnel_outer_bytes"])
            yield (
                label,
                f"parity {parity} of the bytes; recovered "
                f"{_share(way['tunnel_fec_recovered'], packets)} of {packets} packets, "
                f"residual loss {_share(way['tunnel_fec_lost'], packets)}",
            )
            continue
        of_each = _carriers(flow for flow in totals["flows"] if flow["flow"] in tunnel["flows"])
        legs = [leg for leg in of_each.values() if leg.get("arq_parity_datagrams")]
        if legs:
            parity_bytes, brought, lost = (
                sum(leg[name] for leg in legs)
                for name in ("arq_parity_bytes", "arq_recovered", "arq_unrecovered")
            )
            yield (
                label,
                f"parity {_share(parity_bytes, sum(leg['wire_bytes'] for leg in legs))} of the "
                f"bytes; recovered {brought} datagrams, could not repair {lost}, since the start",
            )


def _metric_lines(result: Result, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Tell of the user's own metrics, and of those named: one value, or one for each flow."""
    named = (METRICS[name] for name in names if name in METRICS)
    for metric in (*result.own_metrics, *named):
        found = evaluate(metric, result) if metric.is_own else metric(result)
        scale = shown(metric.units)
        values = (f"{scale.factor * value:.6g}" for value in np.reshape(found, -1))
        yield metric.long_name, scale.heading(", ".join(values))


def _share(part: float, whole: float) -> str:
    return percent(part / whole if whole else None)


@dataclass(frozen=True)
class _Row:
    """The flows of a row. ``carriers``: theirs, and ``is_told``: a row above has their numbers."""

    entry: int | None
    flows: list[dict[str, Any]]
    carriers: list[dict[str, Any]]
    is_told: bool

    @property
    def legs(self) -> list[dict[str, Any]]:
        """What crosses the path."""
        return [*self.carriers, *(leg for it in self.flows for leg in _paths_of(it, "app"))]

    @property
    def timed(self) -> list[dict[str, Any]]:
        """The flows whose messages arrive."""
        return [flow for flow in self.flows if flow["flow_messages_delivered"]]

    def counted(self, name: str, legs: list[dict[str, Any]]) -> str:
        """Return a sum over connections, which may be another row's."""
        return _SHARED if self.is_told else str(sum(leg[name] for leg in legs))

    def some(self, what: str, name: str) -> str:
        """Return a text that the flows have in common, or how many there are."""
        return _some(what, (flow[name] for flow in self.flows))


def _flow_table(totals: dict[str, Any], result: Result, limits: Sequence[Finding]) -> Table:
    placed, flows, tunnels = result.network.flows, totals["flows"], _tunnels_of_flows(totals)
    rows, told = [], set[tuple[int, str, str]]()
    for entry, members in _rows(flows, placed):
        of_each = _carriers(members)  # flows may share a carrier, which counts once
        is_told = bool(of_each) and told.issuperset(of_each)
        rows.append(_Row(entry, members, list(of_each.values()), is_told))
        told.update(of_each)
    is_summed, has_carriers = len(rows) < len(flows), any(row.carriers for row in rows)
    has_messages = any(flow["flow_messages_due"] for flow in flows)

    def completion(it: _Row) -> str:
        ending = [flow for flow in it.flows if placed[flow["flow"]].bytes is not None]
        return _completion(ending, result.experiment)

    def carrier_cc(it: _Row) -> str:
        return core.congestion_label(it.carriers[0]["leg_cc"]) if it.carriers else ""

    text = partial(Column, is_number=False)
    columns = [
        text("flow", lambda it: _label(it.entry, it.flows), is_whole=True),
        text("cc", lambda it: core.congestion_label(it.flows[0]["flow_app_cc"])),
        text(
            "tunnel",
            lambda it: _some("tunnels", (tunnels[flow["flow"]] for flow in it.flows)),
            len({*tunnels.values()}) > 1,
            is_whole=True,
        ),
        text(
            "direction",
            lambda it: it.some("directions", "flow_direction"),
            len({flow["flow_direction"] for flow in flows}) > 1,
        ),
        Column(
            "transport",
            lambda it: it.some("transports", "flow_transport"),
            {flow["flow_transport"] for flow in flows} != {"tcp"},
        ),
        Column(
            RATE.heading("goodput") + ", sum" * is_summed,
            lambda it: mbit(sum(flow["flow_goodput"] for flow in it.flows)),
        ),
        Column(
            "completion s",
            completion,
            any("bytes" in entry for entry in totals["experiment"]["flows"]),
        ),
        Column("Retr", lambda it: str(sum(flow["flow_socket_retransmits"] for flow in it.flows))),
        text("carrier cc", carrier_cc, has_carriers),
        Column(
            "carrier retr",
            lambda it: it.counted("retransmits", it.carriers) if it.carriers else "",
            has_carriers,
        ),
        Column("RTOs", lambda it: it.counted("rtos", it.legs)),
        Column("srtt ms", lambda it: ms(_mean(leg["srtt_mean"] for leg in it.legs))),
        Column("p95 ms", lambda it: ms(_most(leg["srtt_p95"] for leg in it.legs))),
        text("limited by", lambda it: _limit(it.flows, result, limits), is_whole=True),
        Column(
            "messages: mean ms",
            lambda it: ms(_mean(flow["flow_message_latency_mean"] for flow in it.timed)),
            has_messages,
        ),
        Column(
            "p99 ms",
            lambda it: ms(_most(flow["flow_message_latency_p99"] for flow in it.timed)),
            has_messages,
        ),
    ]
    return Table.of("", rows, columns)


def _datagram_table(totals: dict[str, Any]) -> Table | None:
    """Return loss and delays of flows over UDP and of cross traffic; None: there are none."""
    rows = [
        (
            str(flow["flow"]),
            "UDP" if flow["flow_traffic"] == "constant" else flow["flow_traffic"],
            *_of_datagrams(flow, "flow"),
            percent(flow["flow_late_share"]),
            number(flow["flow_mos"], 2),
        )
        for flow in totals["flows"]
        if flow["flow_transport"] == "udp"
    ]
    rows += [
        (f"cross_traffic.{index}", "UDP", *_of_datagrams(source, "cross_traffic"), "–", "–")
        for index, source in enumerate(totals["cross_traffic"])
    ]
    if not rows:
        return None
    columns = (
        "flow", "datagrams", "sent", "lost", "reordered", "delay ms", "p50", "p95", "p99",
        "jitter ms", "late", "MOS",
    )  # fmt: skip
    return Table("Datagrams", columns, rows, range(2, len(columns)), whole=(0,))


def _of_datagrams(totals: dict[str, Any], of: str) -> tuple[str, ...]:
    expected, received = totals[f"{of}_expected"], totals[f"{of}_received"]
    return (
        str(totals[f"{of}_sent"]),
        _share(expected - received, expected),
        _share(totals[f"{of}_reordered"], received),
        *(ms(totals[f"{of}_delay_{part}"]) for part in ("mean", "p50", "p95", "p99")),
        ms(totals[f"{of}_jitter"]),
    )


def _ping_table(totals: dict[str, Any], result: Result) -> Table | None:
    """Return RTTs and loss of pings; None: there are none."""
    rows = []
    for ping, placed in zip(totals["pings"], result.network.pings, strict=True):
        trimmed = ping["ping_delay_trimmed"]
        rows.append((
            placed.traffic.key,
            "none" if placed.tunnel is None else result.tunnel_names[placed.tunnel],
            str(ping["ping_sent"]),
            _share(ping["ping_expected"] - ping["ping_received"], ping["ping_expected"]),
            *(ms(ping[f"ping_delay_{part}"]) for part in ("mean", "p50", "p95", "p99")),
            "–" if trimmed is None else f"{60 / trimmed:.0f}",
        ))  # fmt: skip
    columns = ("ping", "tunnel", "sent", "lost", "RTT ms", "p50", "p95", "p99", "RPM")
    return Table("Pings", columns, rows, range(2, len(columns)), whole=(0, 1)) if rows else None


def _tunnels_of_flows(totals: dict[str, Any]) -> dict[int, str]:
    """Return the tunnel's name of each flow, by the flow's number."""
    names = dict.fromkeys((flow["flow"] for flow in totals["flows"]), "none")
    for tunnel in totals["tunnels"]:
        names |= dict.fromkeys(tunnel["flows"], tunnel["tunnel"])
    return names


def _some(what: str, names: Iterable[str]) -> str:
    different = list(dict.fromkeys(names))
    return different[0] if len(different) == 1 else f"{len(different)} {what}"


def _limit(members: list[dict[str, Any]], result: Result, limits: Sequence[Finding]) -> str:
    if limits:
        entry = members[0]["flow_group"]
        return "–" if _is_over(result, entry) else findings.cell(limits[entry])
    cause, share = causes.most([result.limited[flow["flow"]] for flow in members])
    return f"{causes.cell(cause)} {percent(share)}" if share else "–"


def _jain(totals: dict[str, Any]) -> str:
    found, flows = totals["metrics"], totals["flows"]
    text = number(found["jain"], 3)
    without = sum(flow["flow_carrier"] is None for flow in flows)
    for groups, count in (
        ("users", len(totals["users"])),
        ("carriers", len(totals["carriers"]) + without),
    ):
        if 1 < count < len(flows):
            text += f", between {groups} {number(found[f'jain_{groups}'], 3)}"
    return text


def _rows(
    flows: list[dict[str, Any]], placed: Sequence[ResolvedFlow]
) -> Iterator[tuple[int | None, list[dict[str, Any]]]]:
    """Yield the flows of each row, and the entry of ``flows`` that they share, if there are more.

    A few flows have a row each.
    """
    if len(flows) <= _MOST_ROWS:
        yield from ((None, [flow]) for flow in flows)
        return
    entries: dict[int, list[dict[str, Any]]] = {}
    for flow in flows:
        entries.setdefault(placed[flow["flow"]].group, []).append(flow)
    for entry, members in entries.items():
        yield (entry if len(entries) > 1 else None), members


def _label(entry: int | None, members: list[dict[str, Any]]) -> str:
    if len(members) == 1:
        return str(members[0]["flow"])
    return f"{len(members)} flows" if entry is None else f"{len(members)} × flows.{entry}"


def _path_leg(flow: dict[str, Any]) -> dict[str, Any]:
    legs: list[dict[str, Any]] = flow["legs"]
    return legs[path_leg([leg["leg_name"] for leg in legs])]


def _paths_of(flow: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the legs of the connection that crosses the path, if it has this name: one a path."""
    crosses = connection_of(_path_leg(flow)["leg_name"])
    legs = [leg for leg in flow["legs"] if connection_of(leg["leg_name"]) == crosses]
    return legs if crosses == name else []


def _carriers(flows: Iterable[dict[str, Any]]) -> dict[tuple[int, str, str], dict[str, Any]]:
    """Return what each carrier's ends sent for the flows: its legs, by number and direction."""
    return {
        (flow["flow_carrier"], flow["flow_direction"], leg["leg_name"]): leg
        for flow in flows
        for leg in _paths_of(flow, "carrier")
    }


def _completion(flows: list[dict[str, Any]], experiment: Experiment) -> str:
    """Tell when finite flows completed, since their starts; of several the mean, and how many.

    Flows that start in the warm-up or would start after the end of the run do not count.
    """
    starts = ((flow, flow["flow_start"]) for flow in flows)
    times = [
        flow["flow_completion_time"]
        for flow, start in starts
        if start is not None and start >= experiment.warmup
    ]
    done = sum(time is not None for time in times)
    text = number(_mean(times), 3)
    return text if len(times) in (1, done) else f"{text} ({done} of {len(times)})"


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
