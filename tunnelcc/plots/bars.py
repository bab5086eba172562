# SPDX-License-Identifier: GPL-2.0-only
"""A metric over an axis of names, such as tunnels: one bar per name and group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.plots import scales
from tunnelcc.plots.selection import Line, Selection
from tunnelcc.plots.spread import spread
from tunnelcc.plots.style import algorithm_style, hatch
from tunnelcc.words.quantities import Scale

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_WIDTH = 0.8  # of all bars of a name; names are 1 apart
# With more letters than this side by side, names are turned.
_MOST_LETTERS = 34
_PLAIN = "#888888"


def draw_bars(axes: Axes, part: Selection, x: str, y: str, by: str | None, scale: Scale) -> float:
    """Draw a bar for each value of the axis ``x`` and each line. Return the highest (SI).

    Bars are means over seeds, whiskers their spread().
    """
    coordinate = part.axes[x]
    lines = list(part.lines(part.results[y], by))
    width = _WIDTH / max(len(lines), 1)
    drawn = [_draw(axes, line, coordinate, index, width, scale) for index, line in enumerate(lines)]
    names = scales.names_of(coordinate)
    turn = sum(map(len, names)) > _MOST_LETTERS
    axes.set_xticks(
        _middles(len(lines), len(names), width), names, rotation=25 if turn else 0,
        rotation_mode="anchor", horizontalalignment="right" if turn else "center",
    )  # fmt: skip
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(scales.name_of(coordinate))
    return max(drawn, default=0.0)


def _draw(
    axes: Axes, line: Line, coordinate: xarray.DataArray, index: int, width: float, scale: Scale
) -> float:
    found = spread(line.values.transpose(coordinate.dims[0], "seed"))
    mean, low, high = (scale.factor * found[name].values for name in ("mean", "low", "high"))
    below, above = mean - low, high - mean  # NaN where there is one run: no whisker, not one of 0
    at = np.arange(len(mean)) + index * width
    colour = line.style["color"]
    if not line.label and scales.is_algorithm(coordinate):
        colour = [algorithm_style(str(name))["color"] for name in coordinate.values]
    elif not line.label:
        colour = algorithm_style(line.algorithm)["color"] if line.algorithm else _PLAIN
    if line.is_one_of_many:
        axes.bar(at, mean, width, label=line.label, color=colour)
        return float(np.nanmax(mean, initial=0.0))
    axes.bar(
        at, mean, 0.92 * width, yerr=[below, above], label=line.label, color=colour,
        error_kw={"capsize": 3, "linewidth": 1}, **hatch(index),
    )  # fmt: skip
    return float(np.nanmax(mean + np.nan_to_num(above), initial=0.0))


def _middles(lines: int, names: int, width: float) -> list[float]:
    return [place + (lines - 1) * width / 2 for place in range(names)]
