# SPDX-License-Identifier: GPL-2.0-only
"""Files of ``reproduce --output``: CSV with one number per line, and JSON; SI units."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

from tunnelcc.metrics import METRICS
from tunnelcc.output.files import csv_text
from tunnelcc.papers.compare import Cell, Reproduction, Simulated, told, weigh
from tunnelcc.papers.format import Figure
from tunnelcc.papers.points import DIAGNOSTICS, Point
from tunnelcc.papers.published import SI
from tunnelcc.papers.tables import score


def figure_csv(reproduction: Reproduction) -> str:
    """Return all points, including readings and variants, as CSV."""
    figure = reproduction.figure
    head = ["set", *figure.axes, "quantity", "unit", "seeds", "simulated", "least", "most"]
    lines = [[*head, "published", "ratio", "verdict", "rests_on"]]
    for name, simulated in reproduction.sets():
        for point in simulated.points:
            for quantity, unit in _units(figure).items():
                values = (point.mean(quantity), *point.spread(quantity))
                line = [name, *point.axes.values(), quantity, unit, str(len(point.runs))]
                line += map(_plain, values)
                cells = [
                    cell
                    for cell in simulated.cells
                    if cell.point is point and cell.compared.quantity == quantity
                ]
                lines += [[*line, *_published(cell, name)] for cell in cells] or [line + [""] * 4]
    return _csv(lines)


def _published(cell: Cell, name: str) -> list[str]:
    told = [cell.verdict, cell.rests_on] if name == "scenario" else ["", ""]
    return [str(cell.row.published), f"{cell.ratio:.4f}", *told]


def sweep_csv(figure: Figure, candidates: Sequence[tuple[str, Simulated]]) -> str:
    """Return the sweep of a calibration as CSV."""
    assert figure.calibration is not None
    columns = ("published", "simulated", "drops", "misfit")
    lines = [[figure.calibration.key, *figure.axes, *columns]]
    for name, simulated in candidates:
        total = f"{score(simulated.judged):.6f}"
        for cell in simulated.judged:
            numbers = [_plain(it) for it in (cell.published, cell.mean, cell.point.mean("drops"))]
            lines.append([name, *cell.point.axes.values(), *numbers, total])
    return _csv(lines)


def as_dict(reproduction: Reproduction) -> dict[str, Any]:
    """Return everything about a figure as plain data for JSON."""
    simulated = reproduction.simulated
    return {
        "paper": simulated.paper.key,
        "title": simulated.paper.title,
        "figure": simulated.figure.id,
        "parameters": [
            dict(zip(("parameter", "value", "label", "reason"), row, strict=True))
            for row in simulated.paper.parameters(simulated.figure)
        ],
        "units": _units(simulated.figure),
        **_simulated(simulated),
        "readings": [
            {"question": question.id, "reading": reading.id, **_simulated(other)}
            for question, reading, other in reproduction.readings
        ],
        "variants": [
            {
                **variant.model_dump(include={"id", "title", "role", "reason"}),
                "points": [_point(point) for point in varied.points],
            }
            for variant, varied in reproduction.variants
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
    }


def _simulated(simulated: Simulated) -> dict[str, Any]:
    return {
        "summary": told(simulated),
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


def _units(figure: Figure) -> dict[str, str]:
    """Return the SI unit of each quantity, and of the diagnostics."""
    units = {name: SI[quantity.shown_in] for name, quantity in figure.quantities.items()}
    diagnostics = {name: METRICS[name].units for name in DIAGNOSTICS if figure.needs_runs}
    return {**units, **{name: unit for name, unit in diagnostics.items() if name not in units}}


def _number(value: float) -> float | None:
    """Infinity and NaN become null, because JSON has neither."""
    return float(value) if math.isfinite(value) else None


def _plain(value: float) -> str:
    if math.isnan(value):
        return ""  # there is none, as in every CSV
    if math.isfinite(value) and value == round(value):
        return f"{value:.0f}"
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.6g}"


def _csv(lines: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    cells = ([csv_text(cell) for cell in line] for line in lines)
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()
