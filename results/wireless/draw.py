# SPDX-License-Identifier: GPL-2.0-only
"""Measure downloads over Wi-Fi and LTE of ns-3, and draw them.

``.venv/bin/python results/wireless/draw.py`` runs ``build/release/scratch/wireless``, which
``make programs`` builds, for each condition. It writes ``settled.csv`` and the figure beside
this file. With ``--redraw``, it draws the runs that the table has.
"""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tunnelcc.metrics import drift
from tunnelcc.plots import style

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "build/release/scratch/wireless"
TABLE = HERE / "settled.csv"
WORKERS = 2
STATIONS = (1, 2, 4, 8)
#: BBR's allowance for bursts settles in ten seconds (lesson 11).
TIMES = ("--warmup=15s", "--duration=30s")
NETWORKS = {
    "wifi": ("802.11ac, 20 MHz", ("--width=20", *TIMES)),
    "lte": ("LTE, 5 MHz", TIMES),
}
ALGORITHMS = ("bbr", "cubic")


class Way(NamedTuple):
    """What a download goes through."""

    label: str
    stock: bool  # with the TCP of ns-3
    tunnel: str
    colour: str
    marker: str
    line: str
    parameters: str = ""  # of BBR
    times: tuple[str, ...] = ()  # instead of TIMES


WAYS = (
    Way("no tunnel", False, "", "#000000", "o", "-"),
    Way("gost-relay-wss", False, "gost-relay-wss", "#0072B2", "s", "--"),
    Way("wireguard", False, "wireguard", "#E69F00", "^", "-."),
    Way("no tunnel, TCP of ns-3", True, "", "#CC79A7", "x", ":"),
    Way("no allowance for bursts", False, "", "#009E73", "v", "-", ",extra_acked_gain=0"),
)
#: The one condition whose delay still grows in TIMES.
GROWS = ("lte", 2, "cubic")
LATER = WAYS[0]._replace(label="no tunnel, 60 to 120 s", times=("--warmup=60s", "--duration=60s"))
STOCK = {"bbr": "ns3::TcpBbr", "cubic": "ns3::TcpCubic"}

Row = dict[str, str | float]


def _run(network: str, stations: int, cc: str, way: Way) -> Row:
    """Return what one run tells."""
    command = [
        str(PROGRAM), f"--network={network}", *NETWORKS[network][1], f"--stations={stations}",
        f"--cc={STOCK[cc] if way.stock else cc + way.parameters}", "--json",
        *(["--stock"] if way.stock else []),
        *([f"--tunnel={way.tunnel}"] if way.tunnel else []), *way.times,
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    shares = told.pop("stations")
    change = float(np.nan_to_num(drift.change(told["series"])))
    jain = sum(shares) ** 2 / (len(shares) * sum(it**2 for it in shares)) if any(shares) else 0.0
    return {
        "network": network, "cc": cc, "way": way.label, "stations": stations,
        "goodput_mbps": told["goodput"], "delay_ms": told["delay"],
        "acks_of_a_burst": told["burst"], "jain": jain, "drift": change,
    }  # fmt: skip


def measure() -> None:
    """Write the table of all runs."""
    conditions = [
        it
        for it in itertools.product(NETWORKS, STATIONS, ALGORITHMS, WAYS)
        if it[2] == "bbr" or not it[3].parameters
    ]
    with ThreadPoolExecutor(WORKERS) as pool:
        rows = list(pool.map(lambda it: _run(*it), [*conditions, (*GROWS, LATER)]))
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {key: f"{it:.4g}" if isinstance(it, float) else it for key, it in row.items()}
            )


def draw() -> Figure:
    """Draw goodput and delay over the number of stations."""
    with TABLE.open() as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(7.1, 4.9))
    panels = figure.subplots(2, 4, sharex=True)
    quantities = (
        ("goodput_mbps", "goodput (Mbit/s)"),
        ("delay_ms", "delay (ms)"),
    )
    columns = list(itertools.product(NETWORKS, ALGORITHMS))
    for (line, (quantity, label)), (column, (network, cc)) in itertools.product(
        enumerate(quantities), enumerate(columns)
    ):
        axes = panels[line][column]
        if column % 2:
            axes.sharey(panels[line][column - 1])
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel(label)
        for way in WAYS:
            mine = [
                it
                for it in rows
                if (it["network"], it["cc"], it["way"]) == (network, cc, way.label)
            ]
            axes.plot(
                [STATIONS.index(int(it["stations"])) for it in mine],
                [float(it[quantity]) for it in mine],
                color=way.colour, marker=way.marker, linestyle=way.line, markersize=4,
                label=way.label,
            )  # fmt: skip
        axes.set_xticks(range(len(STATIONS)), [str(it) for it in STATIONS])
        if line == 0:
            axes.set_title(f"{NETWORKS[network][0]}:\n{cc.upper()}", fontsize=9)
        else:
            axes.set_xlabel("stations")
    for axes in panels.flat:
        axes.autoscale(axis="y")
        axes.set_ylim(bottom=0)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


if __name__ == "__main__":
    if "--redraw" not in sys.argv:
        measure()
    with mpl.rc_context(style.STYLE):
        style.save(draw(), HERE / "downloads.svg")
