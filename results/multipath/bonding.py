# SPDX-License-Identifier: GPL-2.0-only
"""Simulate bonded tunnels and MPTCP over the same two paths, and draw what the second one brings.

``.venv/bin/python results/multipath/bonding.py`` writes ``bonding.csv`` and ``bonding.svg`` beside
this file. With ``--redraw``, it draws the runs that the table has.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.metrics import METRICS, aggregation_benefit, drift
from tunnelcc.plots import gallery, style
from tunnelcc.running.aggregation import over

HERE = Path(__file__).parent
TABLE = HERE / "bonding.csv"
FAST = {"rate": 20.0, "rtt": 20.0}  # Mbit/s, ms
SECOND = {"rate": 5.0, "rtt": 60.0, "loss": 0.0}
SEEDS = (1, 2)
RATES = (1, 2, 5, 10, 20)  # Mbit/s
RTTS = (20, 50, 100, 200, 400)  # ms
LOSSES = (0, 0.1, 0.5, 1, 2)  # %
_VXLAN = {"name": "vxlan", "mtu": 1450}
_MLVPN = {"name": "mlvpn", "mode": "cleartext"}
#: Line → the tunnel, and its uplinks; None: MPTCP.
LINES: dict[str, tuple[dict[str, Any], dict[str, Any]] | None] = {
    "MPTCP": None,
    "in turn": (_VXLAN, {"use": "packets"}),
    "by rate": (_VXLAN, {"use": "weights"}),
    "by rate, MLVPN's buffer": (_MLVPN, {"use": "weights", "reorder_size": 64}),
    "by rate, buffer of 200 ms": (
        _VXLAN, {"use": "weights", "reorder_size": 4096, "reorder_time": "200ms"},
    ),
}  # fmt: skip
COLOURS = ("#999999", "#E69F00", "#0072B2", "#009E73", "#CC79A7")
MARKERS = ("D", "o", "s", "^", "v")

Row = dict[str, Any]


def experiment(line: str, seed: int, **keys: float) -> tc.Experiment:
    """Return an upload of 100 s over both paths, after 30 s that are left out."""
    links: dict[str, Any] = {}
    for name, router, path in (("fast", "x", FAST), ("second", "y", {**SECOND, **keys})):
        links[name] = {
            "between": ["client", router], "rate": f"{path['rate']}Mbps", "rtt": f"{path['rtt']}ms",
            "loss": f"{path.get('loss', 0.0)}%",
        }  # fmt: skip
        far = {"rate": "1Gbps", "rtt": "1ms", "buffer": "2000p"}
        links[f"{name}-far"] = {"between": [router, "server"], **far}
    flow: dict[str, Any] = {"from": "client", "to": "server", "cc": "cubic"}
    table: dict[str, Any] = {"network": {"links": links}, "flows": [flow], "seed": seed}
    if (given := LINES[line]) is None:
        flow["mptcp"] = {"paths": ["fast", "second"]}
    else:
        tunnel, uplinks = given
        uplinks = {"routes": [["client", "y", "server"]], **uplinks}
        flow["route"] = ["client", "x", "server"]
        table["tunnel"] = {**tunnel, "between": ["client", "server"], "uplinks": uplinks}
    hosts = {"tcp_rmem": "32MiB"}
    return tc.Experiment.parse({**table, "hosts": hosts, "duration": "130s", "warmup": "30s"})


def measured(line: str, keys: dict[str, float]) -> Row:
    """Return the means of the seeds over both paths, and over each alone."""
    runs = [experiment(line, seed, **keys) for seed in SEEDS]
    parts = [[over(it, number) for it in runs] for number in (0, 1)]
    found = iter(tc.run_many([*runs, *parts[0], *parts[1]]))
    results = [[next(found) for _ in SEEDS] for _ in range(3)]
    goodputs = [sum(it.goodput for it in each) / len(each) / 1e6 for each in results]

    def mean(name: str) -> float:
        if LINES[line] is None:
            return math.nan
        values = [float(it[f"tunnel_uplinks_{name}"][0][0]) for it in results[0]]
        return sum(values) / len(values)

    change = max(
        drift.at_point([METRICS["flow_drift"](it) for it in each], [it.goodput for it in each])
        for each in results
    )
    again = [float(it["retransmits"].sum()) for it in results[0]]
    return {
        "both_mbps": round(goodputs[0], 3), "fast_alone_mbps": round(goodputs[1], 3),
        "second_alone_mbps": round(goodputs[2], 3),
        "benefit": round(aggregation_benefit(goodputs[0], goodputs[1:]), 3),
        "reordered": round(mean("reordered"), 4),
        "left_reordered": round(mean("left_reordered"), 4),
        "hol_delay_ms": round(1e3 * mean("hol_delay_mean"), 2),
        "retransmits": round(sum(again) / len(again), 1), "drift": f"{change:.2g}",
    }  # fmt: skip


def measure() -> None:
    """Simulate all conditions, and write the table."""
    rows = []
    for panel, places in (("rate", RATES), ("rtt", RTTS), ("loss", LOSSES)):
        for line in LINES:
            for place in places:
                row = measured(line, {panel: float(place)})
                rows.append({"panel": panel, "x": place, "line": line, **row})
                print(rows[-1], flush=True)
    gallery.write_table(rows, TABLE)


def draw() -> Figure:
    """Return the figure: the aggregation benefit over the second path's rate, RTT and loss."""
    with TABLE.open(encoding="utf-8") as file:
        rows: list[Row] = list(csv.DictReader(file))
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    titles = {
        "rate": "rate of the second path, Mbit/s",
        "rtt": "RTT of the second path, ms",
        "loss": "random loss on the second path, %",
    }
    for axes, (panel, label) in zip(panels, titles.items(), strict=True):
        mine = [it for it in rows if it["panel"] == panel]
        places = list(dict.fromkeys(it["x"] for it in mine))
        axes.axhline(1, color="#999999", linewidth=0.8, linestyle="--")
        axes.axhline(0, color="#999999", linewidth=0.8)
        for line, colour, marker in zip(LINES, COLOURS, MARKERS, strict=True):
            benefits = [float(it["benefit"]) for it in mine if it["line"] == line]
            axes.plot(
                range(len(places)), benefits, color=colour, marker=marker, markersize=4, label=line
            )
        axes.set_xticks(range(len(places)), places)
        axes.set_xlabel(label)
    panels[0].set_ylabel("aggregation benefit")
    panels[0].set_ylim(-1.05, 1.1)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(LINES), fontsize=8)
    return figure


if __name__ == "__main__":
    if "--redraw" not in sys.argv:
        measure()
    with mpl.rc_context(style.STYLE):
        style.save(draw(), HERE / "bonding.svg")
