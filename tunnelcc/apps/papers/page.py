# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a page for each paper, and an index of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

import tunnelcc as tc
from tunnelcc.apps.papers import draw, tables
from tunnelcc.apps.papers.folder import Folder
from tunnelcc.apps.papers.verdicts import Reproduction, told
from tunnelcc.report import html

_TEMPLATES = Path(__file__).parent


def write(folder: Folder, found: Sequence[Reproduction], seeds: int, directory: Path) -> None:
    """Write the paper's page into ``directory``. Raises ConfigError."""
    page = html.render(
        _TEMPLATES / "page.html",
        title=f"{folder.key}: reproduced with tunnelcc",
        version=tc.__version__,
        key=folder.key,
        paper=folder.paper,
        seeds=seeds,
        kinds=tables.KINDS,
        legend=tables.LEGEND,
        columns=tables.FIGURE_COLUMNS,
        overview=[_linked(row) for row in tables.summary(found).rows],
        missed=tables.missed(found),
        baselines=tables.baselines(found),
        figures=[_figure(folder, it) for it in found],
        questions=list(tables.questions(folder, found)),
        parameters=tables.parameters(folder),
    )
    html.write(directory / f"{folder.key}.html", page)


def _figure(folder: Folder, reproduction: Reproduction) -> dict[str, Any]:
    drawing = draw.draw(reproduction)
    return {
        "it": reproduction.figure,
        "texts": folder.told(reproduction.figure, "text"),
        "limits": folder.told(reproduction.figure, "limit"),
        "told": told(reproduction.simulated),
        "svg": html.inline_svg(drawing) if drawing else None,
        "tables": list(tables.of_figure(reproduction)),
        "points": tables.points(reproduction),
        "parameters": folder.evidence(reproduction.figure),
    }


def write_index(papers: Iterable[Sequence[Reproduction]], directory: Path) -> None:
    """Write the index of papers that have a page in ``directory``. Raises ConfigError."""
    shown = []
    for found in papers:
        folder = found[0].simulated.folder
        page = f"{folder.key}.html"
        rows = [tables.side_by_side(it) for it in found]
        shown.append(
            {
                "heading": _link(page, folder.paper.title),
                "tables": [table for table in rows if table.rows],
                "figures": [_linked(row, page) for row in tables.summary(found).rows],
                "missed": tables.missed(found),
                "baselines": tables.baselines(found),
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
