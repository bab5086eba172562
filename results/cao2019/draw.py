# SPDX-License-Identifier: GPL-2.0-only
"""Draw BBR's gain over CUBIC, published and simulated, from the tables beside this file.

``.venv/bin/python results/cao2019/draw.py`` writes ``gain.svg``: for each rate and RTT, what BBR's
goodput is as a multiple of CUBIC's, in a buffer of 100 KB and of 10,000 KB.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from tunnelcc.plots.style import STYLE, save

HERE = Path(__file__).parent
TABLES = {"shallow": "buffer of 100 KB", "deep": "buffer of 10,000 KB"}
SOURCES = ("published", "simulated")
#: A gain of 30 is the largest published one. A CUBIC that gets more is as dark as 1/30 would be.
MOST = 30.0

Gains = dict[str, dict[str, float]]


def _gains(table: str, source: str) -> Gains:
    """Return BBR's goodput / CUBIC's: rate → RTT → gain."""
    goodputs: dict[str, dict[str, dict[str, float]]] = {}
    with (HERE / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["set"] == "scenario" and row["quantity"] == "goodput":
                cell = goodputs.setdefault(row["rate"], {}).setdefault(row["rtt"], {})
                cell[row["cc"]] = float(row[source])
    return {
        rate: {rtt: cell["bbr"] / cell["cubic"] for rtt, cell in cells.items()}
        for rate, cells in goodputs.items()
    }


def _panel(axes: Axes, gains: Gains) -> None:
    rates = list(gains)[::-1]
    rtts = list(gains[rates[0]])
    rows = [[gains[rate][rtt] for rtt in rtts] for rate in rates]
    # Light where both get the same; the numbers say which way it is where a grey print does not.
    axes.imshow(rows, cmap="RdBu", norm=LogNorm(1 / MOST, MOST), aspect="auto")
    for y, row in enumerate(rows):
        for x, gain in enumerate(row):
            colour = "white" if max(gain, 1 / gain) > 8 else "black"
            text = f"{gain:.0f}" if gain >= 9.95 else f"{gain:.1f}"
            axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(rtts)), [rtt.removesuffix("ms") for rtt in rtts])
    axes.set_yticks(range(len(rates)), [rate.removesuffix("Mbps") for rate in rates])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def gains() -> Figure:
    """Draw a panel for each buffer, published and simulated."""
    figure = Figure(figsize=(7.1, 6.4))
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for row, (table, title) in zip(panels, TABLES.items(), strict=True):
        for axes, source in zip(row, SOURCES, strict=True):
            _panel(axes, _gains(table, source))
            axes.set_title(f"{source}, {title}", fontsize=10)
        row[0].set_ylabel("rate (Mbit/s)")
    for axes in panels[1]:
        axes.set_xlabel("RTT (ms)")
    return figure


if __name__ == "__main__":
    with mpl.rc_context(STYLE):
        drawing = gains()
    save(drawing, HERE / "gain.svg")
