# SPDX-License-Identifier: GPL-2.0-only
"""Run Linux's congestion control modules: a figure of all pairs, and tables of each.

``.venv/bin/python results/linux-modules/draw.py`` runs what the store (``runs``) does not have,
writes the figure and the tables beside this file, and fills the tables of the page with them. The
modules come from tests/linux/get-modules.sh. Names of figures and tables make those alone.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import gallery
from tunnelcc.plots.maps import DIVERGING, cells

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LINUX = ROOT / "build/linux"
PAGE = ROOT / "docs/pages/results/linux-modules.md"
MODULES = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
#: Of this project, beside Linux's: those that Linux does not have as a module.
OURS = ("bbr3", "fast", "pcc", "reno")
ALL = [*(f"linux:{LINUX}/tcp_{name}.c" for name in MODULES), *OURS]
NAMES = [*MODULES, *(f"{name}*" for name in OURS)]
# Jitter, because without it the queue has a favourite: see "Phases" in deviations.md.
PATH = {"rate": "30Mbps", "rtt": "40ms", "jitter": "0.2ms"}
BASE = {
    "hosts": {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"},
    "duration": "300s",
    "warmup": "150s",
}
BUFFERS = ("1bdp", "4bdp")
SEEDS = 5
TUNNEL = "gost-relay-wss"

#: What the page has of each algorithm: name of the condition, quantity, and how it is written.
COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("clean", "goodput", lambda it: f"{it / 1e6:.1f}"),
    ("loss", "goodput", lambda it: f"{it / 1e6:.1f}"),
    ("more-loss", "goodput", lambda it: f"{it / 1e6:.1f}"),
    ("clean", "queue", lambda it: f"{1e3 * it:.0f}"),
    ("clean", "sent again", lambda it: f"{100 * it:.2f}"),
    ("beside", "share", lambda it: f"{100 * it:.0f}"),
)
LOSSES = {"clean": {}, "loss": {"loss": "0.1%"}, "more-loss": {"loss": "1%"}}

#: Runs a sweep, or finds it in the store: of its base, axes, seeds and name.
Open = Callable[[Mapping[str, Any], Mapping[str, Any], int, str], Any]


def _pairs(results: Open) -> Any:
    axes = {"flows.0.cc": ALL, "flows.1.cc": ALL, "path.buffer": BUFFERS}
    return results({**BASE, "path": PATH, "flows": [{}, {}]}, axes, 1, "pairs")


def all_pairs(results: Open) -> Figure:
    """Draw the share of each against each, for both buffers. Both orders of a pair are one mean."""
    figure = Figure(figsize=(7.1, 6.6 * len(BUFFERS)), layout="constrained")
    shares = np.full((len(BUFFERS), len(NAMES), len(NAMES)), np.nan)
    for row in _pairs_table(results):
        buffer = BUFFERS.index(f"{row['path.buffer']}bdp")
        shares[buffer, NAMES.index(row["flows.0.cc"]), NAMES.index(row["flows.1.cc"])] = row["mean"]
    # Two panels beside each other, which a phone shows below each other.
    half = len(NAMES) // 2
    axes = figure.subplots(len(BUFFERS), 2, sharey="row", squeeze=False)
    for index, (pair, buffer) in enumerate(zip(axes, BUFFERS, strict=True)):
        share = (shares[index] + 1 - shares[index].T) / 2
        for ax, begin in zip(pair, (0, half), strict=True):
            shown = share[:, begin : begin + half]
            cells(ax, shown, 0, 1, DIVERGING)
            for (row, column), number in np.ndenumerate(shown):
                ax.text(
                    column, row, f"{100 * number:.0f}", ha="center", va="center", fontsize=9,
                    color="black" if 0.15 < number < 0.85 else "white",
                )  # fmt: skip
            ax.set_xticks(range(half), NAMES[begin : begin + half], rotation=90)
            ax.set_yticks(range(len(NAMES)), NAMES)
            ax.set_title(f"{buffer.removesuffix('bdp')} BDP: share of, %")
            ax.set_xlabel("beside")
    return figure


def _pairs_table(results: Open) -> list[gallery.Row]:
    sweep = _pairs(results)
    share = sweep["flow_goodput"].isel(flow=0) / sweep["goodput"]
    rows = gallery.table(sweep, share=("1", share))
    for row in rows:
        row |= {key: _name(row[key]) for key in ("flows.0.cc", "flows.1.cc")}
    return rows


def _name(cc: str) -> str:
    return NAMES[ALL.index(cc)]


def _one_by_one(
    results: Open, kind: str, key: str, beside: dict[str, Any], beside_key: str, **base: Any
) -> list[gallery.Row]:
    """Return the rows of all algorithms: as ``key`` alone, and as ``beside_key`` beside a flow."""
    rows: list[gallery.Row] = []

    def add(condition: str, cc: str, found: list[gallery.Row]) -> None:
        for row in found:
            row = {"algorithm": _name(row.pop(cc)), "condition": condition, **row}
            rows.append(row)

    for condition, loss in LOSSES.items():
        path = PATH | {"buffer": "1bdp"} | loss
        sweep = results({**BASE, **base, "path": path}, {key: ALL}, SEEDS, f"{kind}-{condition}")
        quantities = {"goodput": ("bit/s", sweep["goodput"])}
        if condition == "clean":
            quantities["queue"] = ("s", sweep["queue_delay_mean"])
            quantities["sent again"] = ("1", sweep["retransmission_ratio"])
        add(condition, key, gallery.table(sweep, **quantities))
    path = PATH | {"buffer": "1bdp"}
    sweep = results({**BASE, **beside, "path": path}, {beside_key: ALL}, SEEDS, f"{kind}-beside")
    share = sweep["flow_goodput"].isel(flow=0) / sweep["goodput"]
    add("beside", beside_key, gallery.table(sweep, share=("1", share)))
    return rows


def _plain(results: Open) -> list[gallery.Row]:
    beside = {"flows": [{}, {"cc": "cubic"}]}
    return _one_by_one(results, "plain", "flows.0.cc", beside, "flows.0.cc")


def _carrier(results: Open) -> list[gallery.Row]:
    beside = {
        "flows": [{"cc": "cubic", "tunnel": "one"}, {"cc": "cubic"}],
        "tunnels": {"one": {"name": TUNNEL}},
    }
    return _one_by_one(
        results, "carrier", "tunnel.cc", beside, "tunnels.one.cc", tunnel={"name": TUNNEL}
    )


FIGURES = {"all-pairs": all_pairs}
TABLES = {"plain": _plain, "carrier": _carrier, "all-pairs": _pairs_table}


def page(text: str) -> str:
    """Return the page with the numbers of the tables here; a dagger where they drift."""
    for name in ("plain", "carrier"):
        with (HERE / f"{name}.csv").open(newline="") as file:
            found = {
                (row["algorithm"], row["condition"], row["quantity"]): row
                for row in csv.DictReader(file)
            }
        lines = []
        for algorithm in NAMES:
            numbers = []
            for condition, quantity, written in COLUMNS:
                row = found[algorithm, condition, quantity]
                numbers.append(written(float(row["mean"])) + "†" * (float(row["drift"]) != 0))
            lines.append(f"| {algorithm} | " + " | ".join(numbers) + " |\n")
        before, rest = text.split(f"<!-- measured: {name} -->\n")
        head, after = rest.split("<!-- end -->", 1)
        heading = "".join(head.splitlines(keepends=True)[:2])
        text = f"{before}<!-- measured: {name} -->\n{heading}{''.join(lines)}<!-- end -->{after}"
    return text


def _opener(store: Path) -> Open:
    def run(base: Mapping[str, Any], axes: Mapping[str, Any], seeds: int, name: str) -> Any:
        return tc.sweep(base, axes, seeds=seeds, store=store, name=f"linux-modules-{name}")

    return run


if __name__ == "__main__":
    gallery.main(FIGURES, _opener, HERE, __doc__ or "", TABLES)
    PAGE.write_text(page(PAGE.read_text()))
