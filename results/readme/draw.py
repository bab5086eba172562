# SPDX-License-Identifier: GPL-2.0-only
"""Draw the README's picture: simulated curves, and what Linux does on the same paths.

``.venv/bin/python results/readme/draw.py`` simulates everything and writes tunnelcc.svg beside this
file. linux.csv holds the measured points, and how they were measured.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import tunnelcc as tc
from tunnelcc.plots import STYLE, algorithm_style, save

HERE = Path(__file__).parent
SEEDS = range(1, 6)
LOSSES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
BUFFERS = (0.25, 0.5, 1, 1.5, 2, 3, 4)

# Sockets that never limit a flow, as in the measured runs.
HOSTS = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB", "tcp_moderate_rcvbuf": False}
RELAY = "gost-relay-wss"


@dataclass(frozen=True)
class Curve:
    """A tunnel, with or without a congestion control of its own, and how it is drawn."""

    label: str
    tunnel: Any
    cc: str
    style: dict[str, Any]


LOSS_CURVES = (
    Curve("BBR, no tunnel", None, "bbr", {}),
    Curve("CUBIC, no tunnel", None, "cubic", {}),
    Curve(
        "CUBIC through a\nGOST tunnel whose\ncarrier uses BBR",
        {"name": RELAY, "cc": "bbr"},
        "cubic",
        {"linestyle": "--", "fillstyle": "none"},
    ),
)
SHARE_CURVES = (
    Curve("no tunnel", None, "bbr", {}),
    Curve("through a GOST tunnel", RELAY, "bbr", {"linestyle": "--", "fillstyle": "none"}),
)


def one_flow(curve: Curve, loss: float, seed: int) -> tc.Experiment:
    """Return a flow on a path with random loss."""
    path = {"rate": "50Mbps", "rtt": "100ms", "loss": loss, "buffer": "1bdp"}
    flows = [{"cc": curve.cc}]
    return _experiment(path, flows, curve, seed, "30s")


def two_flows(curve: Curve, buffer: float, seed: int) -> tc.Experiment:
    """Return BBR against CUBIC."""
    path = {"rate": "100Mbps", "rtt": "40ms", "buffer": f"{buffer}bdp"}
    flows = [{"cc": "bbr"}, {"cc": "cubic"}]
    return _experiment(path, flows, curve, seed, "60s")


def _experiment(path: Any, flows: Any, curve: Curve, seed: int, duration: str) -> tc.Experiment:
    return tc.Experiment(
        path=path,
        flows=flows,
        tunnel=curve.tunnel,
        hosts=HOSTS,
        duration=duration,
        warmup="3s",
        seed=seed,
    )


def bbr_share(result: tc.Result) -> float:
    """Return the first flow's part of the goodput."""
    return result.metric("flow_share", flow=0)


def simulate(experiment: Any, curve: Curve, xs: Any, value: Any) -> Any:
    """Return ``value`` of the results, one row for each of ``xs``, one column for each seed."""
    runs = [experiment(curve, x, seed) for x in xs for seed in SEEDS]
    values = []
    for result in tc.run_many(runs):
        if isinstance(result, tc.RunError):
            raise result
        values.append(value(result))
    return np.reshape(values, (len(xs), len(SEEDS)))


def draw_curve(axes: Axes, curve: Curve, xs: Any, values: Any) -> None:
    """Draw the median over seeds, and the least and the most as a band."""
    style = {**algorithm_style(curve.cc), "markersize": 4, **curve.style}
    axes.plot(xs, np.median(values, axis=1), label=curve.label, **style)
    axes.fill_between(
        xs, values.min(axis=1), values.max(axis=1), color=style["color"], alpha=0.15, linewidth=0
    )


def draw_measured(axes: Axes, experiment: str, scale: float = 1) -> None:
    """Draw the points of linux.csv."""
    with (HERE / "linux.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    rows = [row for row in rows if row["experiment"] == experiment]
    xs = [scale * float(row["x"]) for row in rows]
    ys = [float(row["value"]) for row in rows]
    axes.plot(xs, ys, "x", color="black", markersize=5, label="real Linux, no tunnel", zorder=5)


def draw() -> Figure:
    """Simulate and draw both panels."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.1, 4.0))
        left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
        percent = [100 * loss for loss in LOSSES]
        for curve in LOSS_CURVES:
            goodput = simulate(one_flow, curve, LOSSES, lambda result: result.goodput / 1e6)
            draw_curve(left, curve, percent, goodput)
        draw_measured(left, "goodput by loss", scale=100)
        ticks = (0.01, 0.1, 1, 5, 20)
        left.set(xscale="log", ylim=(0, 52), xlabel="random loss (%)", ylabel="goodput (Mbit/s)")
        left.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        left.set_title("Whose congestion control meets the loss?\n1 flow, 50 Mbit/s, RTT 100 ms")
        left.legend(loc="center left", bbox_to_anchor=(0.2, 0.55))

        for curve in SHARE_CURVES:
            draw_curve(right, curve, BUFFERS, simulate(two_flows, curve, BUFFERS, bbr_share))
        draw_measured(right, "bbr share by buffer")
        right.axhline(0.5, color="black", linewidth=0.8, linestyle=":")
        right.set(xscale="log", ylim=(0, 1), xlabel="buffer (BDP)", ylabel="BBR's share")
        right.set_xticks(BUFFERS, [f"{buffer:g}" for buffer in BUFFERS])
        right.set_title("BBR against CUBIC, first minute\n100 Mbit/s, RTT 40 ms")
        right.legend(loc="lower left")
        for axes in (left, right):
            axes.xaxis.set_minor_locator(NullLocator())
    return figure


if __name__ == "__main__":
    save(draw(), HERE / "tunnelcc.svg")
