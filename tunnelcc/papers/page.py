# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a page for each paper, and an index of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tunnelcc._version import __version__
from tunnelcc.papers import figures, tables
from tunnelcc.papers.compare import Reproduction, told
from tunnelcc.papers.paper import Paper
from tunnelcc.report import html

_TEMPLATES = Path(__file__).parent / "templates"


def write(paper: Paper, found: Sequence[Reproduction], seeds: int, directory: Path) -> None:
    """Write the paper's page into ``directory``. Raises ConfigError."""
    page = html.render(
        _TEMPLATES / "paper.html",
        title=f"{paper.key}: reproduced with tunnelcc",
        version=__version__,
        paper=paper,
        seeds=seeds,
        kinds=tables.KINDS,
        legend=tables.LEGEND,
        columns=tables.FIGURE_COLUMNS,
        overview=[_linked(row) for row in tables.summary(found).rows],
        missed=tables.missed(found),
        figures=[_figure(it) for it in found],
        questions=list(tables.questions(paper, found)),
        parameters=tables.parameters(paper),
    )
    html.write(directory / f"{paper.key}.html", page)


def _figure(reproduction: Reproduction) -> dict[str, Any]:
    figure, drawing = reproduction.figure, figures.draw(reproduction)
    return {
        "id": figure.id,
        "title": figure.title,
        "text": figure.text,
        "told": told(reproduction.simulated),
        "svg": html.inline_svg(drawing) if drawing else None,
        "tables": list(tables.of_figure(reproduction)),
        "points": tables.points(reproduction),
        "limits": figure.limits,
        "parameters": reproduction.simulated.paper.parameters(figure),
    }


def write_index(papers: Iterable[Sequence[Reproduction]], directory: Path) -> None:
    """Write the index of papers that have a page in ``directory``. Raises ConfigError."""
    shown = []
    for found in papers:
        paper = found[0].simulated.paper
        page = f"{paper.key}.html"
        rows = [tables.side_by_side(it) for it in found]
        shown.append(
            {
                "heading": _link(page, paper.title),
                "tables": [table for table in rows if table.rows],
                "figures": [_linked(row, page) for row in tables.summary(found).rows],
                "missed": tables.missed(found),
            }
        )
    index = html.render(
        _TEMPLATES / "index.html",
        title="Papers reproduced with tunnelcc",
        figure_columns=tables.FIGURE_COLUMNS,
        kinds=tables.KINDS,
        legend=tables.LEGEND,
        papers=shown,
    )
    html.write(directory / "index.html", index)


def _linked(row: Sequence[str], page: str = "") -> tuple[str, ...]:
    id_, *others = row
    return (_link(f"{page}#figure-{id_}", id_), *others)


def _link(address: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, text)
