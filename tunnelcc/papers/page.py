# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a page on the paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tunnelcc._version import __version__
from tunnelcc.papers import figures, tables
from tunnelcc.papers.compare import Reproduction, told
from tunnelcc.papers.paper import Paper
from tunnelcc.report import html

_TEMPLATE = Path(__file__).with_name("page.html")


def write(paper: Paper, found: Sequence[Reproduction], seeds: int, directory: Path) -> None:
    """Write the paper's page into ``directory``. Raises ConfigError."""
    page = html.render(
        _TEMPLATE,
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


def _linked(row: Sequence[str]) -> tuple[str, ...]:
    id_, *others = row
    return (Markup('<a href="#figure-{0}">{0}</a>').format(id_), *others)
