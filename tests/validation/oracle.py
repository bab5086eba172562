# SPDX-License-Identifier: GPL-2.0-only
"""`make oracle`: random experiments, in the simulator and in a real Linux on a virtual clock.

``python -m validation.oracle ask N SEED`` draws experiments number 0 to N - 1 of a seed, lets Linux
answer those that ``data/oracle/answers.jsonl.xz`` does not have, and adds its answers.
``compare`` simulates all experiments of that table, and prints how many of Linux's numbers agree,
and every miss. It needs no kernel.

Half of the plain paths and all queue disciplines are routers of the kernel (netem, tbf and tc),
which share no code with the models; the other links are ``models/path`` between TUN devices.
"""

from __future__ import annotations

import json
import lzma
import math
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tunnelcc import measure
from tunnelcc.errors import TunnelccError
from tunnelcc.measure import beside
from tunnelcc.running.runner import run
from tunnelcc.scenario import Experiment

TABLE = Path(__file__).parent / "data/oracle/answers.jsonl.xz"
SEEDS = 4
MOST_PACKETS = 25_000
DIGITS = 6
#: Metric → the part of its numbers that agrees at least, where that is less than 95 %.
LEAST = {
    "retransmissions": 0.88, "completion": 0.9,
    "RTT beside a relay, mean": 0.0, "RTT beside a relay, p95": 0.0,
}  # fmt: skip

# ------------------------------------------------------------------------------------ what is drawn

Draw = random.Random
Table = dict[str, Any]


def _log(draw: Draw, least: float, most: float) -> float:
    return math.exp(draw.uniform(math.log(least), math.log(most)))


def _path(draw: Draw, depths: tuple[float, float] = (0.4, 4)) -> Table:
    rate = _log(draw, 4, 30)
    rtt = _log(draw, 10, 120)
    buffer = max(round(_packets(rate, rtt) * _log(draw, *depths)), 8)
    return {"rate": f"{rate:.3f}Mbps", "rtt": f"{rtt:.4f}ms", "buffer": f"{buffer}p"}


def _packets(rate: float, rtt: float) -> float:
    """Return the BDP of a rate (Mbit/s) and an RTT (ms) in packets."""
    return rate * rtt * 1e3 / 8 / 1500


def _numbers(path: Table) -> tuple[float, float]:
    """Return its rate (Mbit/s) and its RTT (ms)."""
    return float(path["rate"][:-4]), float(path["rtt"][:-2])


def experiment_of(table: Table) -> Experiment:
    """Return the experiment of a cell: both sides have the RTTs as they were drawn."""
    parsed: Experiment = Experiment.parse(table)
    return parsed.with_({"path.phase": "0"})


def _cc(draw: Draw) -> str:
    names = ("cubic", "bbr", "reno", "vegas", "westwood")
    return draw.choices(names, (8, 6, 4, 1, 1))[0]


def _times(draw: Draw, path: Table, least: float = 10.0) -> Table:
    """Durations: a hundred round trips or more, within the most packets."""
    rate, rtt = _numbers(path)
    most = MOST_PACKETS * 12e-3 / rate
    duration = min(max(least, 0.15 * rtt), most, 20)
    return {"duration": f"{duration:.1f}s", "warmup": f"{0.3 * duration:.1f}s"}


def _pings(draw: Draw) -> Table:
    return {"pings": {"interval": "100ms", "start": "500ms"}} if draw.random() < 0.5 else {}


def _single(draw: Draw) -> Table:
    path = _path(draw)
    return {"path": path, **_times(draw, path), "flows": [{"cc": _cc(draw)}], **_pings(draw)}


def _mix(draw: Draw) -> Table:
    path = _path(draw, (0.6, 4))
    flows = [{"cc": _cc(draw), "start": f"{0.3 * k:.1f}s"} for k in range(draw.randint(2, 4))]
    return {"path": path, **_times(draw, path, 14), "flows": flows, **_pings(draw)}


def _rtts(draw: Draw) -> Table:
    found = _mix(draw)
    for flow in found["flows"][1:]:
        flow["rtt"] = f"{_log(draw, 12, 150):.4f}ms"
    return found


def _lossy(draw: Draw) -> Table:
    found = _single(draw)
    found["path"]["loss"] = f"{_log(draw, 0.05, 2):.4f}%"
    return found


def _queued(name: str) -> Callable[[Draw], Table]:
    def make(draw: Draw) -> Table:
        found = _mix(draw) if draw.random() < 0.5 else _single(draw)
        found["path"] |= {"buffer": "1000p", "queue": name}
        if name == "red":  # thresholds that a rate needs, and a weight that tc(8) can have
            least = max(round(_packets(*_numbers(found["path"])) * _log(draw, 0.1, 0.5)), 5)
            found["path"]["queue"] = {
                "name": "red", "gentle": False, "weight": 2**-9,
                "min_threshold": f"{least}p", "max_threshold": f"{3 * least}p",
            }  # fmt: skip
        if name == "cake":
            rate = found["path"]["rate"]
            found["path"] |= {"rate": "1Gbps", "buffer": "4MB",
                              "queue": {"name": "cake", "bandwidth": rate}}  # fmt: skip
        if name != "cake" and draw.random() < 0.3:
            found["tcp"] = {"ecn": True}
        return found

    return make


def _windows(draw: Draw) -> Table:
    found = _single(draw)
    size = round(_log(draw, 32, 600))
    key = draw.choice(("tcp_rmem", "tcp_wmem"))
    found["hosts"] = {key: f"{size}KiB"}
    return found


def _short(draw: Draw) -> Table:
    path = _path(draw, (1, 4))
    flows: list[Table] = [{"cc": "cubic"}] if draw.random() < 0.5 else []
    for k in range(draw.randint(3, 8)):
        size = round(_log(draw, 10, 800))
        flows.append({"cc": "cubic", "bytes": f"{size}kB", "start": f"{3.2 + 0.7 * k:.1f}s"})
    times = {"duration": "14s", "warmup": "3s"}
    return {"path": path, **times, "flows": flows}


def _messages(draw: Draw) -> Table:
    path = _path(draw, (0.8, 4))
    rate = float(path["rate"][:-4])
    message = {"cc": "cubic", "rate": f"{rate * draw.uniform(0.05, 0.3):.4f}Mbps",
               "write_size": f"{round(_log(draw, 200, 8000))}B"}  # fmt: skip
    flows = [message] + ([{"cc": _cc(draw)}] if draw.random() < 0.6 else [])
    return {"path": path, **_times(draw, path), "flows": flows, "tcp": {"nodelay": True}}


def _datagrams(draw: Draw) -> Table:
    path = _path(draw)
    rate = float(path["rate"][:-4])
    udp = {"transport": "udp", "rate": f"{rate * draw.uniform(0.1, 0.6):.4f}Mbps",
           "gaps": draw.choice(("equal", "exponential"))}  # fmt: skip
    return {"path": path, **_times(draw, path), "flows": [{"cc": _cc(draw)}, udp],
            "pings": {"interval": "100ms", "start": "500ms"}}  # fmt: skip


def _steps(draw: Draw) -> Table:
    found = _single(draw)
    rate = float(found["path"]["rate"][:-4])
    duration = float(found["duration"][:-1])
    found["path"]["rate_steps"] = [
        [f"{duration * 0.4:.2f}s", f"{rate * 0.5:.3f}Mbps"],
        [f"{duration * 0.7:.2f}s", f"{rate * 0.8:.3f}Mbps"],
    ]
    return found


def _tunnelled(name: str) -> Callable[[Draw], Table]:
    def make(draw: Draw) -> Table:
        found = _mix(draw) if draw.random() < 0.4 and name != "kcptun-2021" else _single(draw)
        pings = {"interval": "100ms", "start": "500ms"}
        if name in RELAYS:  # which carry no packets
            pings = {}
            found.pop("pings", None)
        tunnel = {"name": name, "cc": "cubic"} if name in STREAMS else name
        return {**found, "tunnel": tunnel, **({"pings": pings} if pings else {})}

    return make


#: Tunnels that end an application's connection, and those that have one of TCP across the path.
RELAYS = ("ssh-forward", "kcptun-2021")
STREAMS = ("openvpn-2.6-tcp", "vtun", "ssh-forward")

#: Kind of an experiment → what draws it, and the links that can have it.
KINDS: Mapping[str, tuple[Callable[[Draw], Table], tuple[str, ...]]] = {
    "single": (_single, ("models", "router")),
    "mix": (_mix, ("models", "router")),
    "RTTs": (_rtts, ("models",)),
    "loss": (_lossy, ("models", "router")),
    "codel": (_queued("codel"), ("router",)),
    "fq-codel": (_queued("fq-codel"), ("router",)),
    "pie": (_queued("pie"), ("router",)),
    "cake": (_queued("cake"), ("router",)),
    "red": (_queued("red"), ("router",)),
    "windows": (_windows, ("models", "router")),
    "short": (_short, ("models", "router")),
    "messages": (_messages, ("models", "router")),
    "UDP and pings": (_datagrams, ("models", "router")),
    "changing rate": (_steps, ("models",)),
    **{
        tunnel: (_tunnelled(tunnel), ("models",))
        for tunnel in (
            "wireguard",
            "vxlan",
            "ipsec-esp",
            "openvpn-udp",
            "openvpn-2.6-tcp",
            "tinc",
            "vtun",
            *RELAYS,
        )
    },
}


@dataclass(frozen=True)
class Cell:
    """An experiment, and what Linux answered."""

    seed: int
    number: int
    kind: str
    link: str
    experiment: Table
    linux: dict[str, float]
    cpu: float = 0.0


def drawn(seed: int, number: int) -> tuple[str, str, Table]:
    """Return the kind, the link and the experiment with this number of a seed."""
    kind = [*KINDS][number % len(KINDS)]
    make, links = KINDS[kind]
    draw = random.Random(f"{seed}/{number}")
    link = links[number // len(KINDS) % len(links)]
    return kind, link, {**make(draw), "seed": 1000 * seed + number}


# -------------------------------------------------------------------------------------- the answers


def cells(table: Path = TABLE) -> list[Cell]:
    """Return the cells that Linux has answered."""
    if not table.exists():
        return []
    with lzma.open(table, "rt", encoding="utf-8") as file:
        return [Cell(**json.loads(line)) for line in file]


def _write(found: list[Cell], table: Path) -> None:
    table.parent.mkdir(parents=True, exist_ok=True)
    beside = table.with_suffix(".tmp")
    with lzma.open(beside, "wt", encoding="utf-8", preset=9) as file:
        for it in sorted(found, key=lambda it: (it.seed, it.number)):
            file.write(json.dumps(vars(it), separators=(",", ":")) + "\n")
    beside.replace(table)


def ask(seed: int, number: int) -> Cell:
    """Let Linux run an experiment. Raises TunnelccError."""
    kind, link, table = drawn(seed, number)
    begin = os.times()
    experiment = experiment_of(table)
    answer = measure.measure_virtually(experiment, link, iperf=len(experiment.flows) == 1)
    linux = {name: float(f"{value:.{DIGITS}g}") for name, value in answer.values.items()}
    return Cell(seed, number, kind, link, table, linux, _cpu(begin))


def _cpu(since: os.times_result) -> float:
    """Return the CPU time of processes that have ended since then, s."""
    now = os.times()
    return round(now.children_user + now.children_system
                 - since.children_user - since.children_system, 1)  # fmt: skip


# -------------------------------------------------------------------------------------- comparison


@dataclass(frozen=True)
class Number:
    """A number of a cell: Linux's, and those of the simulator's runs."""

    metric: str
    name: str
    linux: float
    runs: tuple[float, ...]
    margin: float

    @property
    def mean(self) -> float:
        return sum(self.runs) / len(self.runs)

    @property
    def agrees(self) -> bool:
        """Whether Linux is within the tolerance of what the runs span."""
        return min(self.runs) - self.margin <= self.linux <= max(self.runs) + self.margin

    @property
    def mean_agrees(self) -> bool:
        """Whether it is within the tolerance of their mean."""
        return abs(self.mean - self.linux) <= self.margin


def simulate(cell: Cell, seeds: int = SEEDS) -> list[beside.Values]:
    """Return the numbers of the simulator's runs."""
    experiment = beside.costless(experiment_of(cell.experiment))
    found = []
    for seed in range(seeds):
        one = experiment.with_({"seed": experiment.seed + 1000003 * seed})
        found.append(beside.simulated(run(one, progress=False)))
    return found


def numbers(cell: Cell, runs: list[beside.Values]) -> Iterator[Number]:
    """Yield what is compared, with the tolerances of docs/pages/how-right.md."""
    experiment = experiment_of(cell.experiment)
    endless = [
        number
        for number, flow in enumerate(experiment.flows)
        if flow.bytes is None and flow.rate is None
    ]
    service = 12e3 / min([experiment.path.rate or 1e12, *experiment.path.caps])

    def of(name: str) -> tuple[float, tuple[float, ...]] | None:
        if name not in cell.linux or not all(name in it for it in runs):
            return None
        return cell.linux[name], tuple(it[name] for it in runs)

    def near(metric: str, name: str, relative: float, least: float = 0.0) -> Iterator[Number]:
        if found := of(name):
            linux, ours = found
            yield Number(metric, name, linux, ours, max(relative * abs(linux), least))

    total, ours = (
        sum(cell.linux[f"flow {it}: goodput"] for it in endless),
        [sum(one[f"flow {it}: goodput"] for it in endless) for one in runs],
    )
    if endless:
        yield Number("goodput", "goodput of endless flows", total, tuple(ours), 0.1 * total)
    for it in endless if len(endless) > 1 else ():
        name = f"flow {it}: goodput"
        shares = [one[name] / max(sum_, 1.0) for one, sum_ in zip(runs, ours, strict=True)]
        yield Number("share", f"flow {it}: share", cell.linux[name] / max(total, 1.0),
                     tuple(shares), 0.1)  # fmt: skip
    for it in range(len(experiment.flows)):
        # A relay's connection to the application does not leave the host.
        metric = "RTT beside a relay" if cell.kind in RELAYS else "RTT"
        yield from near(f"{metric}, mean", f"flow {it}: rtt", 0.1, service)
        yield from near(f"{metric}, p95", f"flow {it}: rtt_p95", 0.1, service)
        yield from near("completion", f"flow {it}: completion", 0.1, service)
        yield from near("delay of datagrams", f"flow {it}: delay", 0.1, service)
        if found := of(f"flow {it}: loss"):
            linux, ours_ = found
            if max(linux, *ours_) > 0.005:
                yield Number("loss of datagrams", f"flow {it}: loss", linux, ours_,
                             max(0.2 * linux, 0.005))  # fmt: skip
        if experiment.flows[it].rate is not None:
            yield from near("goodput, limited", f"flow {it}: goodput", 0.1)
    for it in endless:
        name = f"flow {it}: retransmits"
        if found := of(name):
            linux, ours_ = found
            # Of the segments of the whole run.
            segments = max(cell.linux[f"flow {it}: goodput"] * experiment.duration / 8 / 1448, 1)
            if linux / segments > 0.005:
                cc = experiment.flows[it].cc.name
                yield Number("retransmissions", f"{name} ({cc})", linux, ours_, 0.2 * linux)
    yield from near("queue, mean", "queue_mean", 0.2, service)
    yield from near("queue, p95", "queue_p95", 0.2, service)
    yield from near("RTT of pings, mean", "ping_mean", 0.1, service)
    yield from near("RTT of pings, p95", "ping_p95", 0.1, service)


def compared(cell: Cell) -> tuple[Cell, list[Number]]:
    """Simulate a cell, and return its numbers."""
    return cell, list(numbers(cell, simulate(cell)))


def report(found: list[tuple[Cell, list[Number]]]) -> Iterator[str]:
    """Yield lines: agreement per metric, link and kind, then every miss."""

    def line(key: str, some: list[Number]) -> str:
        agree = sum(it.agrees for it in some)
        strict = sum(it.mean_agrees for it in some)
        return (f"{key:34} {agree:5} of {len(some):5} = {100 * agree / len(some):5.1f} %   "
                f"mean of the runs: {100 * strict / len(some):5.1f} %")  # fmt: skip

    groups: dict[str, dict[str, list[Number]]] = defaultdict(lambda: defaultdict(list))
    for cell, some in found:
        for it in some:
            groups["metric"][it.metric].append(it)
            groups["link"][cell.link].append(it)
            groups["kind"][cell.kind].append(it)
    links = Counter(cell.link for cell, _ in found)
    yield f"{len(found)} cells, " + ", ".join(f"{n} over {link}" for link, n in links.items())
    for group, keys in groups.items():
        yield f"\nby {group}"
        for key, some in keys.items():
            yield line(key, some)
    yield "\nmisses: kind, link, seed/number: what, Linux, simulated"
    for cell, some in found:
        for it in some:
            if not it.agrees:
                ours = " ".join(f"{value:.4g}" for value in it.runs)
                yield (f"{cell.kind}, {cell.link}, {cell.seed}/{cell.number}: {it.name}: "
                       f"{it.linux:.4g}, {ours}")  # fmt: skip


@click.group()
def main() -> None:
    """Compare the simulator with Linux in random experiments."""


@main.command("ask")
@click.argument("count", type=int)
@click.argument("seed", type=int)
@click.option("--table", type=Path, default=TABLE)
@click.option("--minutes", type=float, default=1e9, help="Ask nothing more after this time.")
@click.option("--kind", default="", help="Only this kind.")
@click.option("--each", type=int, default=10**9, help="Only kinds with fewer cells than this.")
def ask_(count: int, seed: int, table: Path, minutes: float, kind: str, each: int) -> None:
    """Let Linux answer experiments 0 to COUNT - 1 of SEED that the table does not have."""
    found = cells(table)
    known = {(it.seed, it.number) for it in found}
    begin = time.monotonic()
    for number in range(count):
        if time.monotonic() - begin > 60 * minutes:
            break
        own = drawn(seed, number)[0]
        enough = sum(it.kind == own for it in found) >= each
        if (seed, number) in known or enough or (kind and own != kind):
            continue
        try:
            found.append(ask(seed, number))
        except TunnelccError as error:
            print(f"{seed}/{number} {drawn(seed, number)[:2]}: {error}", file=sys.stderr)
            continue
        _write(found, table)
        print(f"{seed}/{number} {found[-1].kind}, {found[-1].link}", flush=True)


@main.command("compare")
@click.option("--table", type=Path, default=TABLE)
@click.option("--seed", type=int, help="Only experiments of this seed.")
@click.option("--jobs", type=int, default=2)
def compare_(table: Path, seed: int | None, jobs: int) -> None:
    """Simulate the table's experiments, and print how many numbers agree."""
    some = [it for it in cells(table) if seed is None or it.seed == seed]
    with ProcessPoolExecutor(jobs) as pool:
        for text in report(list(pool.map(compared, some))):
            print(text)


if __name__ == "__main__":
    main()
