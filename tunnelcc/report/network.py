# SPDX-License-Identifier: GPL-2.0-only
"""Tables for the terminal of an experiment's network: its numbers, and where each comes from."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tunnelcc.errors import unknown_name
from tunnelcc.network import origins
from tunnelcc.network.origins import Number
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.network.traffic import Traffic
from tunnelcc.output import records
from tunnelcc.output.tables import console
from tunnelcc.results import fair
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import format_rate, format_size, format_time
from tunnelcc.words.quantities import mbit

# With more equal links or hosts than this, a row names the first and the last.
_MOST_NAMES = 4

# Of a line that says where a number comes from.
_WIDEST = 14

#: What a row is, and its numbers.
Row = tuple[tuple[str, ...], dict[str, Number]]
#: Headings of the first columns, and rows.
Section = tuple[Sequence[str], list[Row]]


def print_network(experiment: Experiment, only: str | None = None) -> None:
    """Print hosts, links, tunnels and flows of ``experiment``, with the origin of each number.

    ``only``: one of SECTIONS. Raises ConfigError if there is no such section.
    """
    if only is not None and only not in SECTIONS:
        raise unknown_name("--only", only, SECTIONS)
    out, network = console(), experiment.resolved
    if experiment.title:
        out.print(experiment.title, style="bold", markup=False)
    for name, rows in SECTIONS.items():
        if only in (None, name):
            headings, found = rows(network)
            _print(out, name, headings, found)
            records.tell(name, [_record(headings, *row) for row in found])


def _record(
    headings: Sequence[str], cells: Sequence[str], numbers: Mapping[str, Number]
) -> dict[str, str]:
    """Return the texts of a row, and the origin of each number."""
    found = dict(zip(headings, cells, strict=True))
    for key, it in numbers.items():
        found |= {key: it.text, f"{key}.origin": it.origin, f"{key}.source": it.source}
    return found


def _links(network: ResolvedNetwork) -> Section:
    rows: list[Row] = [
        ((name, f"{one} → {other}"), numbers)
        for (name, one, other), numbers in origins.links(network)
    ]
    return ("link", "from, to"), rows


def _hosts(network: ResolvedNetwork) -> Section:
    return ("host",), [((name,), numbers) for name, numbers in origins.hosts(network)]


def _tunnels(network: ResolvedNetwork) -> Section:
    rows: list[Row] = []
    for number, placed in enumerate(network.tunnels):
        carriers = {it.carrier for it in network.flows if it.tunnel == number}
        members = sum(it.tunnel == number for it in network.flows)
        entry = placed.keys.name
        name = entry if placed.name in ("tunnel", entry) else f"{placed.name} ({entry})"
        carried = f"{members} flow{'s' if members > 1 else ''}"
        above = [it.keys.name for it in network.tunnels if it.lower == number]
        if placed.hop is not None:
            carried = "carriers"
        elif not members and above:
            carried = ", ".join(above)
        elif placed.hop is None and placed.keys.entry.HAS_CARRIERS:
            carried += f", {len(carriers)} carrier{'s' if len(carriers) > 1 else ''}"
        hosts = placed.hosts if placed.hop is None else placed.hosts[placed.hop : placed.hop + 2]
        of = network.topology.hosts_of
        routes = [of(it.client, it.to_server) for it in placed.routes] or [hosts]
        if placed.lower is not None:
            carried += f", through {network.tunnels[placed.lower].keys.name}"
        ways = "\n".join(" → ".join(route) for route in routes)
        rows.append(((name, ways, carried), origins.tunnel(placed)))
    return ("tunnel", "hosts", "carries"), rows


def _flows(network: ResolvedNetwork) -> Section:
    counts = Counter(it.traffic for it in network.flows)
    alike: dict[Any, list[Traffic]] = {}
    for traffic, share in zip(network.kinds, fair.shares(network), strict=True):
        numbers = origins.flow(network, traffic)
        numbers["fair share"] = _share(traffic.demand, share)
        alike.setdefault((traffic.number, *numbers.items()), []).append(traffic)
    rows: list[Row] = []
    for (group, *numbers_of_each), members in alike.items():
        count, label = sum(counts[it] for it in members), members[0].flow.label
        arrow = "→" if members[0].direction == "up" else "←"
        ends = [f"{client} {arrow} {server}" for client, server in (it.ends for it in members)]
        name = f"flows.{group}\n{count} × {label}" if count > 1 else f"flows.{group}\n{label}"
        routes = [_links_of(it) for it in members]
        rows.append(((name, _together(ends), _together(routes)), dict(numbers_of_each)))
    return ("flow", "client, server", "links"), rows


def _cross_traffic(network: ResolvedNetwork) -> Section:
    rows: list[Row] = []
    for index, placed in enumerate(network.cross_traffic):
        source = network.experiment.cross_traffic[index]
        ends = f"{placed.client} {'→' if placed.sender == 'client' else '←'} {placed.server}"
        keys = "rate", "packet"
        texts = format_rate(source.rate), format_size(source.packet)
        numbers = {
            key: Number(text, *origins.stated(source, f"cross_traffic.{index}", key))
            for key, text in zip(keys, texts, strict=True)
        }
        rows.append(((f"cross_traffic.{index}", ends, _links_of(placed.traffic)), numbers))
    return ("source", "client, server", "links"), rows


def _links_of(traffic: Traffic) -> str:
    """Return the links to the server, and those of another way back.

    With MPTCP: those of each path.
    """
    if (paths := traffic.multipath) is not None:
        lines = (" + ".join(it.link for it in route.to_server) for route in paths.routes)
        backups = [it in paths.keys.backup for it in paths.keys.paths]
        return "\n".join(
            f"{line} (backup)" if backup else line
            for line, backup in zip(lines, backups, strict=True)
        )
    there, back = (
        [_shared(step.link, share) for step, share in traffic.below.loads_of(end).items()]
        for end in ("client", "server")
    )
    is_same = sorted(back) == sorted(there)
    return "\n".join(there if is_same else (*there, "back:", *back))


def _shared(link: str, share: float) -> str:
    """Return a link's name, and which share of the data crosses it."""
    if share == 1:
        return link
    return f"{link} (after a fail-over)" if share == 0 else f"{link} ({share:.0%} of data)"


def _share(demand: float | None, share: float) -> Number:
    if math.isnan(share):
        return Number("no limit", "derived", "links without a rate")
    source = "flows.rate" if demand is not None and share >= demand else "max-min"
    return Number(f"{mbit(share)}Mbps", "derived", source)


def _run(network: ResolvedNetwork) -> Section:
    experiment = network.experiment
    numbers = {}
    for key in ("duration", "warmup", "probe_interval", "start_jitter"):
        text = format_time(getattr(experiment, key))
        numbers[key] = Number(text, *origins.stated(experiment, "", key))
    numbers["seed"] = Number(str(experiment.seed), *origins.stated(experiment, "", "seed"))
    name, is_reverse = network.bottleneck
    ends = network.topology.links[name].ends
    where = " → ".join(ends[::-1] if is_reverse else ends)
    keys = experiment.network
    stated = keys is not None and keys.bottleneck is not None
    source = "network.bottleneck" if stated else f"of flow 0, {where}"
    if len(network.topology.links) > 1:
        numbers["bottleneck"] = Number(name, "stated" if stated else "derived", source)
    return (), [((), numbers)]


#: Name → function that returns the headings of its first columns, and its rows.
SECTIONS: dict[str, Callable[[ResolvedNetwork], Section]] = {
    "run": _run,
    "links": _links,
    "hosts": _hosts,
    "tunnels": _tunnels,
    "flows": _flows,
    "traffic": _cross_traffic,
}


def _print(out: Console, name: str, headings: Sequence[str], rows: Iterable[Row]) -> None:
    """Print a section. Rows that differ only in their first cells become one."""
    rows = _merged(rows)
    if not rows:
        return
    out.print(f"\n{name.capitalize()}", style="bold", markup=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", show_lines=False)
    columns = dict.fromkeys(key for _, numbers in rows for key in numbers)
    for heading in (*headings, *columns):
        table.add_column(escape(heading), overflow="fold", no_wrap=heading in headings)
    for cells, numbers in rows:
        texts = [_cell(numbers[key]) if key in numbers else "" for key in columns]
        table.add_row(*map(escape, cells), *texts)
    out.print(table)
    if name == "flows":
        out.print("fair share: of the payload, if all flows and traffic send at once", style="dim")


def _cell(number: Number) -> str:
    return f"{escape(number.text)}\n[dim]{escape(_broken(number.why))}[/]"


def _broken(why: str) -> str:
    """Return the text with lines that end after a part of a long key, not within a word."""
    lines = [""]
    for part in re.findall(r"[^. _]+[. _]*", why):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _WIDEST:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _merged(rows: Iterable[Row]) -> list[Row]:
    """Return the rows; those with equal numbers are one, which names them all."""
    alike: dict[Any, list[tuple[str, ...]]] = {}
    for cells, numbers in rows:
        alike.setdefault((*numbers.items(),), []).append(cells)
    return [
        (tuple(map(_together, zip(*names, strict=True))), dict(numbers))
        for numbers, names in alike.items()
    ]


def _together(names: Sequence[str]) -> str:
    """Return the names in a cell; of many, the first and the last."""
    different = [*dict.fromkeys(names)]
    if len(different) > _MOST_NAMES:
        different = [different[0], f"… ({len(different)})", different[-1]]
    return "\n".join(different)
