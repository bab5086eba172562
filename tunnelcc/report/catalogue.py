# SPDX-License-Identifier: GPL-2.0-only
"""Tables for the terminal of what there is: keys, metrics, and entries of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table as Grid

from tunnelcc import catalog, core, modules, payloads
from tunnelcc.catalog import traffic
from tunnelcc.errors import ConfigError, Problem, nearest, unknown_name
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.output import records
from tunnelcc.output.tables import Table, console, grid
from tunnelcc.schema import keys_of, listed_as
from tunnelcc.schema.units import format_size

if TYPE_CHECKING:
    from tunnelcc.catalog.named import Program
    from tunnelcc.hosts.costs import Profile
    from tunnelcc.report.overview import Overview


def _tunnels() -> Iterator[tuple[str, ...]]:
    for entry in map(catalog.load, catalog.names()):
        yield entry.name, entry.summary, entry.software


def _programs() -> Iterator[tuple[str, ...]]:
    for name, program in catalog.programs().items():
        yield name, program.text(), program.software


def _algorithms() -> Iterator[tuple[str, ...]]:
    for item in core.algorithms():
        yield core.congestion_label(item.name), item.summary
    for name in core.ns3_congestion_controls():
        yield name, "an ns3::TcpCongestionOps, unchanged"


#: The parts of the list, by name: the heading, and what gives the rows.
_LISTS: Mapping[str, tuple[str, Callable[[], Iterable[tuple[str, ...]]]]] = {
    "tunnels": ("Tunnels", _tunnels),
    "programs": ("Programs for which one of them stands, with keys that differ", _programs),
    "cc": ("Congestion controls", _algorithms),
    "profiles": (
        "Cost profiles of hosts", lambda: ((it, costs.load(it).summary) for it in costs.names())
    ),
    "payloads": ("Payloads", payloads.CORPORA.items),
    "traffic": (
        "Traffic over UDP", lambda: ((it, traffic.load(it).summary) for it in traffic.NAMES)
    ),
}  # fmt: skip


def print_list(part: str | None = None) -> None:
    """Print tunnels, programs, congestion controls, profiles, payloads and traffic, one per line.

    ``part``: only these. Raises ConfigError for a part that is not there.
    """
    if part is not None and part not in _LISTS:
        raise unknown_name("list", part, _LISTS)
    out = console()
    for place, name in enumerate(_LISTS if part is None else [part]):
        heading, rows = _LISTS[name]
        out.print("\n" * (place > 0) + heading, style="bold")
        named = list(rows())
        out.print(grid(named))
        headings = ("name", "summary", "software")
        records.tell(name, [dict(zip(headings, row, strict=False)) for row in named])


def print_payload(name: str) -> None:
    """Print what a payload is. Raises ConfigError."""
    if name not in payloads.CORPORA:
        raise unknown_name("payload", name, payloads.CORPORA)
    console().print(grid([(name, payloads.CORPORA[name])]))
    records.tell("payloads", [{"name": name, "summary": payloads.CORPORA[name]}])


def print_metrics(name: str | None = None) -> None:
    """Print every metric of a run: unit, meaning, formula with source, and arguments.

    ``name``: only those that have this word in their name or their meaning. Raises ConfigError if
    there are none.
    """
    from tunnelcc.metrics import METRICS

    rows = []
    word = "" if name is None else name.lower()
    meanings = {key: it.long_name.lower() for key, it in METRICS.items()}  # words: a user's search
    found = [key for key, meaning in meanings.items() if word in key or word in meaning]
    if not found and name is not None:
        expected = "a word of a metric's name or meaning (`tunnelcc show metrics`)"
        raise ConfigError(Problem("show metrics", name, expected, nearest(name, METRICS)))
    for key in found:
        metric = METRICS[key]
        notes = [f"takes {', '.join(metric.keys)}"] if metric.keys else []
        notes += [] if metric.is_stored else ["of single runs: sweeps do not store it"]
        definition = metric.definition + (f" ({'; '.join(notes)})" if notes else "")
        rows.append((key, metric.units, metric.long_name, definition))
    _print("metrics", ("metric", "unit", "meaning", "definition"), rows)


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

    ``name``: only that key, the keys of that table, or else the keys that have this word in their
    name or their meaning. Raises ConfigError if there is none.
    """
    from tunnelcc.scenario import Experiment

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
        word = name.lower()
        chosen = [row for row in rows if f"{row[0]}.".startswith(f"{listed}.")]
        chosen = chosen or [row for row in rows if word in row[0] or word in row[2].lower()]
        if not chosen:
            expected = "a table, a key or a word of `tunnelcc show experiment`, or a .toml file"
            hint = nearest(name, [row[0] for row in rows])
            raise ConfigError(Problem("show experiment", name, expected, hint))
        _print("keys", ("key", "default", "meaning", "accepts"), chosen)
        return
    _print("keys", ("key", "default", "meaning", "accepts"), rows)
    out.print("Defaults of each hosts.kernel", style="bold")
    for kernel in kernels().values():
        out.print(f"\n{kernel.version}: {kernel.summary}", markup=False)
        rows = [
            (name, str(value), label, source)
            for name, (value, label, source) in kernel.sources.items()
        ]
        _print(f"kernel {kernel.version}", ("setting", "value", "label", "source"), rows)


def print_tunnel(name: str, mode: str | None = None) -> None:
    """Print a catalogue entry, in ``mode`` if given, with the source of every number.

    Raises ConfigError.
    """
    from tunnelcc.report.overview import overview  # with all classes of tunnels

    if name not in catalog.names() and (program := catalog.programs().get(name)) is not None:
        _print_program(name, program)
        if program.like is None:
            return
    try:
        entry = catalog.load(name)
        view = overview(entry, mode)
    except ConfigError as error:
        raise error.below("tunnel") from None
    out = console()
    out.print(entry.name, style="bold", markup=False)
    out.print(
        grid([("summary", entry.summary), ("kind", entry.kind), ("software", entry.software)])
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
    _print("settings", ("setting", "value", "label", "source"), settings)
    records.tell("wire_bytes", lambda: _ratios(view))
    moments_of = view.round_trips.items()
    records.tell("round_trips", [{"for": it, "round_trips": count} for it, count in moments_of])


def _print_program(name: str, program: Program) -> None:
    """Print what stands for a program, and where it differs."""
    rows = [
        ("program", program.software), ("mode", program.mode), ("carries", program.carries),
        ("stands for it", program.text()), ("missing", program.missing),
    ]  # fmt: skip
    out = console()
    out.print(name, style="bold", markup=False)
    out.print(grid(rows))
    records.tell("program", [{"name": name, "like": program.like or "", **dict(rows)}])
    if program.differs:
        differs = [(key, it.text(), it.label, it.source) for key, it in program.differs.items()]
        _print("differs", ("key", "value", "label", "source"), differs)
    out.print()


def _ratios(view: Overview) -> Iterator[dict[str, float]]:
    """Yield the IP bytes per application byte by size of a write."""
    for size, (to_server, to_client) in view.wire_bytes.items():
        yield {"written": size, "to_server": to_server, "to_client": to_client}


def _print(
    name: str, headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> None:
    """Print a table of texts, and tell it as records."""
    Table("", headings, rows, numbers).print(console())
    records.tell(name, lambda: (dict(zip(headings, row, strict=True)) for row in rows))


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
    records.tell("operations", lambda: _costs(profile), {"per_call": "ns", "per_byte": "ns"})
    for operation in costs.OPERATIONS:
        cost = profile.operation(operation)
        numbers = (f"{cost.per_call:.0f}", f"{cost.per_byte:.3f}")
        rows.append((operation, *numbers, cost.label, cost.source))
    columns = ("operation", "ns per call", "ns per byte", "label", "source")
    Table("", columns, rows, (1, 2)).print(out)


def _costs(profile: Profile) -> Iterator[dict[str, float | str]]:
    for operation in costs.OPERATIONS:
        it = profile.operation(operation)
        yield {"operation": operation, "per_call": it.per_call, "per_byte": it.per_byte,
               "label": it.label, "source": it.source}  # fmt: skip


def print_congestion_control(name: str) -> None:
    """Print an algorithm and its parameters. Raises ConfigError."""
    name = core.congestion_name(name)
    if modules.is_file(name):
        try:
            _print_file(modules.of(name))
        except ConfigError as error:
            raise error.below("cc") from None
        return
    if not core.has_congestion_control(name):
        names = (*core.congestion_controls(), *core.ns3_congestion_controls())
        raise unknown_name("cc", name, names)
    out = console()
    out.print(core.congestion_label(name), style="bold", markup=False)
    own = {item.name: item for item in core.algorithms()}
    if name in own:
        out.print(grid([("summary", own[name].summary), ("source", own[name].source)]))
    else:
        text = "an ns3::TcpCongestionOps, unchanged; its parameters are its ns-3 attributes"
        out.print(grid([("summary", text), ("source", "ns-3 3.44, or a class of your own")]))
    _print_parameters(core.congestion_parameters(name))


def _print_file(module: modules.Module) -> None:
    out = console()
    out.print(core.congestion_label(module.name), style="bold", markup=False)
    is_linux = module.name.startswith(core.FILE_PREFIX)
    kind = "a congestion control module of Linux, unchanged" if is_linux else "a class"
    text = f"{module.title}: {kind}"
    out.print(grid([("summary", text), ("source", module.name), ("code", module.code)]))
    _print_parameters(module.parameters)


def _print_parameters(parameters: Sequence[core.Parameter]) -> None:
    rows = [
        (
            item.name,
            item.default_text,
            item.unit,
            item.accepts,
            item.doc,
            item.source,
        )
        for item in parameters
    ]
    columns = ("parameter", "default", "unit", "accepts", "meaning", "source")
    _print("parameters", columns, rows, (1,))
