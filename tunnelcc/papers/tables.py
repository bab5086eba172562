# SPDX-License-Identifier: GPL-2.0-only
"""Tables of a reproduction: for the terminal, as CSV and as JSON. Only numbers of the runs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tunnelcc.papers.compare import (
    NOT_REPRODUCED,
    REPRODUCED,
    Cell,
    Point,
    Reproduction,
    Simulated,
    misfit,
    percent,
    weigh,
)
from tunnelcc.papers.conclusions import changes, explained_shares
from tunnelcc.papers.format import Figure, Quantity
from tunnelcc.papers.measures import DIAGNOSTICS, MEASURES
from tunnelcc.papers.paper import Paper
from tunnelcc.papers.published import UNITS

_STYLES = {REPRODUCED: "green", "reproduced in shape": "green", NOT_REPRODUCED: "red"}


def print_parameters(console: Console, paper: Paper) -> None:
    """Print each parameter with its value, its label and the reason."""
    table = _table("parameter", "value", "label", "why")
    for row in paper.parameters():
        table.add_row(*map(escape, row))
    console.print(table)


def print_verdicts(console: Console, reproductions: Sequence[Reproduction]) -> None:
    """Print one line for each figure."""
    table = _table("figure", "", "verdict", "numbers", "claims")
    for it in reproductions:
        good, count, held, claims = it.simulated.counts
        cells = [f"{good} of {count}" if count else "–", f"{held} of {claims}" if claims else "–"]
        verdict = it.simulated.verdict
        table.add_row(it.figure.id, escape(it.figure.title), _styled(verdict), *cells)
    console.print(table)


def print_figure(console: Console, reproduction: Reproduction) -> None:
    """Print published and simulated numbers, what is shown beside, and other settings."""
    simulated = reproduction.simulated
    heading = f"\n{simulated.figure.id}: {simulated.figure.title}"
    console.print(heading, style="bold", markup=False)
    _print_numbers(console, reproduction)
    _print_points(console, simulated)
    _print_beside(console, simulated)
    _print_variants(console, reproduction)


def _print_numbers(console: Console, reproduction: Reproduction) -> None:
    simulated = reproduction.simulated
    if not simulated.judged:
        return
    axes = list(simulated.figure.axes)
    first = ["metric", *axes] if len({cell.row.metric for cell in simulated.judged}) > 1 else axes
    headings = [*first, "published", "simulated", "spread", "ratio", "verdict", "rests on"]
    right = [*range(len(first), len(first) + 4)]
    if reproduction.ns3:
        headings += ["ns-3's", "ratio"]
        right += [len(headings) - 2, len(headings) - 1]
    table = _table(*headings, right=right)
    others = reproduction.ns3.judged if reproduction.ns3 else []
    for index, cell in enumerate(simulated.judged):
        row = [cell.row.metric.replace("_", " ")] if first is not axes else []
        row += [*cell.point.axes.values(), f"{cell.row.published} {cell.unit}"]
        row += [cell.show(cell.mean), show_spread(cell)]
        row = [*map(escape, row), show_ratio(cell.ratio), _styled(cell.verdict), cell.rests_on]
        if others:
            row += [others[index].show(others[index].mean), show_ratio(others[index].ratio)]
        table.add_row(*row)
    console.print(table)
    seeds = len(simulated.points[0].runs)
    text = f"Means of {seeds} seed{'s' if seeds > 1 else ''}, spread from least to most."
    console.print(text, markup=False)
    for item in simulated.figure.values:
        if item.is_judged:
            console.print(f"{item.published}: {_tolerance(item)}: {item.reason}", markup=False)


def _tolerance(item: Any) -> str:
    if item.margin is not None:
        return f"± {item.margin:g} in its unit"
    return f"± {100 * item.tolerance:g} %"


def _print_points(console: Console, simulated: Simulated) -> None:
    """Print what was simulated where nothing was printed in the paper."""
    numbered = {id(cell.point) for cell in simulated.judged}
    points = [point for point in simulated.points if id(point) not in numbered]
    if not points:
        return
    figure = simulated.figure
    heads = [f"{_title(name, it)} {it.shown_in}" for name, it in figure.quantities.items()]
    table = _table(*figure.axes, *heads, right=range(len(figure.axes), 99))
    for point in points:
        row = [*point.axes.values()]
        row += [show(point, name, it) for name, it in figure.quantities.items()]
        table.add_row(*map(escape, row))
    console.print(table)


def _print_beside(console: Console, simulated: Simulated) -> None:
    """Print published numbers beside simulated quantities, without a verdict."""
    items = [item for item in simulated.figure.values if not item.is_judged]
    for metric in dict.fromkeys(item.published for item in items):
        console.print(f"\n{metric} (no verdict)", style="bold", markup=False)
        names = [item.quantity for item in items if item.published == metric]
        axes = list(simulated.figure.axes)
        heads = ["published", *(f"simulated {name.replace('_', ' ')}" for name in names)]
        table = _table(*axes, *heads, right=range(len(axes), len(axes) + len(heads)))
        rows = [cell for cell in simulated.cells if cell.row.metric == metric]
        for cell in (cell for cell in rows if cell.compared.quantity == names[0]):
            values = [cell.show(cell.point.mean(name)) for name in names]
            table.add_row(*map(escape, cell.point.axes.values()), str(cell.row.published), *values)
        console.print(table)
        for reason in dict.fromkeys(item.reason for item in items if item.published == metric):
            console.print(reason, markup=False)


def _print_variants(console: Console, reproduction: Reproduction) -> None:
    """Print the experiments that were varied: causes alone, and what-ifs."""
    if not reproduction.variants:
        return
    console.print("\nOther settings, seed 1", style="bold", markup=False)
    axes = list(reproduction.figure.axes)
    heads = ("what", "role", "number", *axes, "published", "simulated", "instead of", "closes")
    table = _table(*heads, right=range(len(heads) - 4, len(heads)))
    for variant, points in reproduction.variants:
        shares = explained_shares(reproduction, points) if variant.role == "cause" else []
        for index, it in enumerate(changes(reproduction, points)):
            first = [variant.title, variant.role] if index == 0 else ["", ""]
            table.add_row(
                *map(escape, (*first, it.name, *it.point.axes.values(), it.published or "–")),
                it.show(it.value),
                it.show(it.instead_of),
                percent(shares[index]) if index < len(shares) else "",
            )
    console.print(table)


def print_sweep(
    console: Console, figure: Figure, candidates: Sequence[tuple[str, Simulated]]
) -> None:
    """Print the simulated values and the misfit of each candidate."""
    cells = candidates[0][1].judged
    names = [" ".join(cell.point.axes.values()) for cell in cells]
    assert figure.calibration is not None
    table = _table(figure.calibration.key, *names, "misfit", right=range(1, len(cells) + 2))
    for name, simulated in candidates:
        values = [cell.show(cell.mean) for cell in simulated.judged]
        table.add_row(name, *values, f"{misfit(cell.ratio for cell in simulated.judged):.4f}")
    table.add_row("published", *(str(cell.row.published) for cell in cells), "", style="bold")
    console.print(table)


def figure_csv(reproduction: Reproduction) -> str:
    """Return all points, readings and variants included, as CSV in SI units, a line a number."""
    figure = reproduction.figure
    axes = list(figure.axes)
    head = ["set", *axes, "quantity", "unit", "seeds", "simulated", "least", "most", "published"]
    lines = [[*head, "ratio", "verdict", "rests_on"]]
    for name, simulated in _sets(reproduction):
        for point in simulated.points:
            for quantity, unit in _columns(figure):
                cells = [
                    cell
                    for cell in simulated.cells
                    if cell.point is point and cell.compared.quantity == quantity
                ]
                values = (point.mean(quantity), *point.spread(quantity))
                line = [name, *point.axes.values(), quantity, unit, str(len(point.runs))]
                line += [_plain(value) for value in values]
                lines += [[*line, *_published(cell, name)] for cell in cells] or [line + [""] * 4]
    return _csv(lines)


def _published(cell: Cell, name: str) -> list[str]:
    told = [cell.verdict, cell.rests_on] if name == "scenario" else ["", ""]
    return [str(cell.row.published), f"{cell.ratio:.4f}", *told]


def sweep_csv(figure: Figure, candidates: Sequence[tuple[str, Simulated]]) -> str:
    """Return the sweep of a calibration as CSV in SI units."""
    axes = list(figure.axes)
    assert figure.calibration is not None
    lines = [[figure.calibration.key, *axes, "published", "simulated", "drops", "misfit"]]
    for name, simulated in candidates:
        total = f"{misfit(cell.ratio for cell in simulated.judged):.6f}"
        for cell in simulated.judged:
            numbers = [_plain(it) for it in (cell.published, cell.mean, cell.point.mean("drops"))]
            lines.append([name, *cell.point.axes.values(), *numbers, total])
    return _csv(lines)


def as_dict(reproduction: Reproduction, sentences: Sequence[str]) -> dict[str, Any]:
    """Return everything about a figure as plain data for JSON, in SI units."""
    simulated = reproduction.simulated
    return {
        "paper": simulated.paper.key,
        "title": simulated.paper.title,
        "figure": simulated.figure.id,
        "parameters": [
            dict(zip(("parameter", "value", "label", "reason"), row, strict=True))
            for row in simulated.paper.parameters(simulated.figure)
        ],
        "units": dict(_columns(simulated.figure)),
        **_simulated(simulated),
        "ns3": _simulated(reproduction.ns3) if reproduction.ns3 else None,
        "readings": [
            {"question": question.id, "reading": reading.id, **_simulated(other)}
            for question, reading, other in reproduction.readings
        ],
        "variants": [
            {
                "id": variant.id,
                "title": variant.title,
                "role": variant.role,
                "reason": variant.reason,
                "points": [_point(point) for point in points],
            }
            for variant, points in reproduction.variants
        ],
        "evidence": [
            {
                "quantity": it.evidence.quantity,
                "published": str(it.evidence.published),
                "measured": str(it.evidence.measured),
                "simulated": _number(it.simulated),
                "source": it.evidence.source,
                "verdict": it.verdict,
            }
            for it in (weigh(evidence, reproduction) for evidence in simulated.figure.evidence)
        ],
        "conclusions": list(sentences),
    }


def _simulated(simulated: Simulated) -> dict[str, Any]:
    return {
        "verdict": simulated.verdict,
        "rows": [_row(cell) for cell in simulated.cells],
        "claims": [
            {"text": it.claim.text, "kind": it.claim.kind, "holds": it.holds, "got": it.got}
            for it in simulated.claims
        ],
        "points": [_point(point) for point in simulated.points],
    }


def _row(cell: Cell) -> dict[str, Any]:
    return {
        "metric": cell.row.metric,
        **cell.point.axes,
        "quantity": cell.compared.quantity,
        "published": str(cell.row.published),
        "unit": cell.unit,
        "simulated": _number(cell.mean),
        "ratio": _number(round(cell.ratio, 6)),
        "verdict": cell.verdict,
        "rests_on": cell.rests_on,
    }


def _point(point: Point) -> dict[str, Any]:
    runs = [
        {"seed": run.seed, **{name: _number(value) for name, value in run.values.items()}}
        for run in point.runs
    ]
    return {**point.axes, "runs": runs}


def _number(value: float) -> float | None:
    """Infinity and NaN, which JSON has not, are null."""
    return float(value) if math.isfinite(value) else None


def _sets(reproduction: Reproduction) -> Iterable[tuple[str, Simulated]]:
    simulated = reproduction.simulated
    yield "scenario", simulated
    if reproduction.ns3:
        yield "ns3", reproduction.ns3
    for question, reading, other in reproduction.readings:
        if other is not simulated:
            yield f"{question.id}={reading.id}", other
    for variant, points in reproduction.variants:
        yield variant.id, Simulated(simulated.paper, simulated.figure, points)


def _columns(figure: Figure) -> list[tuple[str, str]]:
    """Return each quantity with its SI unit, and the diagnostics."""
    own = [
        (name, MEASURES[it.measure].units if it.measure else _SI.get(it.shown_in, it.shown_in))
        for name, it in figure.quantities.items()
    ]
    if not figure.needs_runs:
        return own
    return own + [
        (name, MEASURES[name].units) for name in DIAGNOSTICS if name not in figure.quantities
    ]


_SI = {
    "kbit/s": "bit/s",
    "Mbit/s": "bit/s",
    "Gbit/s": "bit/s",
    "ms": "s",
    "KB": "byte",
    "MB": "byte",
    "%": "1",
}


def show(point: Point, name: str, quantity: Quantity) -> str:
    """Write a quantity's mean in the unit in which it is shown."""
    return f"{point.mean(name) / UNITS[quantity.shown_in]:.4g}"


def _title(name: str, quantity: Quantity) -> str:
    return quantity.title or name.replace("_", " ")


def show_spread(cell: Cell) -> str:
    """Write the least and the largest run in the published unit."""
    low, high = cell.spread
    return f"{cell.show(low)}–{cell.show(high)}"


def show_ratio(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:.3g}" if math.isfinite(value) else "–"


def _styled(verdict: str) -> str:
    style = _STYLES.get(verdict)
    return f"[{style}]{verdict}[/]" if style else verdict


def _plain(value: float) -> str:
    if math.isfinite(value) and value == round(value):
        return f"{value:.0f}"
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.6g}"


def _csv(lines: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _table(*headings: str, right: Iterable[int] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for index, heading in enumerate(headings):
        justify = "right" if index in right else "left"
        table.add_column(escape(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table
