# SPDX-License-Identifier: GPL-2.0-only
"""Pages that need nothing else: one style for screens, phones, print, light and dark."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tunnelcc.errors import ConfigError, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render(template: Path, **variables: object) -> str:
    """Return the page that a template makes; it may extend base.html and use parts.html."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([template.parent, Path(__file__).parent]),
        autoescape=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template(template.name).render(variables)


def page(title: str, parts: Iterable[str]) -> str:
    """Return a page of HTML ``parts`` under a title in plain text."""
    from markupsafe import Markup

    content = Markup("\n").join(map(Markup, filter(None, parts)))
    return render(Path(__file__).with_name("base.html"), title=title, content=content)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    kind: str = "narrow",
    numbers: Iterable[int] = (),
) -> str:
    """Return a table; its cells are HTML. ``numbers``: columns of them, set to the right.

    ``kind``: what becomes of it on a phone: ``narrow``: smaller, ``stack``: a line for each cell.
    """
    right = frozenset(numbers)

    def place(index: int) -> str:
        return ' class="number"' if index in right else ""

    head = "".join(f"<th{place(i)}>{escape(text)}</th>" for i, text in enumerate(headings))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{place(i)} data-label="{escape(headings[i])}">{cell}</td>'
            if headings[i]
            else f"<td{place(i)}>{cell}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def figure(title: str, svg: str) -> str:
    """Return a drawing with its heading."""
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f"{svg.replace('<svg ', _labelled(title), 1)}</figure>"
    )


def _labelled(title: str) -> str:
    return f'<svg role="img" aria-label="{escape(title)}" '


def inline_svg(drawing: Figure) -> str:
    """Return a drawing as SVG text to stand within a page; equal drawings give equal text."""
    import matplotlib as mpl

    from tunnelcc.plots import STYLE

    text = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.fonttype": "none", "font.family": "sans-serif"}):
        drawing.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def write(file: Path, text: str) -> None:
    """Write a page. Raises ConfigError if that cannot be done."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem("--report", str(file), expected, error.strerror or "")) from None
