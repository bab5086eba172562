# SPDX-License-Identifier: GPL-2.0-only
"""Checks of queues and tunnels against Linux 6.12 on a virtual clock.

What was measured, and how: data/README.md. Goodput and RTTs of pings within 10 %, shares within 10
points. There is no noise of a machine, so these are the only differences that are tolerated.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tunnelcc.metrics import mean
from tunnelcc.scenario import Experiment
from validation import causes
from validation.check import Case, Check, Group, Kind
from validation.compare import MeanNear
from validation.measure import Measurement
from validation.reference import DATA

SOURCE = "Linux 6.12"
RATE = 10  # Mbit/s
_LEAD, _DURATION, _STEADY, _APART = 5, 25, 5, 0.1  # s
_SEEDS = 4
_LOSSY_SEEDS = 16  # a median of pings varies by a quarter from run to run
_WIDE = {"rate": "10Gbps", "buffer": "10000p"}  # links without a queue
_TUNNELS: dict[str, tuple[str, dict[str, Any]]] = {
    "wireguard": ("wireguard", {"wireguard": {"name": "wireguard"}}),
    "esp": ("esp", {"esp": {"name": "ipsec-esp"}}),
    **{
        f"vxlan-{mtu}/wireguard": (
            "vxlan", {
                "vxlan": {"name": "vxlan", "mtu": mtu, "under": "wireguard"},
                "wireguard": {"name": "wireguard"},
            },
        )
        for mtu in (1450, 1370)
    },
    **{
        f"openvpn-{mtu}/wireguard": (
            "openvpn", {
                "openvpn": {"name": "openvpn-udp", "mtu": mtu, "under": "wireguard"},
                "wireguard": {"name": "wireguard"},
            },
        )
        for mtu in (1500, 1360)
    },
    "wireguard/gost-relay-wss": (
        "wireguard", {
            "wireguard": {"name": "wireguard", "under": "gost"},
            "gost": {"name": "gost-relay-wss"},
        },
    ),
}  # fmt: skip


@dataclass(frozen=True)
class VirtualCell:
    """A condition, and what was measured in each run: goodputs (Mbit/s), RTTs of pings (ms)."""

    name: str
    goodputs: tuple[tuple[float, ...], ...]
    ping_p50: tuple[float, ...]
    ping_p95: tuple[float, ...]


def cells() -> Iterator[VirtualCell]:
    """Yield the cells of the table."""
    text = (DATA / "virtual/runs.csv").read_text(encoding="utf-8")
    grouped: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(text.splitlines()):
        grouped.setdefault(row["cell"], []).append(row)
    for name, rows in grouped.items():
        yield VirtualCell(
            name,
            tuple(tuple(map(float, row["flows_mbps"].split())) for row in rows),
            tuple(float(row["ping_p50_ms"]) for row in rows),
            tuple(float(row["ping_p95_ms"]) for row in rows),
        )


def group() -> Group:
    """Return the checks against Linux on a virtual clock."""
    return Group(
        "virtual",
        "Linux 6.12 on a virtual clock",
        causes.read("virtual").attach(check for cell in cells() for check in _checks(cell)),
    )


def _checks(cell: VirtualCell) -> Iterator[Check]:
    goodput = mean([sum(run) for run in cell.goodputs])
    yield _check(cell, "goodput", lambda run: run.goodput, MeanNear(goodput, 0.1, unit="Mbit/s"))
    if len(cell.goodputs[0]) > 1:
        share = mean([100 * run[-1] / sum(run) for run in cell.goodputs])
        yield _check(
            cell, "share of the last flow", lambda run: 100 * run.flows[-1].goodput / run.goodput,
            MeanNear(share, absolute=10, unit="%", digits=1),
        )  # fmt: skip
    for what, measured, simulated in (
        ("median", cell.ping_p50, lambda run: run.pings.rtt_p50),
        ("95th percentile", cell.ping_p95, lambda run: run.pings.rtt_p95),
    ):
        near = MeanNear(statistics.fmean(measured), 0.1, unit="ms")
        yield _check(cell, f"RTT of ping, {what}", simulated, near)


def _check(
    cell: VirtualCell, metric: str, value: Callable[[Measurement], float], near: MeanNear
) -> Check:
    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [value(run) for run in runs[0]]

    seeds = _LOSSY_SEEDS if "loss-" in cell.name else _SEEDS
    key = metric.replace(" of the last flow", "").replace("RTT of ping, ", "ping-")
    return Check(
        name=f"virtual/{key.replace(' ', '-')}/{cell.name}",
        metric=f"virtual clock: {metric}",
        source=f"{SOURCE}, {len(cell.goodputs)} runs",
        condition=cell.name,
        cases=(Case(f"virtual/{cell.name}", (experiment(cell.name),), seeds),),
        measure=measure,
        comparison=near,
        kind=Kind.CELL,
    )


def experiment(name: str) -> Experiment:
    """Return the experiment that does what was measured: a cell of tests/reference/virtual.py."""
    queue, *rest = name.split("/")
    described: dict[str, Any] = {
        "hosts": {"tcp_rmem": "32MiB", "tcp_wmem": "4MiB"},
        "duration": f"{_LEAD + _DURATION}s",
        "warmup": f"{_LEAD + _STEADY}s",
        "start_jitter": "10ms",
        "pings": {"interval": "100ms", "start": f"{_LEAD - 0.5}s"},
        "flows": [],
    }
    path: dict[str, Any] = {"rate": f"{RATE}Mbps", "rtt": "40ms", "phase": "0", "buffer": "133p"}
    algorithms, pairs, tunnel, is_behind = ["cubic"], [(1, 1)], "none", False
    if queue == "cake":
        pairs = _cake(rest, described, path)
    elif queue == "nested":
        tunnel, options = "/".join(rest[:2]), rest[2:]
        is_behind = "behind" in options
        losses = [it.removeprefix("loss-") for it in options if it.startswith("loss-")]
        path["loss"] = float(losses[0]) if losses else 0.0
    else:
        algorithms, tunnel = rest[0].split("-"), rest[1]
        pairs = [(1, 1)] * len(algorithms)
        if queue == "fq_codel":
            path |= {"queue": "fq-codel", "buffer": "10240p"}
    for index, _ in enumerate(pairs):
        described["flows"].append(
            {
                "cc": algorithms[index % len(algorithms)],
                "start": f"{_LEAD + index * _APART:g}s",
                "write_size": "128KiB",
            }
        )
    if tunnel != "none":
        top, described["tunnels"] = _TUNNELS[tunnel]
        for it in (*described["flows"], described["pings"]):
            it["tunnel"] = top
    if len(set(pairs)) > 1:
        _place(described, path, pairs)
    elif is_behind:
        _place_behind(described, path)
    else:
        described["path"] = path
    parsed: Experiment = Experiment.parse(described)
    return parsed


def _place_behind(described: dict[str, Any], path: dict[str, Any]) -> None:
    """Send from a host behind the tunnels' first end."""
    lan = {"between": ["pc", "edge"], "rtt": "10us", **_WIDE}
    described["network"] = {"links": {"lan": lan, "link": {"between": ["edge", "far"], **path}}}
    tunnels = described["tunnels"].items()
    described["tunnels"] = {name: {**it, "between": ["edge", "far"]} for name, it in tunnels}
    for it in (*described["flows"], described["pings"]):
        it |= {"from": "pc", "to": "far"}


def _cake(
    words: Sequence[str], described: dict[str, Any], path: dict[str, Any]
) -> list[tuple[int, int]]:
    """Set what a cell of CAKE has. Return the flows' hosts."""
    cake: dict[str, Any] = {"name": "cake", "bandwidth": f"{RATE}Mbps"}
    path |= {"rate": "10Gbps", "buffer": "4MB", "queue": cake}
    what = words[-1]
    if len(words) > 1:
        cake["isolation"] = words[0]
    if what == "pppoe-llcsnap":
        cake["overhead"] = what
    if what == "1-flow-beside-udp":
        udp = {"rate": "20Mbps", "packet": "1428B", "start": f"{_LEAD}s"}
        described["cross_traffic"] = [udp]
    if what == "4-flows-ecn":
        described["tcp"] = {"ecn": True}
    if what.startswith("4-flows"):
        return [(1, 1)] * 4
    if what == "8-and-1-to-one-host" or (words[0] == "flows" and what == "8-and-1"):
        return [(1, 1)] * 8 + [(2, 1)]
    if what in ("8-and-1", "9-apart"):
        return [(1, 1 + host) for host in range(8)] + [(2, 9)]
    return [(1, 1)]


def _place(
    described: dict[str, Any], path: dict[str, Any], pairs: Sequence[tuple[int, int]]
) -> None:
    """Give the flows hosts of their own, on both sides of the link."""
    links = {"link": {"between": ["left", "right"], **path}}
    for side, near in enumerate(("left", "right")):
        for host in sorted({pair[side] for pair in pairs}):
            name = f"{near}-{host}"
            ends = [name, near] if near == "left" else [near, name]
            links[name] = {"between": ends, "rtt": "10us", **_WIDE}
    described["network"] = {"links": links}
    for flow, (source, destination) in zip(described["flows"], pairs, strict=True):
        flow |= {"from": f"left-{source}", "to": f"right-{destination}"}
    described["pings"] |= {"from": "left-1", "to": "right-1"}
