# SPDX-License-Identifier: GPL-2.0-only
"""Shared parts of the scripts that draw figures of sweeps: command line, tables, bars of flows."""

from __future__ import annotations

import argparse
import csv
import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.metrics import drift
from tunnelcc.plots.style import STYLE, hatch, save
from tunnelcc.words.quantities import RATE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

#: Column → content.
Row = dict[str, str]


def main(
    figures: Mapping[str, Callable[[Any], Figure]],
    opener: Callable[[Path], Any],
    directory: Path,
    description: str,
    tables: Mapping[str, Callable[[Any], Sequence[Row]]] | None = None,
) -> None:
    """Draw the figures named on the command line, or all, as SVG files in ``directory``.

    ``figures``: name → function that draws the figure from the result of ``opener`` for a store.
    ``tables``: the same for rows that are written as a CSV file, beside a figure or alone.
    """
    import matplotlib as mpl

    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    tables = tables or {}
    names = list(dict.fromkeys([*figures, *tables]))
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(names))
    parser.add_argument(
        "--store", type=Path, default=Path("runs"), help="directory of finished runs"
    )
    parser.add_argument("--output", type=Path, default=directory, help="directory for figures")
    options = parser.parse_args()
    for name in options.figures or names:
        if name not in names:
            parser.error(f"{name} is none of {', '.join(names)}")
        if name in figures:
            with mpl.rc_context(STYLE):
                figure = figures[name](opener(options.store))
            save(figure, options.output / f"{name}.svg")
        if name in tables:
            write_table(tables[name](opener(options.store)), options.output / f"{name}.csv")


def table(sweep: Any, **quantities: tuple[str, Any]) -> list[Row]:
    """Return a row for each point of a sweep and each quantity.

    ``quantities``: name → unit and values, of which the dimensions are those of the sweep and
    ``seed``. A row has where the point is, the mean, least and most of the seeds, and the largest
    drift of a flow there (0: all have settled; see metrics/drift.py).
    """
    dims = [it for it in sweep["flow_drift"].dims if it not in ("seed", "flow")]
    rows = []
    for where in itertools.product(*(range(sweep.sizes[it]) for it in dims)):
        at = dict(zip(dims, where, strict=True))
        point = sweep.isel(at)
        place = {
            name: _written(it.item())
            for name, it in point.coords.items()
            if it.ndim == 0 and set(sweep[name].dims) <= set(dims) and name not in ("point",)
        }
        change = drift.at_point(
            point["flow_drift"].transpose("seed", "flow").values, point["goodput"].values
        )
        for name, (unit, values) in quantities.items():
            numbers = mean_and_ends(values.isel(at).transpose("seed").values)
            mean, least, most = (f"{float(it):.5g}" for it in numbers)
            rows.append(
                {**place, "quantity": name, "unit": unit, "mean": mean, "least": least,
                 "most": most, "drift": f"{change:.2g}"}
            )  # fmt: skip
    return rows


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def write_table(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write rows with the same columns as a CSV file."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def mean_and_ends(values: ArrayLike) -> tuple[Any, Any, Any]:
    """Return the mean, the least and the most over the last dimension, which is seeds."""
    runs = np.asarray(values, dtype=float)
    with warnings.catch_warnings():  # where no run has a value, there is NaN
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nanmin(runs, axis=-1), np.nanmax(runs, axis=-1)
        # The mean of equal numbers may differ from them in its last bit.
        return np.clip(np.nanmean(runs, axis=-1), low, high), low, high


def whiskers(mean: Any, low: Any, high: Any) -> Any:
    """Return the lengths of whiskers to both ends, as matplotlib takes them."""
    return np.reshape([mean - low, high - mean], (2, -1))


def names_above(axes: Axes, names: Sequence[str]) -> None:
    """Write the name of each row of bars above it, where it takes no width on a phone."""
    for y, name in enumerate(names):
        axes.text(0, y + 0.26, f" {name}", va="bottom")
    axes.set_yticks([])
    axes.set_ylim(-0.5, len(names) - 0.25)
    axes.grid(visible=False, axis="y")


def bars_of_flows(axes: Axes, rows: Sequence[tuple[str, Sequence[tuple[ArrayLike, str]]]]) -> None:
    """Draw the goodputs of two flows a row, the first row at the bottom.

    ``rows``: name, and for each flow its goodputs over the seeds (Mbit/s) and its colour. Whiskers
    reach from the least to the most. The second flow is hatched.
    """
    for y, (_, flows) in enumerate(rows):
        for flow, (goodputs, colour) in enumerate(flows):
            mean, *ends = mean_and_ends(goodputs)
            axes.barh(
                y + 0.08 - 0.3 * flow, mean, xerr=whiskers(mean, *ends), color=colour, height=0.27,
                error_kw={"linewidth": 1}, **hatch(flow),
            )  # fmt: skip
    names_above(axes, [name for name, _ in rows])
    axes.set_xlabel(RATE.label("goodput"))
