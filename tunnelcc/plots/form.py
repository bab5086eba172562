# SPDX-License-Identifier: GPL-2.0-only
"""The form of a finished figure: for a screen, a paper or a slide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tunnelcc.errors import ConfigError, Problem, unknown_name
from tunnelcc.plots.layout import add_legend
from tunnelcc.plots.style import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Form:
    """How a figure is saved. ``width`` and ``height``: inches, None: as it is; ``font``: points.

    ``column``: width of one with one panel, ``page``: largest width of others. ``lines``: by how
    much lines and marks are larger. ``dpi``: of .png, None: as on the screen. ``title``: with what
    is above the panels; ``notes``: with small lines below them.
    """

    width: float | None = None
    height: float | None = None
    column: float | None = None
    page: float | None = None
    font: float = float(STYLE["font.size"])
    lines: float = 1.0
    dpi: int | None = None
    title: bool = True
    notes: bool = True


#: A column of a paper is 3.5 inches wide (IEEE, ACM), two are 7.1; a slide is 13.3 x 7.5.
FORMS = {
    "screen": Form(),
    "paper": Form(column=3.5, page=7.1, font=8, dpi=300, title=False, notes=False),
    "slide": Form(width=10, height=5.6, font=16, lines=1.7, dpi=300, notes=False),
}
_LEAST_FONT, _MOST_FONT = 4.0, 60.0
_LEAST_SIDE, _MOST_SIDE = 1.0, 40.0


def form_of(
    style: str, size: str | None, font: float | None, title: bool | None, notes: bool | None
) -> Form:
    """Return the form of the command's options. ``size``: as ``3.5x2.4``. Raises ConfigError."""
    if style not in FORMS:
        raise unknown_name("--style", style, FORMS)
    changes: dict[str, Any] = {}
    if size is not None:
        changes["width"], changes["height"] = _sides(size)
    if font is not None:
        if not _LEAST_FONT <= font <= _MOST_FONT:
            expected = f"points from {_LEAST_FONT:g} to {_MOST_FONT:g}"
            raise ConfigError(Problem("--font", font, expected))
        changes["font"] = font
    given = {"title": title, "notes": notes}
    return replace(FORMS[style], **changes, **{k: v for k, v in given.items() if v is not None})


def _sides(text: str) -> tuple[float, float]:
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        width = height = 0.0
    if not all(_LEAST_SIDE <= it <= _MOST_SIDE for it in (width, height)):
        expected = (
            f"WIDTHxHEIGHT in inches, such as 3.5x2.4, from {_LEAST_SIDE:g} to {_MOST_SIDE:g}"
        )
        raise ConfigError(Problem("--size", text, expected))
    return width, height


def shape(figure: Figure, form: Form) -> None:
    """Give a finished figure its form. The title is a caption's work in a paper."""
    import matplotlib as mpl
    from matplotlib.text import Text

    if form == FORMS["screen"]:
        return
    factor = form.font / float(STYLE["font.size"])
    for text in figure.findobj(Text):
        text.set_fontsize(float(text.get_fontsize()) * factor)
    for axes in figure.axes:
        for line in axes.lines:
            line.set_linewidth(line.get_linewidth() * form.lines)
            line.set_markersize(line.get_markersize() * form.lines)
    width, height = figure.get_size_inches()
    is_alone = len(figure.axes) == 1
    most = form.column if is_alone else min(width, form.page or width)
    new = form.width or most or width
    figure.set_size_inches(new, form.height or height * new / width)
    if not form.title and figure.get_suptitle():
        figure.suptitle("")
    if not form.notes and figure.get_supxlabel():
        figure.supxlabel("")
    for legend in list(figure.legends):
        texts = [it.get_text() for it in legend.get_texts()]
        below = legend.get_title().get_text() if form.notes else ""
        legend.remove()
        high = figure.get_figheight()
        handles = dict(zip(texts, legend.legend_handles, strict=True))
        shown = {label: it for label, it in handles.items() if it is not None}
        with mpl.rc_context(STYLE):
            add_legend(figure, shown, title=below, font=form.font)
        if form.height:
            figure.set_figheight(high)
