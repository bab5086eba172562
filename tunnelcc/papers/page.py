# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a page for each paper and an index over all of a directory.

``KEY.html`` shows a paper's figures; ``KEY.json`` has their verdicts, from which ``index.html`` is
made anew, so that papers may be reproduced one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from tunnelcc._version import __version__
from tunnelcc.papers import figures
from tunnelcc.papers.compare import (
    IN_SHAPE,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    VERDICTS,
    Cell,
    Reproduction,
    Simulated,
    weigh,
)
from tunnelcc.papers.conclusions import changes, sentences
from tunnelcc.papers.format import Reading
from tunnelcc.papers.paper import Paper
from tunnelcc.papers.published import UNITS
from tunnelcc.papers.tables import show, show_ratio, show_spread
from tunnelcc.report import html

_KINDS = {REPRODUCED: "good", IN_SHAPE: "fair", NOT_REPRODUCED: "bad", NOT_TESTABLE: "note"}
_LEGEND = (
    "In the drawings lines and points are means over seeds, bands reach from the least to the "
    "largest run, dotted lines are formulas; black stars and dash-dotted lines are published."
)


def write(paper: Paper, found: Sequence[Reproduction], seeds: int, directory: Path) -> None:
    """Write the paper's page and the index of ``directory``. Raises ConfigError."""
    html.write(directory / f"{paper.key}.html", render(paper, found, seeds))
    table = json.dumps(_summary(paper, found), indent=1, ensure_ascii=False)
    html.write(directory / f"{paper.key}.json", table + "\n")
    html.write(directory / "index.html", render_index(directory))


def render(paper: Paper, found: Sequence[Reproduction], seeds: int) -> str:
    """Return the page of a paper."""
    runs = f"{seeds} seed{'s' if seeds > 1 else ''}"
    return html.page(
        f"{paper.key}: reproduced with tunnelcc",
        (
            '<p><a href="index.html">All papers</a></p>',
            f"<h1>{escape(paper.title)}</h1>",
            f"<p>{escape(paper.file.source)}.</p>",
            f"<p>Reproduced with tunnelcc {escape(__version__)}, {runs}: "
            f"<code>tunnelcc reproduce {escape(paper.key)} --seeds {seeds}</code>. Every "
            "verdict is computed from the runs; the paper's folder says what is compared with what "
            "and how closely.</p>",
            _overview(found),
            _questions(paper, found),
            f'<p class="note">{_LEGEND}</p>',
            *(_figure(it, seeds) for it in found),
            _parameters(paper),
        ),
    )


def render_index(directory: Path) -> str:
    """Return the index over the papers that have a page in ``directory``."""
    papers = [_read(file) for file in sorted(directory.glob("*.json"))]
    papers = [it for it in papers if it is not None]
    rows = []
    for it in papers:
        counts = [sum(f["verdict"] == name for f in it["figures"]) for name in VERDICTS]
        link = f'<a href="{escape(it["key"])}.html">{escape(it["title"])}</a>'
        rows.append([link, *map(str, counts)])
    parts = [
        "<h1>Papers reproduced with tunnelcc</h1>",
        "<p>How many figures, tables and equations of each paper came out. Verdicts are computed "
        "from the runs: <em>reproduced</em>, all numbers within the stated tolerance and all "
        "claims true; <em>in shape</em>, all claims true; else <em>not reproduced</em>; or "
        "nothing to hold a simulation against.</p>",
        html.table(
            ["Paper", *map(str.capitalize, VERDICTS)], rows, kind="stack", numbers=range(1, 5)
        ),
    ]
    for it in papers:
        parts.append(f"<h2>{escape(it['title'])}</h2>")
        address = f"{escape(it['key'])}.html#figure-"
        lines = [
            [
                f'<a href="{address}{escape(f["id"])}">{escape(f["id"])}</a>',
                escape(f["title"]),
                _badge(f["verdict"]),
                escape(f["numbers"]),
                escape(f["claims"]),
            ]
            for f in it["figures"]
        ]
        parts.append(html.table(_HEADINGS, lines, kind="stack"))
    return html.page("Papers reproduced with tunnelcc", parts)


_HEADINGS = ("Figure", "", "Verdict", "Numbers", "Claims")


def _read(file: Path) -> Any:
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return table if isinstance(table, dict) and "figures" in table else None


def _summary(paper: Paper, found: Sequence[Reproduction]) -> dict[str, Any]:
    return {
        "key": paper.key,
        "title": paper.title,
        "tunnelcc": __version__,
        "figures": [
            {
                "id": it.figure.id,
                "title": it.figure.title,
                "verdict": it.simulated.verdict,
                "numbers": _counts(it.simulated)[0],
                "claims": _counts(it.simulated)[1],
            }
            for it in found
        ],
    }


def _counts(simulated: Simulated) -> tuple[str, str]:
    good, count, held, claims = simulated.counts
    return f"{good} of {count}" if count else "–", f"{held} of {claims}" if claims else "–"


def _overview(found: Sequence[Reproduction]) -> str:
    rows = [
        [
            f'<a href="#figure-{escape(it.figure.id)}">{escape(it.figure.id)}</a>',
            escape(it.figure.title),
            _badge(it.simulated.verdict),
            *_counts(it.simulated),
        ]
        for it in found
    ]
    return html.table(_HEADINGS, rows, kind="stack")


def _questions(paper: Paper, found: Sequence[Reproduction]) -> str:
    """Return a table for each question: figures down, readings across."""
    parts = []
    for question in paper.file.questions:
        rows = []
        for it in found:
            if it.figure.id in question.figures:
                readings = [other for of, _, other in it.readings if of.id == question.id]
                link = f'<a href="#figure-{escape(it.figure.id)}">{escape(it.figure.id)}</a>'
                rows.append([link, *map(_under_reading, readings)])
        if rows:
            headings = ["Figure", *(_reading_name(it) for it in question.readings)]
            reasons = "".join(
                f"<li>{escape(it.title)}: {escape(it.reason)}.</li>" for it in question.readings
            )
            parts.append(
                f"<h3>{escape(question.text)}</h3><ul>{reasons}</ul>"
                f"{html.table(headings, rows, kind='stack')}"
            )
    return "<h2>What the paper leaves open</h2>" + "".join(parts) if parts else ""


def _reading_name(reading: Reading) -> str:
    return f"{reading.title} (as simulated)" if reading.settings is None else reading.title


def _under_reading(simulated: Simulated) -> str:
    """Write a verdict with the numbers and claims behind it."""
    told = [
        f"{cell.row.metric.replace('_', ' ')} {cell.show(cell.mean)} "
        f"(published {cell.row.published} {cell.unit})"
        for cell in simulated.judged
    ]
    told += [
        f"{it.got} ({'holds' if it.holds else 'does not hold'}: {it.claim.text})"
        for it in simulated.claims
    ]
    note = f'<span class="note">{escape("; ".join(told))}</span>'
    return f"{_badge(simulated.verdict)}<br>{note}"


def _figure(reproduction: Reproduction, seeds: int) -> str:
    simulated, figure = reproduction.simulated, reproduction.figure
    key = escape(simulated.paper.key)
    drawings = [
        html.figure(_caption(picture.title, figure.title), html.inline_svg(picture.drawing))
        for picture in figures.draw(reproduction)
    ]
    parts = [
        f'<section id="figure-{escape(figure.id)}"><h2>{escape(figure.id)}: '
        f"{escape(figure.title)}</h2><p>{_badge(simulated.verdict)}</p>",
        f"<p>{escape(figure.text)}</p>" if figure.text else "",
        f'<div class="figures">{"".join(drawings)}</div>' if drawings else "",
        _numbers(simulated),
        _claims(simulated),
        _variants(reproduction),
        _evidence(reproduction),
        _told(reproduction),
        _limits(simulated),
        _figure_parameters(simulated),
        f"<p>Again: <code>tunnelcc reproduce {key} --figure {escape(figure.id)} --seeds {seeds}"
        "</code></p></section>",
    ]
    return "".join(parts)


def _caption(title: str, heading: str) -> str:
    return "Published and simulated" if title == heading else title


def _numbers(simulated: Simulated) -> str:
    """Published and simulated numbers; the points without a number where there is no drawing."""
    rows = [_number(cell) for cell in simulated.cells]
    headings = ("", "Published", "Simulated", "Spread", "Ratio", "Verdict", "Rests on")
    parts = []
    if rows:
        parts.append(html.table(headings, rows, kind="stack", numbers=(1, 2, 3, 4)))
    figure = simulated.figure
    if figure.x is None and not figure.axes:
        values = [
            [escape(it.title or name), f"{show(simulated.points[0], name, it)} {it.shown_in}"]
            for name, it in figure.quantities.items()
        ]
        parts.append(html.table(("Quantity", "Value"), values))
    notes = [
        f"{escape(it.published.replace('_', ' '))}: {_tolerance(it)} ({escape(it.reason)})"
        for it in {item.published: item for item in figure.values}.values()
    ]
    if notes:
        parts.append(f'<p class="note">{"; ".join(notes)}.</p>')
    return "".join(parts)


def _tolerance(item: Any) -> str:
    if item.margin is not None:
        return f"± {item.margin:g} in its unit"
    return f"± {100 * item.tolerance:g} %" if item.tolerance else "no verdict"


def _number(cell: Cell) -> list[str]:
    quantity = cell.compared.quantity.replace("_", " ")
    name = ", ".join((cell.row.metric.replace("_", " "), *cell.point.axes.values()))
    if not cell.compared.is_judged:
        name = f"{name} ({quantity})"
    return [
        escape(name),
        escape(f"{cell.row.published} {cell.unit}"),
        cell.show(cell.mean),
        show_spread(cell),
        show_ratio(cell.ratio),
        _badge(cell.verdict),
        escape(cell.rests_on),
    ]


def _claims(simulated: Simulated) -> str:
    if not simulated.claims:
        return ""
    rows = [
        [
            escape(it.claim.text),
            escape(it.got),
            _mark("holds" if it.holds else "does not hold", "good" if it.holds else "bad"),
        ]
        for it in simulated.claims
    ]
    return "<h3>Claims</h3>" + html.table(("Claim", "Simulated", ""), rows, kind="stack")


def _variants(reproduction: Reproduction) -> str:
    rows = [
        [
            escape(variant.title),
            variant.role,
            escape(", ".join((*it.point.axes.values(), it.name))),
            escape(f"{it.published} {it.unit}" if it.published else "–"),
            f"{it.show(it.value)} {it.unit}",
            it.show(it.instead_of),
        ]
        for variant, points in reproduction.variants
        for it in changes(reproduction, points)
    ]
    if not rows:
        return ""
    headings = ("Other settings", "Role", "Number", "Published", "Simulated", "Instead of")
    table = html.table(headings, rows, kind="stack", numbers=(3, 4, 5))
    return f"<h3>Other settings, one seed</h3>{table}"


def _evidence(reproduction: Reproduction) -> str:
    parts = []
    for evidence in reproduction.figure.evidence:
        weighed = weigh(evidence, reproduction)
        quantity = reproduction.figure.quantities[evidence.quantity]
        value = weighed.simulated / UNITS[quantity.shown_in]
        parts.append(
            f"<p><strong>{escape(quantity.title or evidence.quantity)}</strong>: paper "
            f"{escape(str(evidence.published))}, simulated {value:.3g}, measured "
            f"{escape(str(evidence.measured))} ({escape(evidence.source)}): "
            f"<strong>{escape(weighed.verdict)}</strong>. {escape(evidence.reason)}</p>"
        )
    return "<h3>Who stands nearer to what others measured</h3>" + "".join(parts) if parts else ""


def _told(reproduction: Reproduction) -> str:
    told = "".join(f"<li>{escape(text)}</li>" for text in sentences(reproduction))
    return f"<details><summary>In words</summary><ul>{told}</ul></details>" if told else ""


def _limits(simulated: Simulated) -> str:
    figure = simulated.figure
    limits = [f"Not testable: {it.text}: {it.reason}" for it in figure.untestable]
    limits += figure.limits
    weak = [row for row in simulated.paper.parameters(figure) if row[2] in ("choice", "calibrated")]
    if weak:
        names = ", ".join(f"{name} ({label})" for name, _, label, _ in weak)
        limits.append(f"The paper does not settle {names}; with other values it may come out else")
    items = "".join(f"<li>{escape(text)}.</li>" for text in limits)
    return f"<h3>Limits</h3><ul>{items}</ul>" if items else ""


def _figure_parameters(simulated: Simulated) -> str:
    items = [
        f"<code>{escape(name)}</code> {escape(value)} <em>({label})</em>"
        for name, value, label, _ in simulated.paper.parameters(simulated.figure)
    ]
    return f'<h3>Parameters</h3><p>{"; ".join(items)}. <a href="#parameters">Reasons</a></p>'


def _parameters(paper: Paper) -> str:
    rows = [
        [f"<code>{escape(name)}</code>", escape(value), label, escape(reason)]
        for name, value, label, reason in paper.parameters()
    ]
    table = html.table(("Parameter", "Value", "Label", "Reason"), rows, kind="stack")
    return (
        f'<section id="parameters"><h2>Every parameter, and how it is known</h2>{table}</section>'
    )


def _badge(verdict: str) -> str:
    kind = _KINDS.get(verdict, "note")
    return _mark(verdict, kind) if verdict else ""


def _mark(text: str, kind: str) -> str:
    return f'<span class="verdict {kind}">{escape(text)}</span>'
