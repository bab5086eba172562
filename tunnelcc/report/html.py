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

_STYLE = """
:root { color-scheme: light dark; --text: #222; --page: #fff; --faint: #595959; --line: #ddd;
        --good: #00704f; --fair: #8a4600; --bad: #b00020; --link: #0058a3; --code: #f2f2f2; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e4e4; --page: #16181b; --faint: #a5a5a5; --line: #3a3d42; --good: #4fc79a;
          --fair: #f0a860; --bad: #ff8a8a; --link: #7fb8ff; --code: #24272b; }
}
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 72rem;
       color: var(--text); background: var(--page); overflow-wrap: break-word; }
a { color: var(--link); }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr));
           gap: 1.5rem; }
figure { margin: 0; }
figcaption { font-weight: 600; font-size: .9rem; }
svg { display: block; width: 100%; height: auto; max-width: 46rem; background: #fff;
      border-radius: .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem;
         border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--faint); }
.number { text-align: right; white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.good { color: var(--good); } .fair { color: var(--fair); } .bad { color: var(--bad); }
.note { color: var(--faint); }
code { font-size: .9em; background: var(--code); padding: .1em .3em; border-radius: .2em; }
ul { padding-left: 1.2rem; }
summary { cursor: pointer; padding: .5rem 0; }
@media (max-width: 40rem) {
  table.narrow { font-size: .75rem; }
  table.narrow th, table.narrow td { padding: .25rem .2rem; white-space: normal; }
  table.stack thead { display: none; }
  table.stack tr { display: block; padding: .6rem 0; border-bottom: 1px solid var(--line); }
  table.stack td { display: block; border: 0; padding: .05rem 0; text-align: left;
                   white-space: normal; overflow-wrap: anywhere; }
  table.stack td[data-label]:not(:empty)::before { content: attr(data-label) ": ";
                                                   color: var(--faint); }
}
@media print {
  :root { color-scheme: light; --text: #000; --page: #fff; --faint: #444; --line: #bbb;
          --good: #00573d; --fair: #6d3700; --bad: #8c0019; --link: #000; --code: #fff; }
  body { font-size: 10pt; max-width: none; padding: 0; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  svg { max-width: 14cm; }
}
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a page of HTML ``parts`` under a title in plain text."""
    head = (
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
    )
    return "\n".join(("<!DOCTYPE html>", *head, *filter(None, parts), "</body></html>\n"))


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
