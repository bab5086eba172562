# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a page for each paper, and an index of a directory.

``KEY.html`` shows a paper's figures. ``KEY.json`` summarises them; ``index.html`` is built from
these files, so that papers can be reproduced one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tunnelcc._version import __version__
from tunnelcc.output.tables import Table
from tunnelcc.papers import figures, tables
from tunnelcc.papers.compare import Reproduction, told
from tunnelcc.papers.paper import Paper
from tunnelcc.report import html

_TEMPLATES = Path(__file__).parent / "templates"
#: Tells the files of a report from others in JSON, and from those of an older report.
_FORMAT = "tunnelcc papers 2"


def write(paper: Paper, found: Sequence[Reproduction], seeds: int, directory: Path) -> None:
    """Write the paper's page and the index of ``directory``. Raises ConfigError."""
    table = json.dumps(_summary(paper, found), indent=1, ensure_ascii=False) + "\n"
    html.write(directory / f"{paper.key}.html", render(paper, found, seeds))
    html.write(directory / f"{paper.key}.json", table)
    html.write(directory / "index.html", render_index(directory))


def render(paper: Paper, found: Sequence[Reproduction], seeds: int) -> str:
    """Return the page of a paper."""
    return html.render(
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
        "limits": tables.limits(figure),
        "parameters": reproduction.simulated.paper.parameters(figure),
    }


def render_index(directory: Path) -> str:
    """Return the index of the papers that have a page in ``directory``."""
    papers = []
    for paper in _papers(directory):
        page = f"{paper['key']}.html"
        papers.append(
            {
                "heading": _link(page, paper["title"]),
                "tables": [Table(**table) for table in paper["tables"]],
                "figures": [_linked(row, page) for row in paper["figures"]],
                "missed": Table(**paper["missed"]),
            }
        )
    return html.render(
        _TEMPLATES / "index.html",
        title="Papers reproduced with tunnelcc",
        figure_columns=tables.FIGURE_COLUMNS,
        kinds=tables.KINDS,
        legend=tables.LEGEND,
        papers=papers,
    )


def _papers(directory: Path) -> Iterator[Any]:
    for file in sorted(directory.glob("*.json")):
        try:
            table = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(table, dict) and table.get("report") == _FORMAT:
            yield table


def _summary(paper: Paper, found: Sequence[Reproduction]) -> dict[str, Any]:
    rows = [tables.side_by_side(it) for it in found]
    return {
        "report": _FORMAT,
        "key": paper.key,
        "title": paper.title,
        "tunnelcc": __version__,
        "tables": [asdict(table) for table in rows if table.rows],
        "figures": tables.summary(found).rows,
        "missed": asdict(tables.missed(found)),
    }


def _linked(row: Sequence[str], page: str = "") -> tuple[str, ...]:
    id_, *others = row
    return (_link(f"{page}#figure-{id_}", id_), *others)


def _link(address: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, text)
