# SPDX-License-Identifier: GPL-2.0-only
"""Panels of a figure, and what they share: legend and title."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING

from tunnelcc.plots.style import STYLE, take_literally

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL = (3.6, 2.7)
_ALONE = (5.4, 3.6)
_MOST_COLUMNS = 3
_LEGEND_COLUMNS = 3
# A legend with more rows than this makes the figure higher, by so many inches for each.
_MOST_ROWS, _ROW = 4, 0.175
# Longer labels of vertical axes than this have several lines.
_MOST_LETTERS = 32
_SMALL = {"size": 7.5}


@contextlib.contextmanager
def panels(count: int, *, shared: bool = True) -> Iterator[tuple[Figure, list[Axes]]]:
    """Make a figure with ``count`` panels in our style, which share both axes if ``shared``."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    columns = count if count <= _MOST_COLUMNS else math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    width, height = _ALONE if count == 1 else _PANEL
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(columns * width, rows * height + 0.6))
        grid = figure.subplots(rows, columns, sharex=shared, sharey=shared, squeeze=False)
        axes = list(grid.flat)
        for unused in axes[count:]:
            unused.remove()
        yield figure, axes[:count]


def finish(figure: Figure, axes: list[Axes], title: str, note: str = "", below: str = "") -> None:
    """Label the outer axes only. Add one legend for all panels, and a title.

    ``note``: explains lines and bands, under the title. ``below``: small lines under the panels.
    """
    for index, ax in enumerate(axes):
        spec = ax.get_subplotspec()
        assert spec is not None
        is_lowest = index + spec.get_gridspec().ncols >= len(axes)
        ax.tick_params(labelbottom=is_lowest)
        if not is_lowest:
            ax.set_xlabel("")
        ax.set_ylabel(fill(ax.get_ylabel(), _MOST_LETTERS) if spec.is_first_col() else "")
    handles: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        more = math.ceil(len(handles) / _LEGEND_COLUMNS) - _MOST_ROWS
        figure.set_figheight(figure.get_figheight() + _ROW * max(more, 0))
        legend = figure.legend(
            list(handles.values()), list(handles),
            loc="outside lower center", ncols=min(len(handles), _LEGEND_COLUMNS), fontsize=8,
            title=below or None, title_fontproperties=_SMALL,
        )  # fmt: skip
        for line in legend.get_lines():  # also of thin, pale lines
            line.set(linewidth=max(line.get_linewidth(), 1.0), alpha=1)
    elif below:
        figure.supxlabel(below, fontsize=_SMALL["size"])
    figure.set_figheight(figure.get_figheight() + _ROW * len(below.splitlines()))
    if text := "\n".join(filter(None, (title, note))):
        figure.suptitle(text, fontsize=10 if title else 9)
    take_literally(figure)
