# SPDX-License-Identifier: GPL-2.0-only
"""Measure what a run costs against its flows, rate, RTT and length, and draw it.

``.venv/bin/python results/speed/draw.py`` writes ``runs.csv`` and the figure beside this file, in
about ten minutes; with ``--redraw``, it draws the runs that the table has. Each line's runs have a
process of their own. Of a run that takes less than a second, the fastest of five counts: CPU time
of the simulation alone, without imports and without the building of the experiment.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import style
from tunnelcc.schema import units

HERE = Path(__file__).parent
TABLE = HERE / "runs.csv"
LONG, REPEATS = 1.0, 5
# Hosts eight times as fast as the default: else they limit tunnels at high rates.
SPEED = 8.0


class Condition(NamedTuple):
    """Flows that send all the time over one bottleneck with a buffer of one BDP."""

    flows: int = 4
    rate: float = 200e6  # bit/s
    rtt: float = 0.04  # s
    duration: float = 20.0  # s


class Axis(NamedTuple):
    """A quantity that one panel changes. ``scale``: of its unit on the axis, in SI."""

    label: str
    unit: str
    scale: float
    values: tuple[float, ...]


AXES = {
    "flows": Axis("flows", "1", 1.0, (1, 4, 16, 64, 256, 1024, 4096)),
    "rate": Axis(
        "bottleneck rate (Mbit/s)", "bit/s", 1e6, (2e6, 10e6, 50e6, 200e6, 1e9, 5e9, 10e9)
    ),
    "rtt": Axis("base RTT (ms)", "s", 1e-3, (0.001, 0.005, 0.02, 0.04, 0.08, 0.16, 0.32)),
    "duration": Axis("simulated time (s)", "s", 1.0, (1, 5, 20, 60, 200, 600)),
}


class Kind(NamedTuple):
    """A line of the figure."""

    label: str
    cc: str
    tunnel: str | None
    colour: str
    marker: str


KINDS = (
    Kind("openvpn-2.6-tcp, BBR", "bbr", "openvpn-2.6-tcp", "#CC79A7", "v"),
    Kind("wireguard, BBR", "bbr", "wireguard", "#E69F00", "^"),
    Kind("gost-relay-wss, BBR", "bbr", "gost-relay-wss", "#0072B2", "s"),
    Kind("no tunnel, BBR", "bbr", None, "#000000", "o"),
    Kind("no tunnel, CUBIC", "cubic", None, "#009E73", "x"),
)


def experiment(kind: Kind, at: Condition) -> tc.Experiment:
    """Return the experiment of one point."""
    return tc.Experiment(
        path=tc.Path(rate=units.format_rate(at.rate), rtt=units.format_time(at.rtt), buffer="1bdp"),
        flows=[tc.Flow(cc=kind.cc, count=at.flows)],
        tunnel=kind.tunnel,
        hosts=tc.Hosts(speed=SPEED),
        duration=units.format_time(at.duration),
        seed=1,
    )


def cost(of: tc.Experiment) -> tuple[float, int]:
    """Return the CPU time of a run in s, and its segments across the path."""
    least = float("inf")
    for _ in range(REPEATS):
        started = time.thread_time()
        result = tc.run(of, progress=False)
        least = min(least, time.thread_time() - started)
        if least > LONG:
            break
    return least, int(result["path_segments"])


def line(kind: Kind, axis: str) -> None:
    """Run the points of a line, and print a row for each."""
    rows = csv.writer(sys.stdout)
    tc.run(experiment(kind, Condition(duration=1.0)), progress=False)  # loads what runs need
    for value in AXES[axis].values:
        at = Condition()._replace(**{axis: int(value) if axis == "flows" else value})
        seconds, segments = cost(experiment(kind, at))
        rows.writerow([kind.label, axis, f"{value:g}", AXES[axis].unit, f"{seconds:.4g}", segments])
        sys.stdout.flush()


def measure() -> None:
    """Write the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(["line", "axis", "value", "unit", "cpu_s", "segments"])
    for axis in AXES:
        for number in range(len(KINDS)):
            print(f"{axis}, {KINDS[number].label} …", file=sys.stderr)
            with TABLE.open("a", encoding="utf-8") as file:
                command = [sys.executable, __file__, "--line", str(number), axis]
                subprocess.run(command, stdout=file, check=True)


def draw() -> Figure:
    """Draw the table, a panel for each axis."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(7.1, 5.6))
    panels = figure.subplots(2, 2, sharey=True)
    for axes, (name, axis) in zip(panels.flat, AXES.items(), strict=True):
        for kind in KINDS:
            points = [it for it in rows if (it["line"], it["axis"]) == (kind.label, name)]
            axes.plot(
                [float(it["value"]) / axis.scale for it in points],
                [float(it["cpu_s"]) for it in points],
                color=kind.colour, marker=kind.marker, markersize=4, label=kind.label,
            )  # fmt: skip
        base = getattr(Condition(), name) / axis.scale
        axes.axvline(base, color="#777777", linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xlabel(axis.label)
    for axes in panels[:, 0]:
        axes.set_ylabel("CPU time of a run (s)")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def main() -> None:
    """Measure and draw."""
    if sys.argv[1:2] == ["--line"]:
        line(KINDS[int(sys.argv[2])], sys.argv[3])
        return
    if sys.argv[1:] != ["--redraw"]:
        measure()
    with mpl.rc_context(style.STYLE):
        style.save(draw(), HERE / "cost.svg")


if __name__ == "__main__":
    main()
