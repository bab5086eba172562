# SPDX-License-Identifier: GPL-2.0-only
"""Draw calls through every tunnel that carries UDP, and write the table of the page.

``.venv/bin/python results/calls/draw.py`` runs the sweep that the store (``runs``) does not have,
and writes the SVG file and the table beside this one. Values are means over seeds, whiskers reach
from the least to the most.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import gallery

HERE = Path(__file__).parent
SWEEP = HERE.parents[1] / "scenarios/sweeps/calls.toml"
CALL, DOWNLOAD = 1, 0  # flows
QUEUES = {"drop-tail": ("drop-tail", "#E69F00", "o"), "fq-codel": ("FQ-CoDel", "#0072B2", "s")}


def _values(run: Any, queue: str, metric: str, flow: int, scale: float = 1.0) -> Any:
    """Return mean, least and most of a flow's metric over seeds, by tunnel."""
    values = run[metric].isel(flow=flow).sel({"path.queue": queue}) * scale
    return gallery.mean_and_ends(values.transpose("tunnel", "seed").values)


def through_tunnels(run: Any) -> Figure:
    """MOS and p99 delay of the call, and what the download has."""
    tunnels = [str(it) for it in run["tunnel"].values]
    scores = _values(run, "drop-tail", "flow_mos", CALL)[0]
    order = sorted(range(len(tunnels)), key=lambda it: scores[it])
    figure = Figure(figsize=(7.1, 0.26 * len(tunnels) + 1.3))
    panels = figure.subplots(1, 3, sharey=True)
    contents = (
        ("flow_mos", CALL, 1.0, "MOS of the call"),
        ("flow_delay_p99", CALL, 1e3, "99th percentile of\nits delay (ms)"),
        ("flow_goodput", DOWNLOAD, 1e-6, "goodput of the\ndownload (Mbit/s)"),
    )
    rows: dict[str, dict[str, str]] = {tunnels[it]: {"tunnel": tunnels[it]} for it in order[::-1]}
    for axes, (metric, flow, scale, label) in zip(panels, contents, strict=True):
        for place, (queue, (name, colour, marker)) in enumerate(QUEUES.items()):
            mean, low, high = (it[order] for it in _values(run, queue, metric, flow, scale))
            y = [it + 0.15 - 0.3 * place for it in range(len(order))]
            axes.errorbar(
                mean, y, xerr=gallery.whiskers(mean, np.minimum(low, mean), np.maximum(high, mean)),
                color=colour, marker=marker,
                markersize=4, linestyle="none", linewidth=1, label=name,
            )  # fmt: skip
            for value, it in zip(mean, order, strict=True):
                rows[tunnels[it]][f"{label} {name}".replace("\n", " ")] = f"{value:.3g}"
        axes.set_xlabel(label)
        axes.grid(visible=True, axis="y", alpha=0.3)
    panels[0].set_xlim(0.9, 4.5)
    panels[1].set_xscale("log")
    panels[2].set_xlim(left=0)
    panels[0].set_yticks(
        range(len(order)),
        ["no tunnel" if tunnels[it] == "none" else tunnels[it] for it in order],
    )
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    with (HERE / "through-tunnels.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(next(iter(rows.values()))), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    return figure


if __name__ == "__main__":
    gallery.main(
        {"through-tunnels": through_tunnels},
        lambda store: tc.sweep(SWEEP, store=store),
        HERE,
        __doc__ or "",
    )
