# SPDX-License-Identifier: GPL-2.0-only
"""A metric over two axes, as colours with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.errors import ConfigError
from tunnelcc.metrics import entries
from tunnelcc.plots import scales
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.limits import limits_told
from tunnelcc.plots.selection import Selection
from tunnelcc.words.quantities import PLAIN, short

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lightness rises evenly: the order is the same in grey and for colour-blind readers.
COLOURS = "cividis"
# The same of two things that are compared: pale where neither has more.
DIVERGING = "PuOr"
# More text than this beside a panel does not fit in a line.
_MOST_LETTERS = 24
# Larger grids have no numbers in their cells.
_MOST_NUMBERS = 8


def maps(
    results: xarray.Dataset,
    x: str,
    y: str,
    value: str,
    facet: str | None = None,
    at: Mapping[str, object] | None = None,
) -> Figure:
    """Draw the metric ``value`` for each pair of two axes' values: mean over seeds; of flows, see
    Selection.of_runs().

    ``x``, ``y``: axes; ``facet``: the axis that has a panel per value; ``at``: axis → its only
    value. Raises ConfigError.
    """
    selection = Selection(results, at)
    x, y = selection.key(x), selection.key(y)
    facet = facet and selection.key(facet)
    for option, key in (("--x", x), ("--y", y), ("--facet", facet)):
        if key is not None:
            try:
                selection.axis(key, option)
            except ConfigError as error:
                (problem,) = error.problems
                expected = f"{problem.expected} (--value names the metric)"
                raise ConfigError(replace(problem, expected=expected)) from None
    selection.metric(value, "--value")
    selection.use(None, x, y, facet)
    metric = selection.metric_with_values(value, "--value")
    scale = scales.scale_of(metric)
    parts = list(selection.points(facet))
    grids = []
    for _, part in parts:
        dims = (part.axes[y].dims[0], part.axes[x].dims[0])
        kept = part.of_runs(part.results[value])
        grids.append(
            scale.factor * kept.mean([dim for dim in kept.dims if dim not in dims]).transpose(*dims)
        )
    with panels(len(parts)) as (figure, axes):
        limits = _limits(grids, value)
        for ax, (heading, part), grid in zip(axes, parts, grids, strict=True):
            image = cells(ax, grid.values, *limits)
            label(ax, part.axes[x], part.axes[y])
            ax.set_title(heading)
        whose = entries.whose(selection.told_entry(value)) if "flow" in metric.dims else ""
        name = scale.label(scales.name_of(metric) + whose)
        figure.colorbar(image, ax=axes, label=name, shrink=0.9)
        finish(figure, axes, selection.title(), below=limits_told(selection))
    return figure


def cells(axes: Axes, values: Any, low: float, high: float, colours: str = COLOURS) -> Any:
    """Draw a grid of cells, first row at the bottom, and return the image."""
    axes.grid(False)
    image = axes.imshow(values, origin="lower", aspect="auto", cmap=colours, vmin=low, vmax=high)
    if max(values.shape) <= _MOST_NUMBERS:
        for (row, column), number in np.ndenumerate(values):
            if np.isfinite(number):
                red, green, blue, _ = image.cmap(image.norm(number))
                bright = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
                axes.text(
                    column, row, _short(number, high), ha="center", va="center", fontsize=9,
                    color="black" if bright else "white",
                )  # fmt: skip
    return image


def label(axes: Axes, x: xarray.DataArray, y: xarray.DataArray) -> None:
    """Write the values of both axes beside the cells."""
    for axis, coordinate in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.set_ticks(range(coordinate.size), _ticks(coordinate))
        unit = scales.scale_of(coordinate) if scales.is_number(coordinate) else PLAIN
        axis.set_label_text(unit.label(scales.name_of(coordinate)))
    if sum(map(len, _ticks(x))) > _MOST_LETTERS:
        axes.tick_params(axis="x", rotation=30)


def _ticks(coordinate: xarray.DataArray) -> Sequence[str]:
    if not scales.is_number(coordinate):
        return [str(name) for name in coordinate.values]
    factor = scales.scale_of(coordinate).factor
    return [short(factor * value) for value in coordinate.values]


def _limits(grids: list[xarray.DataArray], value: str) -> tuple[float, float]:
    if value.startswith("jain") or value == "flow_share":
        return 0.0, 1.0
    least = float(np.nanmin([grid.min() for grid in grids]))
    most = float(np.nanmax([grid.max() for grid in grids]))
    return min(0.0, least), most if most > least else least + 1


def _short(number: float, largest: float) -> str:
    """Write a ratio with two decimals, another number with two digits or more."""
    if largest <= 2:
        return f"{number:.2f}"
    return f"{number:.0f}" if abs(number) >= 9.95 else f"{number:.1f}"
