# SPDX-License-Identifier: GPL-2.0-only
"""Simulate a congestion control inside another one's connection, and draw what comes of it.

``.venv/bin/python results/nested/draw.py`` writes ``settled.csv`` and the figure beside this file.
With ``--redraw``, it draws the runs that the table has.
"""

from __future__ import annotations

import csv
import itertools
import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.metrics import drift
from tunnelcc.plots import gallery, style

HERE = Path(__file__).parent
TABLE = HERE / "settled.csv"
#: Without random loss, seeds differ little.
SEEDS = {"0%": (1, 2), "0.5%": (1, 2, 3, 4)}
INSIDE = ("cubic", "bbr")
LOSSES = ("0%", "0.5%")
#: What a user of Brutal sets on a link of 20 Mbit/s, bytes/s: of QUIC packets without the headers
#: of IP and UDP.
RATE = 19e6 / 8

Row = dict[str, Any]


class Way(NamedTuple):
    """How the carrier takes what is inside, and its congestion control."""

    carries: str
    outside: str
    tunnel: Any


BRUTAL = {"name": "brutal", "rate": RATE, "exact": True}
WAYS = (
    Way("datagrams", "none", "wireguard"),
    *(
        Way("datagrams", name, {"name": "connect-ip", "cc": cc})
        for name, cc in (("reno", "reno"), ("bbr", "bbr"), ("brutal", BRUTAL))
    ),
    *(
        Way("streams", name, {"name": "gost-quic", "cc": cc})
        for name, cc in (("reno", "reno"), ("bbr", "bbr"), ("brutal", BRUTAL))
    ),
)
OUTSIDE = ("none", "reno", "bbr", "brutal")
NAMES = {"none": "none", "reno": "Reno", "bbr": "BBR", "brutal": "Brutal", "cubic": "CUBIC"}
COLOURS = {"datagrams": "#0072B2", "streams": "#E69F00"}


def experiment(inside: str, loss: str, way: Way, seed: int = 1) -> tc.Experiment:
    """Return a transfer beside small messages, through the same tunnel."""
    return tc.Experiment(
        path={"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp", "loss": loss},
        tunnel=way.tunnel,
        flows=[{"cc": inside}, {"cc": "cubic", "rate": "40kbps", "write_size": "100B"}],
        duration="45s",
        warmup="15s",
        seed=seed,
    )


def point(inside: str, loss: str, way: Way) -> Row:
    """Return the means of all seeds, and the transfer's drift."""
    goodputs, latencies, changes = [], [], []
    for seed in SEEDS[loss]:
        result = tc.run(experiment(inside, loss, way, seed))
        goodputs.append(float(result.metric("flow_goodput", flow=0)) / 1e6)
        latencies.append(float(result.metric("flow_message_latency_p95", flow=1)) * 1e3)
        changes.append([float(result.metric("flow_drift", flow=0))])
    change = drift.at_point(np.array(changes), np.array(goodputs))
    return {
        "inside": inside, "loss": loss, "carries": way.carries, "outside": way.outside,
        "goodput_mbps": round(float(np.mean(goodputs)), 3),
        "least_mbps": round(min(goodputs), 3), "most_mbps": round(max(goodputs), 3),
        "latency_p95_ms": round(float(np.mean(latencies)), 2), "drift": f"{change:.2g}",
    }  # fmt: skip


def measure() -> None:
    """Simulate all conditions, and write the table."""
    rows = []
    for loss, inside, way in itertools.product(LOSSES, INSIDE, WAYS):
        rows.append(point(inside, loss, way))
        print(rows[-1], flush=True)
    gallery.write_table(rows, TABLE)


def draw() -> Figure:
    """Return the figure: goodput and latency by what is outside."""
    with TABLE.open(encoding="utf-8") as file:
        rows: list[Row] = list(csv.DictReader(file))
    figure = Figure(figsize=(9, 5), layout="constrained")
    panels = figure.subplots(2, 4, sharex=True, sharey="row")
    cases = list(itertools.product(LOSSES, INSIDE))
    for column, (loss, inside) in enumerate(cases):
        top, bottom = panels[:, column]
        top.set_title(f"{NAMES[inside]} inside, {loss.removesuffix('%')} % lost")
        for shift, carries in ((-0.2, "datagrams"), (0.2, "streams")):
            mine = [
                it
                for it in rows
                if (it["loss"], it["inside"], it["carries"]) == (loss, inside, carries)
            ]
            places = [OUTSIDE.index(it["outside"]) + shift for it in mine]
            for axes, key in ((top, "goodput_mbps"), (bottom, "latency_p95_ms")):
                axes.bar(
                    places, [float(it[key]) for it in mine], 0.38, color=COLOURS[carries],
                    label=carries,
                )  # fmt: skip
        bottom.set_xticks(range(len(OUTSIDE)), [NAMES[it] for it in OUTSIDE], rotation=45)
        bottom.set_xlabel("outside")
        bottom.set_yscale("log")
        ticks = (20, 50, 100, 200, 500)
        bottom.set_yticks(ticks, [str(it) for it in ticks])
        bottom.set_yticks([], minor=True)
    panels[0, 0].set_ylabel("goodput, Mbit/s")
    panels[1, 0].set_ylabel("latency of messages, 95 %, ms")
    panels[0, 2].legend(fontsize=7, loc="upper left")
    return figure


if __name__ == "__main__":
    if "--redraw" not in sys.argv:
        measure()
    with mpl.rc_context(style.STYLE):
        style.save(draw(), HERE / "loops.svg")
