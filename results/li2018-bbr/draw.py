# SPDX-License-Identifier: GPL-2.0-only
"""Draw what the third idea of Li et al. 2018 does, from the tables beside this file.

``.venv/bin/python results/li2018-bbr/draw.py`` writes ``idea-3.svg``: goodput of the two flows for
each variant of BBR and each condition, means over the tables' seeds.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tunnelcc.plots.style import STYLE, hatch, save

HERE = Path(__file__).parent
FLOWS = {
    "idea-3-rtt": {"flow1": "10 ms", "flow2": "20 ms"},
    "idea-3-cubic": {"bbr_rate": "BBR", "cubic": "CUBIC"},
}
COLOURS = ("#0072B2", "#E69F00")


def _rates(table: str) -> dict[str, dict[str, dict[str, float]]]:
    """Return goodputs in Mbit/s: condition → variant → flow."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    with (HERE / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["quantity"] in FLOWS[table]:
                variant = found.setdefault(row["conditions"], {}).setdefault(row["bbr"], {})
                variant[row["quantity"]] = float(row["simulated"]) / 1e6
    return found


def _panel(axes: Axes, variants: dict[str, dict[str, float]], table: str) -> None:
    names = list(variants)[::-1]
    left = [0.0] * len(names)
    for place, (flow, label) in enumerate(FLOWS[table].items()):
        rates = [variants[name][flow] for name in names]
        axes.barh(
            names, rates, left=left, color=COLOURS[place], label=label, height=0.7, **hatch(place)
        )
        left = [before + rate for before, rate in zip(left, rates, strict=True)]
    axes.set_xlim(0, 1000)


def idea_3() -> Figure:
    """Draw both halves of the idea, one row of panels each."""
    figure = Figure(figsize=(7.1, 4.8))
    for row, (table, part) in enumerate(
        zip(FLOWS, figure.subfigures(2, 1, hspace=0.04), strict=True)
    ):
        rates = _rates(table)
        panels = part.subplots(1, len(rates), sharey=True)
        for axes, (condition, variants) in zip(panels, rates.items(), strict=True):
            _panel(axes, variants, table)
            axes.set_title(condition)
        panels[1].set_xlabel("goodput (Mbit/s)" if row else "")
        handles, labels = panels[0].get_legend_handles_labels()
        part.legend(handles, labels, loc="outside right center")
    return figure


if __name__ == "__main__":
    with mpl.rc_context(STYLE):
        drawing = idea_3()
    save(drawing, HERE / "idea-3.svg")
