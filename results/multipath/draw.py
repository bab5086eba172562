# SPDX-License-Identifier: GPL-2.0-only
"""Simulate MPTCP over two paths, and draw what the second one brings.

``.venv/bin/python results/multipath/draw.py`` writes ``runs.csv`` and the figure beside this file.
With ``--redraw``, it draws the runs that the table has.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.metrics import METRICS, drift
from tunnelcc.plots import gallery, style

HERE = Path(__file__).parent
TABLE = HERE / "runs.csv"
FAST = {"rate": 20.0, "rtt": 20.0}  # Mbit/s, ms
PAYLOAD = 1424 / 1500
SEEDS = (1, 2)
RATES = (1, 2, 5, 10, 20)  # Mbit/s
RTTS = (20, 50, 100, 200, 400)  # ms
LOSSES = (0, 0.1, 0.5, 1, 2)  # %
SCHEDULERS = ("default", "lowest-rtt", "round-robin", "blest", "redundant")
BUFFERS = ("256KiB", "1MiB", "32MiB")
ALGORITHMS = ("cubic", "bbr", "lia")
COLOURS = ("#000000", "#0072B2", "#E69F00", "#009E73", "#CC79A7")
MARKERS = ("o", "s", "^", "v", "x")

Row = dict[str, Any]


def experiment(both: bool, seed: int, **keys: Any) -> tc.Experiment:
    """Return an upload of 100 s over both paths, or over the fast one alone."""
    second = {"rate": 5.0, "rtt": 60.0, "loss": 0.0} | {
        name: keys.pop(name) for name in ("rate", "rtt", "loss") if name in keys
    }
    links: dict[str, Any] = {}
    for name, router, path in (("fast", "x", FAST), ("second", "y", second)):
        links[name] = {
            "between": ["client", router], "rate": f"{path['rate']}Mbps", "rtt": f"{path['rtt']}ms",
            "loss": f"{path.get('loss', 0.0)}%",
        }  # fmt: skip
        far = {"rate": "1Gbps", "rtt": "1ms", "buffer": "2000p"}
        links[f"{name}-far"] = {"between": [router, "server"], **far}
    mptcp = {"paths": ["fast", "second"], "scheduler": keys.get("scheduler", "default")}
    way = {"mptcp": mptcp} if both else {"route": ["client", "x", "server"]}
    flow = {"from": "client", "to": "server", "cc": keys.get("cc", "cubic"), **way}
    return tc.Experiment.parse(
        {
            "network": {"links": links}, "flows": [flow], "duration": "130s", "warmup": "30s",
            "seed": seed, "hosts": {"tcp_rmem": keys.get("buffer", "32MiB")},
        }
    )  # fmt: skip


def goodput(both: bool, **keys: Any) -> tuple[float, float, float]:
    """Return the mean goodput (Mbit/s), the mean head-of-line delay (ms), and the drift."""
    rates, delays, drifts = [], [], []
    for seed in SEEDS:
        result = tc.run(experiment(both, seed, **dict(keys)))
        rates.append(8e-6 * float(result["flow_delivered_bytes"][0]) / 100)
        delays.append(1e3 * float(result["flow_paths_hol_delay_mean"][0]) if both else 0.0)
        drifts.append(METRICS["flow_drift"](result))
    return sum(rates) / len(rates), sum(delays) / len(delays), drift.at_point(drifts, rates)


def measure() -> None:
    """Simulate all conditions, and write the table."""
    panels = [
        *({"panel": "rate", "rate": it, "scheduler": s} for s in SCHEDULERS for it in RATES),
        *({"panel": "rtt", "rtt": it, "buffer": b} for b in BUFFERS for it in RTTS),
        *({"panel": "loss", "loss": it, "cc": c} for c in ALGORITHMS for it in LOSSES),
    ]
    rows = []
    for given in panels:
        keys = {name: it for name, it in given.items() if name != "panel"}
        alone, _, before = goodput(False, **keys)
        both, delay, change = goodput(True, **keys)
        ideal = PAYLOAD * (FAST["rate"] + float(keys.get("rate", 5.0)))
        rows.append({
            "panel": given["panel"],
            "x": next(keys[it] for it in ("rate", "rtt", "loss") if it in keys),
            "line": next(str(keys[it]) for it in ("scheduler", "buffer", "cc") if it in keys),
            "both_mbps": round(both, 3), "best_alone_mbps": round(alone, 3),
            "sum_mbps": round(ideal, 3), "hol_delay_ms": round(delay, 2),
            "drift": f"{max(before, change):.2g}",
        })  # fmt: skip
        print(rows[-1], flush=True)
    gallery.write_table(rows, TABLE)


def draw() -> Figure:
    """Return the figure: goodput over both paths, as a multiple of the best path's."""
    with TABLE.open(encoding="utf-8") as file:
        rows: list[Row] = list(csv.DictReader(file))
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    titles = {
        "rate": ("rate of the second path, Mbit/s", SCHEDULERS, "scheduler"),
        "rtt": ("RTT of the second path, ms", BUFFERS, "receive buffer"),
        "loss": ("random loss on the second path, %", ALGORITHMS, "congestion control"),
    }
    for axes, (panel, (label, lines, title)) in zip(panels, titles.items(), strict=True):
        mine = [it for it in rows if it["panel"] == panel]
        places = list(dict.fromkeys(it["x"] for it in mine))
        ideal = {it["x"]: float(it["sum_mbps"]) / (PAYLOAD * FAST["rate"]) for it in mine}
        axes.plot(
            range(len(places)), [ideal[it] for it in places], "--", color="#999999", label="sum"
        )
        axes.axhline(1, color="#999999", linewidth=0.8)
        for line, colour, marker in zip(lines, COLOURS, MARKERS, strict=False):
            of_line = [it for it in mine if it["line"] == line]
            axes.plot(
                range(len(places)),
                [float(it["both_mbps"]) / float(it["best_alone_mbps"]) for it in of_line],
                color=colour, marker=marker, markersize=4, label=line,
            )  # fmt: skip
        axes.set_xticks(range(len(places)), places)
        axes.set_xlabel(label)
        axes.legend(title=title, fontsize=7, title_fontsize=7)
    panels[0].set_ylabel("goodput over both / over the fast path alone")
    panels[0].set_ylim(bottom=0)
    return figure


if __name__ == "__main__":
    if "--redraw" not in sys.argv:
        measure()
    with mpl.rc_context(style.STYLE):
        style.save(draw(), HERE / "benefit.svg")
