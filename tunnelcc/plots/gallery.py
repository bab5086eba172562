# SPDX-License-Identifier: GPL-2.0-only
"""Shared parts of the scripts that draw figures of sweeps: command line, bars of flows."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.plots.style import STYLE, hatch, save
from tunnelcc.words.quantities import RATE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


def main(
    figures: Mapping[str, Callable[[Any], Figure]],
    opener: Callable[[Path], Any],
    directory: Path,
    description: str,
) -> None:
    """Draw the figures named on the command line, or all, as SVG files in ``directory``.

    ``figures``: name → function that draws the figure from the result of ``opener`` for a store.
    """
    import matplotlib as mpl

    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(figures))
    parser.add_argument(
        "--store", type=Path, default=Path("runs"), help="directory of finished runs"
    )
    parser.add_argument("--output", type=Path, default=directory, help="directory for figures")
    options = parser.parse_args()
    for name in options.figures or figures:
        if name not in figures:
            parser.error(f"{name} is none of {', '.join(figures)}")
        with mpl.rc_context(STYLE):
            figure = figures[name](opener(options.store))
        save(figure, options.output / f"{name}.svg")


def mean_and_ends(values: ArrayLike) -> tuple[Any, Any, Any]:
    """Return the mean, the least and the most over the last dimension, which is seeds."""
    runs = np.asarray(values, dtype=float)
    with warnings.catch_warnings():  # where no run has a value, there is NaN
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(runs, axis=-1), np.nanmin(runs, axis=-1), np.nanmax(runs, axis=-1)


def whiskers(mean: Any, low: Any, high: Any) -> Any:
    """Return the lengths of whiskers to both ends, as matplotlib takes them."""
    return np.reshape([mean - low, high - mean], (2, -1))


def bars_of_flows(axes: Axes, rows: Sequence[tuple[str, Sequence[tuple[ArrayLike, str]]]]) -> None:
    """Draw the goodputs of two flows a row, the first row at the bottom.

    ``rows``: name, and for each flow its goodputs over the seeds (Mbit/s) and its colour. Whiskers
    reach from the least to the most. The second flow is hatched.
    """
    for y, (_, flows) in enumerate(rows):
        for flow, (goodputs, colour) in enumerate(flows):
            mean, *ends = mean_and_ends(goodputs)
            axes.barh(
                y + 0.2 - 0.4 * flow, mean, xerr=whiskers(mean, *ends), color=colour, height=0.36,
                error_kw={"linewidth": 1}, **hatch(flow),
            )  # fmt: skip
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(RATE.label("goodput"))
