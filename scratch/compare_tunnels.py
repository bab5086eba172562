# SPDX-License-Identifier: GPL-2.0-only
"""Goodput over RTT with and without a tunnel: a sweep by hand, to copy and change.

Run it with ``.venv/bin/python scratch/compare_tunnels.py --help``. It simulates every combination
of TUNNELS, ALGORITHMS, --rtt and --seeds on all cores, prints a table and saves a figure. A tunnel
changes little here, because its carriers use the applications' congestion control; set ``tunnel``
to ``{"name": tunnel, "cc": "bbr"}`` in experiment() to see it change much. Where else to start:
another key of the path there, more names in TUNNELS and ALGORITHMS (``tunnelcc list``), or another
number of the results in main().
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import STYLE, algorithm_style, check_file, save

#: Tunnel → line style and filling of markers.
TUNNELS = {"none": ("-", "full"), "gost-relay-ws": ("--", "none"), "gost-relay-wss": (":", "none")}
ALGORITHMS = ("bbr", "cubic")

#: What a case is: tunnel, congestion control, RTT as written.
Case = tuple[str, str, str]


def experiment(case: Case, seed: int, options: argparse.Namespace) -> tc.Experiment:
    """Return one run. Keys that are not given have the defaults of `tunnelcc show experiment`."""
    tunnel, algorithm, rtt = case
    return tc.Experiment(
        path={"rate": options.rate, "rtt": rtt, "loss": options.loss, "buffer": options.buffer},
        flows=[{"cc": algorithm}],
        tunnel=tunnel,
        duration=options.duration,
        warmup=options.warmup,
        seed=seed,
    )


def main(arguments: list[str] | None = None) -> None:
    """Simulate, print the table and save the figure."""
    options = parse(arguments)
    check_file(options.plot)
    cases = [
        (tunnel, cc, rtt) for tunnel, cc in product(TUNNELS, ALGORITHMS) for rtt in options.rtt
    ]
    seeds = range(1, options.seeds + 1)
    runs = [experiment(case, seed, options) for case in cases for seed in seeds]
    results = tc.run_many(runs)
    goodput: dict[Case, list[float]] = {case: [] for case in cases}
    for (case, _), result in zip(product(cases, seeds), results, strict=True):
        if isinstance(result, tc.RunError):
            raise result
        goodput[case].append(result.goodput / 1e6)
    print_table(goodput, options)
    save(draw(goodput, options), options.plot)
    print(f"Figure: {options.plot}")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Goodput over RTT, with and without a tunnel.")
    rtts = ["5ms", "10ms", "20ms", "40ms", "80ms", "160ms"]
    parser.add_argument("--rtt", nargs="+", default=rtts, help="base round-trip times")
    parser.add_argument("--rate", default="100Mbps", help="bottleneck rate")
    parser.add_argument("--loss", default="0.1%", help="random loss")
    parser.add_argument("--buffer", default="1bdp", help="buffer of the bottleneck")
    parser.add_argument("--duration", default="60s", help="simulated time, warm-up included")
    parser.add_argument("--warmup", default="5s", help="time before goodput is measured")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each case")
    parser.add_argument("--plot", type=Path, default=Path("compare-tunnels.svg"), help="figure")
    return parser.parse_args(arguments)


def print_table(goodput: dict[Case, list[float]], options: argparse.Namespace) -> None:
    """Print the mean over seeds, with the least and the most."""
    print(f"Goodput in Mbit/s, {options.rate}, loss {options.loss}: mean (least–most)")
    print(f"{'tunnel':16}{'cc':8}" + "".join(f"{rtt:>19}" for rtt in options.rtt))
    for tunnel, algorithm in product(TUNNELS, ALGORITHMS):
        cells = [goodput[tunnel, algorithm, rtt] for rtt in options.rtt]
        texts = [f"{mean(cell):.1f} ({min(cell):.1f}–{max(cell):.1f})" for cell in cells]
        print(f"{tunnel:16}{algorithm:8}" + "".join(f"{text:>19}" for text in texts))


def draw(goodput: dict[Case, list[float]], options: argparse.Namespace) -> Figure:
    """Draw goodput over RTT: a colour for each algorithm, a line style for each tunnel."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.6))
        axes = figure.subplots()
        for tunnel, algorithm in product(TUNNELS, ALGORITHMS):
            line, filling = TUNNELS[tunnel]
            style: dict[str, Any] = algorithm_style(algorithm)
            style.update(linestyle=line, fillstyle=filling)
            values = [mean(goodput[tunnel, algorithm, rtt]) for rtt in options.rtt]
            axes.plot(options.rtt, values, label=f"{algorithm}, {tunnel}", **style)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("base RTT")
        axes.set_ylabel("goodput (Mbit/s)")
        axes.set_title(f"One flow, {options.rate}, loss {options.loss}")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


if __name__ == "__main__":
    try:
        main()
    except tc.TunnelccError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
