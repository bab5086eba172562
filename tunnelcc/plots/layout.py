# SPDX-License-Identifier: GPL-2.0-only
"""Panels of a figure, and what they share: legend and title."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import TYPE_CHECKING

from tunnelcc.plots.style import MARKERS, STYLE, take_literally

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Two panels are as wide as a page of text, and one as a phone: letters of 9 points have 11 pixels
# there, or more.
_PANEL = (3.55, 2.7)
_ALONE = (4.2, 3.4)
_MOST_COLUMNS = 2
_LEGEND_COLUMNS = 3
# A legend with more rows than this makes the figure higher, by so many inches for each.
_MOST_ROWS, _ROW = 4, 0.18
# Inches that a letter of 9 and of 10 points takes, and the line beside a name in a legend.
_LETTER, _OF_TITLE, _HANDLE = 0.075, 0.083, 0.6
# Points of the style's letters.
_FONT = float(STYLE["font.size"])
# Of lines: what matplotlib has for no mark, and dashes that can be told apart.
_NO_MARK = ("None", "none", "", " ")
_DASHES = ("-", "--", "-.", ":")
# Longer labels of vertical axes than this have several lines.
_MOST_LETTERS = 32


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
    _tell_apart(axes, handles)
    width = figure.get_figwidth()
    below = wrapped(below, int(width / _LETTER))
    if handles:
        add_legend(figure, handles, title=below)
    elif below:
        figure.supxlabel(below, fontsize=9)
    figure.set_figheight(figure.get_figheight() + _ROW * len(below.splitlines()))
    if text := "\n".join(filter(None, (wrapped(title, int(width / _OF_TITLE)), note))):
        figure.suptitle(text, fontsize=10 if title else 9)
    take_literally(figure)


def _tell_apart(axes: list[Axes], handles: Mapping[str, Artist]) -> None:
    """Give lines with other labels and one look other marks and dashes, in the same colour.

    Names that a figure may have are without number: own algorithms, quantities of papers.
    """
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D

    seen: set[tuple[str, str, str]] = set()
    for label, handle in handles.items():
        if not isinstance(handle, Line2D):
            continue
        colour, mark = to_hex(handle.get_color()), str(handle.get_marker())
        looks = [(colour, mark, str(handle.get_linestyle()))]
        marks = MARKERS if mark not in _NO_MARK else (mark,)
        looks += [(colour, other, line) for line in _DASHES for other in marks]
        colour, mark, line = look = next((it for it in looks if it not in seen), looks[0])
        if look != looks[0]:
            for drawn in (it for ax in axes for it in ax.lines if it.get_label() == label):
                drawn.set(marker=mark, linestyle=line)
        seen.add(look)


def add_legend(
    figure: Figure,
    handles: Mapping[str, Artist],
    columns: int = _LEGEND_COLUMNS,
    title: str = "",
    font: float = _FONT,
) -> None:
    """Explain lines below the panels, in at most ``columns`` that fit the figure's width.

    ``handles``: label → line or mark. ``title``: small lines above them. ``font``: points.
    """
    scale = font / _FONT
    widest = _HANDLE + scale * _LETTER * max(map(len, handles))
    columns = min(len(handles), columns, max(1, int(figure.get_figwidth() / widest)))
    more = math.ceil(len(handles) / columns) - _MOST_ROWS
    figure.set_figheight(figure.get_figheight() + scale * _ROW * max(more, 0))
    legend = figure.legend(
        list(handles.values()), list(handles),
        loc="outside lower center", ncols=columns, title=title or None, fontsize=font,
        title_fontsize=font,
    )  # fmt: skip
    for line in legend.get_lines():  # also of thin, pale lines
        line.set(linewidth=max(line.get_linewidth(), 1.0), alpha=1)


def set_title(figure: Figure, text: str) -> None:
    """Write a title above all panels, in lines that are no wider than the figure."""
    figure.suptitle(wrapped(text, int(figure.get_figwidth() / _OF_TITLE)), fontsize=10)


def wrapped(text: str, most: int) -> str:
    """Break lines of ``text`` that have more than ``most`` letters."""
    return "\n".join(fill(line, most) for line in text.splitlines())
