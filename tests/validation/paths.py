# SPDX-License-Identifier: GPL-2.0-only
"""Known paths, and what iperf3, ss and ping told of them: what `fit` is tested with.

``python -m validation.paths ask N SEED`` draws the paths 0 to N - 1 of a seed, and measures those
that ``data/paths`` does not have, in a Linux whose clock is virtual. A third of them are routers of
that kernel (netem, tbf and the queues of tc), which share no code with the models. Every third path
is of the set that was kept aside. ``judge`` fits the files, and prints how many values are told
and how many of these hold the truth.
"""

from __future__ import annotations

import json
import lzma
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from tunnelcc.apps.fit import fit as fits
from tunnelcc.errors import TunnelccError
from tunnelcc.measure import plan as plans
from tunnelcc.measure import virtual
from tunnelcc.scenario import Experiment

FOLDER = Path(__file__).parent / "data/paths"
MOST_PACKETS = 25_000
#: Of what is told, this part holds the truth at least.
LEAST = 0.95
#: Other programs of iperf3 than the system's: their paths, separated by colons.
VARIABLE = "IPERF3"

Draw = random.Random
Table = dict[str, Any]

#: Kind of a path → its weight, and whether routers of the kernel can be it.
KINDS = {
    "drop-tail": (8, True), "loss": (5, True), "bursts": (2, False), "codel": (1.3, True),
    "fq-codel": (1.3, True), "cake": (1.3, True), "policer": (2, False), "jitter": (2, False),
    "cross": (2, True), "steps": (2, False), "window": (1.5, True),
}  # fmt: skip
#: How iperf3 was started → its weight.
WAYS = {
    "": 6.0, "-R": 4.0, "-P 4": 1.0, "-P 8": 1.0, "-u": 1.0, "-R -P 4": 0.7, "-i 2": 0.6,
    "-O 2": 0.7, "-i 0.5": 0.6,
}  # fmt: skip


@dataclass(frozen=True)
class Known:
    """A path that is known, and the files by their names."""

    seed: int
    number: int
    kind: str
    link: str
    way: str
    cc: str
    truth: dict[str, float]
    experiment: Table
    files: dict[str, str]
    cpu: float = 0.0

    @property
    def is_aside(self) -> bool:
        """Whether it is of the third that is looked at once."""
        return self.number % 3 == 2


def _log(draw: Draw, least: float, most: float) -> float:
    return math.exp(draw.uniform(math.log(least), math.log(most)))


def drawn(seed: int, number: int) -> tuple[str, str, str, str, dict[str, float], Table]:
    """Return kind, link, way of iperf3, congestion control, what is true, and the experiment."""
    draw = random.Random(f"paths/{seed}/{number}")
    kind = draw.choices([*KINDS], [it[0] for it in KINDS.values()])[0]
    link = "router" if KINDS[kind][1] and draw.random() < 0.5 else "models"
    way = draw.choices([*WAYS], [*WAYS.values()])[0]
    cc = draw.choices(("cubic", "bbr", "reno"), (11, 5, 4))[0]
    rate = _log(draw, 1, 50) if draw.random() < 0.9 else _log(draw, 50, 200)
    rtt = _log(draw, 5, 300)
    bdp = rate * rtt * 1e3 / 8
    buffer = max(_log(draw, 0.1, 8) * bdp, 4 * 1500)
    buffer = min(buffer, rate * 1e6 / 8)  # a second
    packets = max(round(buffer / 1500), 4)
    duration = min(max(10.0, MOST_PACKETS * 12e-3 / rate), draw.choice((15, 20, 30, 60)))
    duration = round(min(duration, max(4 * MOST_PACKETS * 12e-3 / rate, 7)))
    path: Table = {"rate": f"{rate:.4f}Mbps", "rtt": f"{rtt:.4f}ms", "buffer": f"{packets}p"}
    truth = {"rate": rate * 1e6, "rtt": rtt / 1e3, "buffer": packets * 12e-3 / rate, "loss": 0.0}
    table: Table = {"path": path, "seed": 1000 * seed + number}
    if kind == "loss":
        truth["loss"] = _log(draw, 1e-4, 0.03)
        path["loss"] = f"{100 * truth['loss']:.5f}%"
    elif kind == "bursts":
        truth["loss"], length = _log(draw, 3e-4, 0.02), draw.uniform(2, 12)
        r = 1 / length
        p = truth["loss"] * r / (1 - truth["loss"])
        path["gilbert_elliott"] = {"p": f"{100 * p:.6f}%", "r": f"{100 * r:.4f}%"}
    elif kind in ("codel", "fq-codel"):
        path |= {"buffer": "1000p", "queue": kind}
    elif kind == "cake":
        path |= {"rate": "1Gbps", "buffer": "4MB",
                 "queue": {"name": "cake", "bandwidth": f"{rate:.4f}Mbps"}}  # fmt: skip
    elif kind == "policer":
        burst = round(_log(draw, 20e3, 500e3))
        path |= {"rate": f"{10 * rate:.4f}Mbps", "buffer": "1000p",
                 "policer": {"rate": f"{rate:.4f}Mbps", "burst": f"{burst}B"}}  # fmt: skip
        truth["burst"] = float(burst)
    elif kind == "jitter":
        truth["jitter"] = rtt / 1e3 * draw.uniform(0.02, 0.2)
        path["jitter"] = f"{1e3 * truth['jitter']:.4f}ms"
    elif kind == "cross":
        share = draw.uniform(0.1, 0.5)
        cross: Table = {"rate": f"{share * rate:.4f}Mbps"}
        if draw.random() < 0.6:
            cross |= {"on": f"{draw.uniform(0.5, 4):.2f}s", "off": f"{draw.uniform(0.5, 4):.2f}s"}
        table["cross_traffic"] = [cross]
    elif kind == "steps":
        times = duration * draw.uniform(0.2, 0.45), duration * draw.uniform(0.55, 0.8)
        rates = rate * draw.uniform(0.3, 0.7), rate * draw.uniform(0.75, 1.5)
        path["rate_steps"] = [
            [f"{at:.2f}s", f"{then:.4f}Mbps"] for at, then in zip(times, rates, strict=True)
        ]
    elif kind == "window":
        window = max(bdp * draw.uniform(0.2, 0.8), 9000)
        truth["window"] = window
        size = round(2 * window)
        table["hosts"] = {draw.choice(("tcp_rmem", "tcp_wmem")): f"{size}B"}
    if kind in ("codel", "fq-codel", "cake", "policer"):
        truth["buffer"] = math.nan
    table |= {"duration": f"{duration + 3 + 8 * rtt / 1e3:.2f}s", "warmup": "1s"}
    if "hosts" not in table:
        table["hosts"] = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
    table["flows"] = [{"cc": cc}]
    if "-R" in way:
        table["direction"] = "down"
    truth["duration"] = float(duration)
    return kind, link, way, cc, truth, table


# ------------------------------------------------------------------------------------- measurements

#: A log of ss, as the page tells it.
_SS = "while sleep {step}; do date +%s.%N; ss -tin dst {other}; done"


def ask(seed: int, number: int, program: str) -> Known:
    """Measure a path with real tools. Raises TunnelccError."""
    kind, link, way, cc, truth, table = drawn(seed, number)
    experiment = Experiment.parse(table)
    plans.check(experiment, link)
    packets = truth["rate"] * truth["duration"] / 12e3
    made = plans.make(experiment, link, capture=number % 5 == 0 and packets < 15e3)
    (flow,) = made.flows
    client, server = (flow.source, flow.destination)
    if flow.placed.direction == "down":
        client, server = server, client
    duration = round(truth["duration"])
    options = way.split()
    if "-i" not in options:
        options += ["-i", "1"]
    if "-u" in options:
        share = random.Random(f"udp/{seed}/{number}").choice((0.5, 0.9, 1.3))
        options += ["-b", f"{truth['rate'] * share:.0f}"]
    else:
        options += ["-C", cc]
    ping = [plans.find("ping") or "ping", "-n"]
    beside = [*ping, "-D", "-c", str(4 * duration), "-i", "0.25", server]
    commands = [
        plans.Command("server", -3.0, "server", [program, "-s", "-1", "-i", "1", "-J"]),
        plans.Command("client", -4 * truth["rtt"], "client",
                      [program, "-c", server, "-t", str(duration), "-J", *options]),
        plans.Command("client", -7.5, "ping", [*ping, "-c", "16", "-i", "0.2", server]),
        plans.Command("client", -3.0, "ping-load", beside),
    ]  # fmt: skip
    step = 0.2 if duration <= 20 else 0.5
    for host, other in (("client", server), ("server", client)):
        text = _SS.format(step=step, other=other)
        commands.append(plans.Command(host, -2.0, f"ss-{host}", ["/bin/sh", "-c", text]))
    made.table["commands"] = [it.table() for it in commands]
    with virtual.folder() as folder:
        answers = virtual.run(made, folder, experiment.seed)
        names = {"client": "iperf3.json", "server": "iperf3-server.json", "ping": "ping.txt",
                 "ping-load": "ping-load.txt", "ss-client": "ss-client.log",
                 "ss-server": "ss-server.log"}  # fmt: skip
        files = {name: answers.text(it) for it, name in names.items()}
        for host in ("client", "server"):
            file = folder / f"{host}.pcap"
            if file.exists() and file.stat().st_size < 4_000_000:
                files[f"{host}.pcap"] = file.read_bytes().hex()
    if '"error"' in files["iperf3.json"] or '"intervals"' not in files["iperf3.json"]:
        raise TunnelccError(f"iperf3: {files['iperf3.json'][-300:]}")
    return Known(seed, number, kind, link, way, cc, truth, table, files, round(answers.seconds, 1))


def known(is_aside: bool | None = None) -> Iterator[Known]:
    """Yield the paths that were measured; of one of the two sets, if it is given."""
    for name, aside in (("seen", False), ("aside", True)):
        file = FOLDER / f"{name}.jsonl.xz"
        if is_aside in (None, aside) and file.exists():
            with lzma.open(file, "rt", encoding="utf-8") as lines:
                yield from (Known(**json.loads(line)) for line in lines)


def write(found: list[Known]) -> None:
    """Write both sets."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, aside in (("seen", False), ("aside", True)):
        beside = FOLDER / f"{name}.tmp"
        with lzma.open(beside, "wt", encoding="utf-8", preset=9) as file:
            for it in sorted(found, key=lambda it: (it.seed, it.number)):
                if it.is_aside is aside:
                    file.write(json.dumps(asdict(it), separators=(",", ":")) + "\n")
        beside.replace(FOLDER / f"{name}.jsonl.xz")


# --------------------------------------------------------------------------------------- judgement

#: Which files are given together; SENDER and RECEIVER are logs of ss.
SETS: Mapping[str, tuple[str, ...]] = {
    "iperf3, ping": ("iperf3.json", "ping.txt"), "iperf3": ("iperf3.json",),
    "ss, ping": ("SENDER", "ping.txt"), "ss": ("SENDER",),
    "ss of the receiver, ping": ("RECEIVER", "ping.txt"),
}  # fmt: skip
#: The set of a path is one of these, by its number.
ORDER = ("iperf3, ping", "ss, ping", "ss", "iperf3", "iperf3, ping", "ss of the receiver, ping")
_QUANTITIES = ("rate", "rtt", "buffer", "loss")
# The link is full in a second in which this part of its rate arrives.
_FULL, _SECONDS = 0.97, 5
# The goodput's part of IP packets with 1448 bytes in 1500.
_PAYLOAD = 1448 / 1500


def truth_of(path: Known) -> dict[str, float]:
    """Return what is true of a path for one flow; NaN where no number is.

    Traffic at a constant rate leaves less of the link, and nothing in files tells it from a slower
    link: the rest is what is true.
    """
    found = dict(path.truth)
    if path.kind == "cross":
        (cross,) = path.experiment["cross_traffic"]
        part = float(cross["rate"].removesuffix("Mbps")) * 1e6
        found["rate"] = math.nan if "on" in cross else found["rate"] - part
    if path.kind == "steps":
        found |= {"rate": math.nan, "buffer": math.nan}
    return found


def files_of(path: Known, chosen: str, folder: Path) -> list[Path]:
    """Write a path's files that are chosen, and return them."""
    ends = ("client", "server")[:: -1 if "-R" in path.way else 1]
    names = {"SENDER": f"ss-{ends[0]}.log", "RECEIVER": f"ss-{ends[1]}.log"}
    found = []
    for name in SETS[chosen]:
        file = folder / names.get(name, name)
        file.write_text(path.files[names.get(name, name)])
        found.append(file)
    return found


def was_full(path: Known) -> bool:
    """Whether the link of a path was full for five seconds, as the receiver's log has it."""
    with tempfile.TemporaryDirectory(prefix="paths-") as folder:
        try:
            measured = fits.read_all(files_of(path, "ss of the receiver, ping", Path(folder)))
        except TunnelccError:
            return False
    if not measured.streams or not math.isfinite(rate := truth_of(path)["rate"]):
        return False
    seconds = np.arange(0.0, float(measured.time[-1]) + 1e-6)
    sent = np.sum([it.bytes_by(seconds) for it in measured.streams], axis=0)
    return bool((8 * np.diff(sent) >= _FULL * _PAYLOAD * rate).sum() >= _SECONDS)


@dataclass(frozen=True)
class Verdict:
    """What `fit` tells of a path: quantity → told, and whether its interval holds the truth."""

    path: Known
    chosen: str
    told: dict[str, tuple[bool, bool]]
    is_full: bool
    is_withdrawn: bool
    is_outside: bool
    ratios: tuple[float, float]
    text: str


def judged(path: Known) -> Verdict | None:
    """Fit the files of a path; None: they have no flow that `fit` can take."""
    chosen = "iperf3, ping" if "-u" in path.way else ORDER[path.number // 3 % len(ORDER)]
    with tempfile.TemporaryDirectory(prefix="paths-") as folder:
        try:
            measured = fits.read_all(files_of(path, chosen, Path(folder)))
            found = fits.fit(measured, progress=False)
        except TunnelccError as error:
            print(f"{path.seed}/{path.number} {path.kind}, {chosen}: {error}", file=sys.stderr)
            return None
    truth, told, wrong = truth_of(path), {}, []
    for name in _QUANTITIES:
        it = found.estimates[name]
        least, most = it.interval
        holds = least * 0.9995 <= truth[name] <= most * 1.0005
        is_told = it.is_told and not found.is_withdrawn
        told[name] = is_told, holds
        if is_told and not holds:
            wrong.append(f"{name} {truth[name]:.4g}, told {least:.4g} to {most:.4g}")
    check = found.check
    ratios = (check.ratio, check.rtt_ratio) if check is not None else (math.nan, math.nan)
    text = (f"{path.seed}/{path.number} {path.kind}, {path.link}, {path.way or 'up'}, {path.cc}, "
            f"{chosen}: {'; '.join(wrong)}")  # fmt: skip
    return Verdict(path, chosen, told, was_full(path), found.is_withdrawn, found.is_outside, ratios,
                   text if wrong else "")  # fmt: skip


def report(found: list[Verdict]) -> Iterator[str]:
    """Yield lines: what is told and right, by quantity, and by kind, link and files; every miss."""

    def cells(some: list[Verdict]) -> str:
        parts = []
        for name in _QUANTITIES:
            told = [it.told[name][1] for it in some if it.told[name][0]]
            parts.append(f"{sum(told):3} of {len(told):3}")
        return " | ".join(parts)

    groups: dict[str, list[Verdict]] = {"all": found}
    for it in found:
        for key in (it.path.kind, f"link: {it.path.link}", it.chosen):
            groups.setdefault(key, []).append(it)
    yield "| paths | number | rate | RTT | buffer | random loss | withdrawn |"
    yield "|---|---|---|---|---|---|---|"
    for name, some in groups.items():
        yield f"| {name} | {len(some)} | {cells(some)} | {sum(it.is_withdrawn for it in some)} |"
    full = [it for it in found if it.is_full]
    for name in ("rate", "rtt"):
        yield (f"{name} told of paths that were full for {_SECONDS} s: "
               f"{sum(it.told[name][0] for it in full)} of {len(full)}")  # fmt: skip
    outside = [it for it in found if it.path.kind in ("steps", "cross")]
    yield (f"withdrawn of paths with steps or other traffic: "
           f"{sum(it.is_withdrawn for it in outside)} of {len(outside)}; of others "
           f"{sum(it.is_withdrawn for it in found) - sum(it.is_withdrawn for it in outside)} of "
           f"{len(found) - len(outside)}")  # fmt: skip
    yield from (it.text for it in found if it.text)


@click.group()
def main() -> None:
    """Measure known paths with real tools, and judge what `fit` tells of them."""


@main.command("ask")
@click.argument("count", type=int)
@click.argument("seed", type=int)
@click.option("--minutes", type=float, default=1e9, help="Ask nothing more after this time.")
@click.option("--into", type=Path, default=Path("build/paths"), help="One file a path.")
def ask_(count: int, seed: int, minutes: float, into: Path) -> None:
    """Measure paths 0 to COUNT - 1 of SEED that the folder does not have."""
    programs = [
        plans.find("iperf3") or "iperf3",
        *filter(None, os.environ.get(VARIABLE, "").split(":")),
    ]
    into.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    for number in range(count):
        if time.monotonic() - begin > 60 * minutes:
            break
        file = into / f"{seed}-{number}.json"
        if file.exists():
            continue
        try:
            found = ask(seed, number, programs[number % len(programs)])
        except TunnelccError as error:
            print(
                f"{seed}/{number} {drawn(seed, number)[:4]}: {error}", file=sys.stderr, flush=True
            )
            continue
        file.write_text(json.dumps(asdict(found)))
        print(seed, number, found.kind, found.link, found.way, found.cc, found.cpu, flush=True)


@main.command("pack")
@click.argument("folder", type=Path)
def pack(folder: Path) -> None:
    """Add what `ask` left in FOLDER to the data of the tests, without captures."""
    found = {(it.seed, it.number): it for it in known()}
    for file in folder.glob("*.json"):
        it = Known(**json.loads(file.read_text()))
        files = {name: text for name, text in it.files.items() if not name.endswith(".pcap")}
        found[it.seed, it.number] = replace(it, files=files)
    write([*found.values()])


@main.command("judge")
@click.option("--aside", is_flag=True, help="The third that was kept aside, and not the others.")
@click.option("--every", default=1, help="Of the paths, one of so many.")
def judge(aside: bool, every: int) -> None:
    """Fit all files, and print what is told and what of it holds the truth."""
    verdicts = [judged(it) for it in list(known(aside))[::every]]
    found = [it for it in verdicts if it is not None]
    print("\n".join(report(found)))
    counts = [told for it in found for told in it.told.values() if told[0]]
    if sum(holds for _, holds in counts) < LEAST * len(counts):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
