# SPDX-License-Identifier: GPL-2.0-only
"""The reference pages of the site, written from the code each time the site is built."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from tunnelcc import catalog, core
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.relay import Carrier, RelayEntry
from tunnelcc.catalog.stream import StreamCarrier, StreamEntry
from tunnelcc.cli import PLUGINS, cli
from tunnelcc.hosts import costs
from tunnelcc.metrics import METRICS
from tunnelcc.report.overview import StackLayer, overview
from tunnelcc.results.variables import VARIABLES, Variable, declared
from tunnelcc.scenario import Experiment
from tunnelcc.schema import KeyInfo, keys_of
from tunnelcc.schema.units import format_size

ROOT = Path(__file__).parent.parent

#: Where a table of keys has more to say than its keys do.
_ABOUT_KEYS = {
    "path": "The bottleneck between client and server, where there is no `network`.",
    "flows": "A list: each entry is one flow, or `count` of them.",
    "tunnel": "The tunnel of all flows, by name or as a table with a `name`.",
    "tunnels": "Several tunnels by names of your own, for `flows.tunnel`.",
    "network": "Hosts and links in place of the one `path`.",
    "cross_traffic": "A list of UDP sources, which are no part of goodput and fairness.",
    "pings": "A list of echo requests, through a tunnel or beside it.",
    "hosts": "CPUs, kernels and socket buffers of all hosts, unless a key of one host differs.",
    "tcp": "Settings of the applications' and carriers' TCP.",
}

#: Tables that take keys of another table.
_SAME_KEYS = {
    "path.reverse": "path",
    "network.access": "path",
    "network.links.NAME": "path",
    "network.hosts.NAME": "hosts",
    "hosts.client": "hosts",
    "hosts.server": "hosts",
    "tunnels.NAME": "tunnel",
}


def pages() -> dict[str, str]:
    """Return the address of each generated page in the site, and its Markdown."""
    written = {f"reference/{name}.md": write() for name, write in _PAGES.items()}
    for name in catalog.names():
        written[f"reference/tunnels/{name}.md"] = _tunnel(name)
    for name in _algorithms():
        written[f"reference/congestion-controls/{_file(name)}.md"] = _algorithm(name)
    return written


def table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()
) -> str:
    """Return a table in Markdown; ``right``: the columns of numbers."""
    rules = ["---:" if column in right else "---" for column in range(len(headings))]
    lines = [headings, rules, *([_cell(it) for it in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def stacked(text: str) -> str:
    """Return a table, in Markdown, whose columns are below each other on a phone."""
    return f'<div class="stacked" markdown>\n\n{text}\n</div>\n'


def _cell(value: object) -> str:
    return str(value).replace("|", r"\|").replace("\n", " ").replace("<", "&lt;")


def _code(value: object) -> str:
    text = str(value)
    return f"`{text}`" if text else ""


# Keys -------------------------------------------------------------------------------------------


def _keys() -> str:
    text = [
        "# Keys of an experiment",
        "",
        "Every key that a scenario file, `--set`, `--axis` or `tc.Experiment.parse()` takes. "
        "`tunnelcc show experiment` prints them, too. Where a row begins with a name and a "
        "colon, such as `codel:`, the key exists with that choice only. `NAME` stands for a name "
        "of your own.",
        "",
    ]
    infos = sorted(keys_of(Experiment), key=_is_table)
    same = _same_keys(infos)
    for prefix, members in groupby(
        infos, lambda info: info.key.partition(".")[0] * _is_table(info)
    ):
        text += [f"## {prefix or 'Top level'}", "", _ABOUT_KEYS.get(prefix, ""), ""]
        shown: list[tuple[str, str, str, str]] = []
        copied: dict[str, dict[str, None]] = {}
        for it in members:
            if it.key in same:
                copied.setdefault(same[it.key], {})[it.key.removeprefix(f"{same[it.key]}.")] = None
            else:
                shown.append((_code(it.key), _default(it.default), it.doc, it.expected))
        if shown:
            text += [stacked(table(("key", "default", "meaning", "accepts"), shown)), ""]
        for taker, names in copied.items():
            giver = _SAME_KEYS[taker]
            text += [f"`{taker}` also takes these keys, as [`{giver}`](#{giver}) does:"]
            text += [", ".join(map(_code, names)) + ".", ""]
    return "\n".join(text)


def _same_keys(infos: Sequence[KeyInfo]) -> dict[str, str]:
    """Return key → table of ``_SAME_KEYS``, for keys that are all like those of another table."""
    found: dict[str, list[KeyInfo]] = {}
    for info in infos:
        found.setdefault(info.key, []).append(info)

    def is_same(one: KeyInfo, other: KeyInfo) -> bool:
        says_nothing = one.default is None and not one.doc  # hosts: the default is that of all
        is_alike = (one.default, one.doc) == (other.default, other.doc)
        return one.expected == other.expected and (is_alike or says_nothing)

    def is_copied(key: str, taker: str, giver: str) -> bool:
        mine, given = found[key], found.get(giver + key.removeprefix(taker), [])
        is_below = key.startswith(f"{taker}.")
        return is_below and len(mine) == len(given) and all(map(is_same, mine, given))

    return {
        key: taker
        for taker, giver in _SAME_KEYS.items()
        for key in found
        if is_copied(key, taker, giver)
    }


def _is_table(info: KeyInfo) -> bool:
    return "." in info.key


def _default(value: object) -> str:
    if value is None:
        return "–"
    return _code(json.dumps(value, default=str) if isinstance(value, (dict, list, bool)) else value)


# Metrics ----------------------------------------------------------------------------------------


def _metrics() -> str:
    text = (
        "# Metrics\n\n"
        "`result.metric(NAME)` returns a metric of one run, `tunnelcc plot --y NAME` draws it, and "
        "`tunnelcc show metrics` prints this list. Metrics that begin with `flow_` have one value "
        "for each flow. All are in SI units. [Your own metric](../tasks/own-metric.md) adds "
        "others. *Takes*: what else `result.metric()` accepts. "
        "*Stored*: part of the results of a sweep.\n\n"
    )
    rows = [
        (
            _code(name), metric.long_name, metric.units, metric.definition,
            ", ".join(map(_code, metric.keys)), "yes" if metric.is_stored else "",
        )
        for name, metric in METRICS.items()
    ]  # fmt: skip
    return text + stacked(
        table(("metric", "meaning", "unit", "definition", "takes", "stored"), rows)
    )


# Measurements -----------------------------------------------------------------------------------

#: First dimension → heading.
_PARTS = {
    "": "The run", "flow": "Flows", "leg": "Connections of flows", "link": "Links",
    "packet_tunnel": "Tunnels that carry packets", "host": "Hosts",
    "cross_traffic": "Cross traffic", "ping": "Pings",
}  # fmt: skip


def _measurements() -> str:
    text = (
        "# Measurements\n\n"
        "The variables of `result.dataset`. `result[NAME]` is the same as a numpy array, and the "
        "JSON of `tunnelcc run --json` has the totals under the same names. A name begins with "
        "what the variable is of: `flow`, `link`, `tunnel`, `host`, `cross_traffic` or `ping`; "
        "those of connections have TCP's own names. Totals leave out the warm-up, unless they are "
        "since the start. A name that ends in `_series` belongs to a series beside a total.\n\n"
        "A flow through a relay has several connections (`leg`): `app`, `carrier` and `target`. "
        "`bottleneck_link` and `bottleneck_direction` are the numbers of the link and the "
        "direction that the metrics of the path are of. *Stored*: measured by the models and part "
        "of a stored run; the others follow from these and the experiment.\n\n"
    )
    stored = core.measurements()
    found = {name: declared(name) for name in (*stored, *VARIABLES)}
    for part, heading in _PARTS.items():
        rows = [
            (
                _code(name), it.long_name, it.units, ", ".join(map(_code, it.dims)),
                "yes" if name in stored else "",
            )
            for name, it in found.items()
            if _part(it) == part
        ]  # fmt: skip
        columns = ("variable", "meaning", "unit", "dimensions", "stored")
        text += f"## {heading}\n\n{table(columns, rows)}\n"
    return text


def _part(variable: Variable) -> str:
    of = [dim for dim in variable.dims if dim in _PARTS]
    return "leg" if "leg" in of else of[0] if of else ""


# Tunnels ----------------------------------------------------------------------------------------


def _tunnels() -> str:
    text = (
        "# Tunnels\n\n"
        "Every tunnel of the catalogue. [Concepts](../concepts.md#three-kinds-of-tunnel) explains "
        "the three kinds; [add a tunnel](../tasks/add-a-tunnel.md) adds one of your own.\n\n"
    )
    for kind in catalog.KINDS:
        entries = [entry for entry in map(catalog.load, catalog.names()) if entry.kind == kind]
        rows = [(f"[{it.name}](tunnels/{it.name}.md)", it.summary, it.software) for it in entries]
        text += (
            f"## {kind.capitalize()}\n\n{table(('name', 'what it is', 'numbers are of'), rows)}\n"
        )
    text += (
        "## Defaults that decide speed\n\n"
        "What each program does if nobody configures it, in the version whose numbers the entry "
        "has. Sizes of packets are in bytes, queues in packets; threads are those of programs that "
        "carry packets. TCP_NODELAY is of the connection across the path; without it, Nagle's rule "
        "holds small writes back. Programs whose defaults have changed have an entry for each: "
        "`openvpn-2.6-tcp` and `openvpn-tcp`, `kcptun-2017`, `kcptun-2021` and `kcptun`, "
        "`gost-kcp-unset` and `gost-kcp`. OpenSSH has the same window and the same TCP_NODELAY "
        "until August 2026 (`channels.h`, `packet.c`); since 2.7, OpenVPN over UDP has packet IDs "
        "of 8 bytes, 4 more than `openvpn-udp`.\n\n"
    )
    return text + _speed_defaults()


def _programs() -> str:
    programs, own = catalog.programs(), catalog.names()
    text = (
        "# Programs\n\n"
        "Who has a program finds here what stands for it: an entry of [the catalogue](tunnels.md) "
        "with the keys that differ. `tunnelcc run --tunnel frp` takes a name of either table, and "
        'so do `tunnel = "frp"` in a scenario, `compare --tunnel frp,trojan` and '
        '`Experiment(tunnel="frp")`. Keys of `tunnel` change it further. Results keep the name, '
        "and the entry that stands for it. Most numbers were read in the program's source or its "
        "specification; what was measured says so in its label. "
        "`tunnelcc show tunnel frp` prints each with its source, and "
        "[add a tunnel](../tasks/add-a-tunnel.md) tells how to make a file of your own.\n\n"
    )
    rows = [
        (f"[{name}](#{name})", it.carries, f"[{it.like}]({_of(it.like, own)})" if it.like else "–")
        for name, it in programs.items()
    ]
    text += table(("name", "how it carries data", "like"), rows)
    text += "\nPrograms with an entry of their own:\n\n"
    entries = map(catalog.load, own)
    text += table(
        ("name", "what it is", "numbers are of"),
        ((f"[{it.name}](tunnels/{it.name}.md)", it.summary, it.software) for it in entries),
    )
    for name, program in programs.items():
        text += f"\n## {name}\n\n{program.carries}.\n\n"
        facts = [("read", program.software), ("mode", program.mode)]
        text += table(("property", "value"), [*facts, ("missing", program.missing)]) + "\n"
        if program.like is None:
            text += "Nothing stands for it.\n"
        elif not program.differs:
            text += f"Like [{program.like}]({_of(program.like, own)}); no key differs.\n"
        else:
            text += f"Like [{program.like}]({_of(program.like, own)}), but for:\n\n"
            keys = program.differs.items()
            differs = [(_code(key), it.text(), it.label, it.source) for key, it in keys]
            text += table(("key of the entry", "value", "label", "source"), differs)
    return text


def _of(name: str, own: Sequence[str]) -> str:
    """Return the address of what stands for a program, from the page of programs."""
    return f"tunnels/{name}.md" if name in own else f"#{name}"


def _speed_defaults() -> str:
    """Return a table of the defaults of each entry that decide its speed."""
    headings = (
        "name", "program and version", "TCP_NODELAY", "windows and buffers", "largest packets",
        "queue", "threads",
    )  # fmt: skip
    rows = []
    for entry in map(catalog.load, catalog.names()):
        if isinstance(entry, RelayEntry):
            cells = _of_relay(entry)
        else:
            assert isinstance(entry, PacketEntry)
            cells = _of_packets(entry)
        rows.append((f"[{entry.name}](tunnels/{entry.name}.md)", entry.software, *cells))
    return table(headings, rows)


def _of_packets(entry: PacketEntry) -> tuple[str, str, str, str, str]:
    clamp, device = entry.clamp, entry.device
    sizes = [f"MTU {device.mtu or 'of the path'}"]
    if clamp is not None and clamp.mss:
        sizes.append(f"MSS {clamp.mss}")
    elif clamp is not None:
        sizes.append(f"MSS for packets of {clamp.fit or 'the path'}")
    queue = f"device {device.queue}" if device.queue else "device: no limit"
    if isinstance(entry, DatagramEntry) and entry.socket.asks:
        queue += f", socket of {format_size(entry.socket.asks)}"
    elif isinstance(entry, DatagramEntry) and entry.socket.queue:
        queue += f", socket {entry.socket.queue}"
    kernel = device.device == "kernel"
    threads = "the kernel's" if kernel else "1" if entry.threads.threads == 1 else "1 a direction"
    windows = "the host's TCP" if isinstance(entry, StreamEntry) else "–"
    nodelay = _nodelay(entry.carrier) if isinstance(entry, StreamEntry) else "–"
    return nodelay, windows, ", ".join(sizes), queue, threads


def _of_relay(entry: RelayEntry) -> tuple[str, str, str, str, str]:
    windows, sizes = [], "MSS of the path"
    if entry.mux is not None:
        ways = (entry.mux.to_server, entry.mux.to_client)
        for name in ("stream_window", "session_window", "session_buffer"):
            each = [format_size(getattr(way, name)) for way in ways if getattr(way, name)]
            if each:
                windows.append(f"{name.replace('_', ' ')} {' and '.join(dict.fromkeys(each))}")
    if entry.kcp is not None:
        kcp = entry.kcp.windows
        windows += [
            f"segments sent: client {kcp.client_send}, server {kcp.server_send}",
            f"received: client {kcp.client_receive}, server {kcp.server_receive}",
        ]
        sizes = f"datagram {entry.kcp.session.mtu}"
    elif entry.rudp is not None:
        windows.append(f"{entry.rudp.packets.window} packets")
        sizes = f"data {entry.rudp.packets.data}"
    elif entry.quic is not None:
        for name in ("stream", "connection"):
            window = getattr(entry.quic, name)
            both = dict.fromkeys(format_size(size) for size in (window.first, window.most) if size)
            windows.append(f"{name} {' to '.join(both) or 'without limit'}")
        sizes = f"datagram {entry.quic.packets.most}"
    windows.append(f"read at once {format_size(entry.copy_buffer.bytes)}")
    return _nodelay(entry.carrier), ", ".join(windows), sizes, "–", "–"


def _nodelay(carrier: Carrier | StreamCarrier) -> str:
    if carrier.nodelay is None:
        return "–"
    return ("yes" if carrier.server_nodelay else "client only") if carrier.nodelay else "no"


def _tunnel(name: str) -> str:
    entry = catalog.load(name)
    first = overview(entry)
    text = [
        f"# {name}",
        "",
        f"{entry.summary}.",
        "",
        table(
            ("property", "value"),
            [
                ("kind", f"[{entry.kind}](../../concepts.md#three-kinds-of-tunnel)"),
                ("numbers are of", entry.software),
                ("keys of `tunnel` that change it", ", ".join(map(_code, entry.overrides))),
            ],
        ),
        "",
        "Round trips before the first byte leaves the client:",
        "",
        table(("of", "round trips"), first.round_trips.items(), (1,)),
        "",
    ]
    heading = f"Layers, mode {first.mode}" if len(first.modes) > 1 else "Layers"
    sizes = [format_size(size) for size in first.wire_bytes]
    rows = [
        (way, *(f"{ratio[index]:.3f}" for ratio in first.wire_bytes.values()))
        for index, way in enumerate(("to the server", "to the client"))
    ]
    text += [
        f"## {heading}",
        "",
        _stack(first.stack),
        "",
        "IP bytes per application byte, by the size of a write on an idle connection:",
        "",
        table(("", *sizes), rows, range(1, len(sizes) + 1)),
        "",
    ]
    if len(first.modes) > 1:
        others = ", ".join(f"`{mode}`" for mode in first.modes if mode != first.mode)
        text += [f"Other modes: {others}. `tunnelcc show tunnel {name} --mode MODE` shows one.", ""]
    text += ["## Every number and its source", ""]
    text += [table(("setting", "value", "label", "source"), catalog.settings(entry))]
    return "\n".join(text)


def _stack(stack: Sequence[StackLayer]) -> str:
    if all(layer.to_server == layer.to_client for layer in stack):
        return table(("layer", "either way"), ((it.name, it.to_server) for it in stack))
    rows = ((it.name, it.to_server, it.to_client) for it in stack)
    return table(("layer", "to the server", "to the client"), rows)


# Congestion controls ----------------------------------------------------------------------------


def _algorithms() -> tuple[str, ...]:
    return (*core.congestion_controls(), *core.ns3_congestion_controls())


def _file(name: str) -> str:
    return name.replace("::", "-")


def _link(name: str) -> str:
    return f"[{core.congestion_label(name)}](congestion-controls/{_file(name)}.md)"


def _congestion_controls() -> str:
    own = [(_link(it.name), it.summary, it.source) for it in core.algorithms()]
    others = ", ".join(map(_link, core.ns3_congestion_controls()))
    return (
        "# Congestion controls\n\n"
        "`cc` of a flow or of a tunnel is one of these names. A table sets parameters: "
        '`cc = { name = "cubic", beta = 0.8 }`. [Congestion controls in the '
        "model](../model/congestion-controls.md) says how they are built; "
        "[add one](../tasks/add-a-congestion-control.md) in C++.\n\n"
        f"## Ours\n\n{table(('name', 'what it does', 'source'), own)}\n"
        "## ns-3's\n\nClasses of `ns3::TcpCongestionOps`, through an adapter. Those of ns-3 3.44 "
        f"are unchanged: {others}.\n"
    )


def _algorithm(name: str) -> str:
    own = {item.name: item for item in core.algorithms()}
    about = f"{own[name].summary}.\n\nSource: {own[name].source}." if name in own else (
        "A class of `ns3::TcpCongestionOps`, through an adapter; its parameters are its "
        "attributes.\n\nSource: ns-3 3.44, or whoever wrote the class."
    )  # fmt: skip
    rows = [
        (
            _code(it.name), it.default_text, it.unit, it.accepts, it.doc, it.source,
        )
        for it in core.congestion_parameters(name)
    ]  # fmt: skip
    columns = ("parameter", "default", "unit", "accepts", "meaning", "source")
    parameters = table(columns, rows) if rows else "It has no parameters.\n"
    return f"# {core.congestion_label(name)}\n\n{about}\n\n{parameters}"


# Hosts ------------------------------------------------------------------------------------------


def _profiles() -> str:
    text = (
        "# Cost profiles\n\n"
        "What an operation costs the CPU of a host. `hosts.profile` chooses a profile, "
        "[measure my host](../tasks/measure-my-host.md) makes one of your machine.\n\n"
    )
    for name in costs.names():
        profile = costs.load(name)
        operations = [(it, profile.operation(it)) for it in costs.OPERATIONS]
        rows = [
            (it, f"{cost.per_call:.0f}", f"{cost.per_byte:.3f}", cost.label, cost.source)
            for it, cost in operations
        ]
        columns = ("operation", "ns per call", "ns per byte", "label", "source")
        text += f"## {name}\n\n{profile.summary}.\n\n{table(columns, rows, (1, 2))}\n"
    return text


# Command line -----------------------------------------------------------------------------------


def _command_line() -> str:
    text = (
        "# Command line\n\n"
        "What `tunnelcc COMMAND --help` prints. An error ends with status 1, or 2 where a command "
        "or a key is wrong.\n\n"
    )
    return text + "\n".join(
        f"## {' '.join(path)}\n\n```text\n{_help(path, command)}\n```\n"
        for path, command in _commands()
    )


def _commands(
    group: click.Group = cli, path: tuple[str, ...] = ("tunnelcc",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    # Those of plug-ins are installed here by chance.
    others = entry_points(group=PLUGINS).names if group is cli else set()
    for name in sorted({*group.list_commands(context)} - others):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _help(path: Sequence[str], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(path), max_content_width=96)
    return command.get_help(context)


# Measurements of this project ---------------------------------------------------------------------

#: Name in bench.json → in the table.
_RUNS_OF_BENCH = {
    "plain": "plain",
    "plain, CUBIC": "CUBIC",
    "gost-relay-wss": "gost-relay-wss",
    "wireguard": "wireguard",
    "openvpn-2.6-tcp": "openvpn-2.6-tcp",
    "htsim": "htsim, NewReno",
}


def bench_table() -> str:
    """Return results/bench.json as a table of M segments a second."""
    bench: dict[str, Any] = json.loads((ROOT / "results/bench.json").read_text("utf-8"))
    rows = []
    for case in bench["cases"]:
        speeds = [case["runs"][name]["packets_per_cpu_second"] / 1e6 for name in _RUNS_OF_BENCH]
        rows.append((case["case"], *(f"{it:.1f}" for it in speeds), f"{_times(case):.0f} ×"))
    columns = ("", *_RUNS_OF_BENCH.values(), "against stock ns-3")
    return table(columns, rows, range(1, len(columns)))


def instructions_table() -> str:
    """Return the instructions for a segment of results/bench.json as a table."""
    bench: dict[str, Any] = json.loads((ROOT / "results/bench.json").read_text("utf-8"))
    names = [name for name in _RUNS_OF_BENCH if name != "htsim"]
    rows = [
        (case["case"], *(f"{case['runs'][it]['instructions_per_packet']:.0f}" for it in names))
        for case in bench["cases"]
    ]
    columns = ("", *(_RUNS_OF_BENCH[name] for name in names))
    return table(columns, rows, range(1, len(columns)))


def _times(case: dict[str, Any]) -> float:
    runs = case["runs"]
    return float(runs["plain"]["packets_per_cpu_second"] / runs["stock"]["packets_per_cpu_second"])


_PAGES: dict[str, Callable[[], str]] = {
    "command-line": _command_line,
    "keys": _keys,
    "metrics": _metrics,
    "measurements": _measurements,
    "tunnels": _tunnels,
    "programs": _programs,
    "congestion-controls": _congestion_controls,
    "profiles": _profiles,
}

#: Written in a page in place of a table: <!-- table: bench -->.
TABLES: dict[str, Callable[[], str]] = {
    "bench": bench_table,
    "instructions": instructions_table,
}
TABLE_MARK = re.compile(r"<!-- table: ([\w-]+) -->")
