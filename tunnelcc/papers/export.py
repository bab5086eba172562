# SPDX-License-Identifier: GPL-2.0-only
"""Tables of ``reproduce --output`` as CSV, with one number per line, in SI units."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from tunnelcc.metrics import METRICS
from tunnelcc.output.files import csv_text
from tunnelcc.papers.compare import Cell, Reproduction, Simulated
from tunnelcc.papers.format import Figure
from tunnelcc.papers.points import DIAGNOSTICS
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


def _units(figure: Figure) -> dict[str, str]:
    """Return the SI unit of each quantity, and of the diagnostics."""
    units = {name: SI[quantity.shown_in] for name, quantity in figure.quantities.items()}
    diagnostics = {name: METRICS[name].units for name in DIAGNOSTICS if figure.needs_runs}
    return {**units, **{name: unit for name, unit in diagnostics.items() if name not in units}}


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
