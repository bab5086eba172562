# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a page for each paper and an index over all of a directory.

``KEY.html`` shows a paper's figures; ``KEY.json`` has their verdicts, from which ``index.html`` is
made anew, so that papers may be reproduced one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tunnelcc._version import __version__
from tunnelcc.papers import figures, tables
from tunnelcc.papers.compare import VERDICTS, Reproduction
from tunnelcc.papers.paper import Paper
from tunnelcc.report import html

_TEMPLATES = Path(__file__).parent / "templates"
_COLUMNS = ("id", "title", "verdict", "numbers", "claims")


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
        columns=tables.FIGURE_COLUMNS,
        overview=[_linked(it) for it in _summary(paper, found)["figures"]],
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
        "verdict": reproduction.simulated.verdict,
        "svg": html.inline_svg(drawing) if drawing else None,
        "tables": list(tables.of_figure(reproduction)),
        "points": tables.points(reproduction),
        "limits": tables.limits(figure),
        "parameters": reproduction.simulated.paper.parameters(figure),
    }


def render_index(directory: Path) -> str:
    """Return the index over the papers that have a page in ``directory``."""
    counts, papers = [], []
    for paper in _papers(directory):
        page = f"{paper['key']}.html"
        verdicts = [figure["verdict"] for figure in paper["figures"]]
        counts.append((_link(page, paper["title"]), *(verdicts.count(it) for it in VERDICTS)))
        rows = [_linked(figure, page) for figure in paper["figures"]]
        papers.append({"title": paper["title"], "rows": rows})
    return html.render(
        _TEMPLATES / "index.html",
        title="Papers reproduced with tunnelcc",
        paper_columns=("paper", *VERDICTS),
        figure_columns=tables.FIGURE_COLUMNS,
        kinds=tables.KINDS,
        counts=counts,
        papers=papers,
    )


def _papers(directory: Path) -> Iterator[Any]:
    for file in sorted(directory.glob("*.json")):
        try:
            table = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if _is_summary(table):
            yield table


def _is_summary(table: Any) -> bool:
    """Whether ``table`` is what _summary() makes: a directory may have other files in JSON."""
    if not isinstance(table, dict) or not isinstance(table.get("figures"), list):
        return False
    is_named = all(isinstance(table.get(name), str) for name in ("key", "title"))
    return is_named and all(
        isinstance(figure, dict)
        and tuple(figure) == _COLUMNS
        and all(isinstance(value, (str, int)) for value in figure.values())
        for figure in table["figures"]
    )


def _summary(paper: Paper, found: Sequence[Reproduction]) -> dict[str, Any]:
    rows = tables.verdicts(found).rows
    return {
        "key": paper.key,
        "title": paper.title,
        "tunnelcc": __version__,
        "figures": [dict(zip(_COLUMNS, row, strict=True)) for row in rows],
    }


def _linked(figure: Mapping[str, str], page: str = "") -> tuple[str, ...]:
    id_, *others = figure.values()
    return (_link(f"{page}#figure-{id_}", id_), *others)


def _link(address: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, text)
