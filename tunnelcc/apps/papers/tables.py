# SPDX-License-Identifier: GPL-2.0-only
"""Tables of a reproduction for terminal, page and files: numbers and verdicts of the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]

from tunnelcc.apps.papers.baselines import counts, skill, summed
from tunnelcc.apps.papers.declare import Figure
from tunnelcc.apps.papers.folder import Folder
from tunnelcc.apps.papers.observe import DIAGNOSTICS, Point
from tunnelcc.apps.papers.sheets import SI, Compare, Other, written
from tunnelcc.apps.papers.verdicts import (
    FITTED,
    IN_RANGE,
    NOT_FITTED,
    NOT_REPRODUCED,
    REPRODUCED,
    Cell,
    Judged,
    Reproduction,
    Simulated,
    changes,
    claims_told,
    misfit,
    rows_told,
    steadiness_told,
    told,
)
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.metrics import METRICS, drift
from tunnelcc.output.files import csv_text
from tunnelcc.output.tables import Table

HOLDS, FAILS = "holds", "does not hold"
#: How a verdict is to be seen.
KINDS = {
    REPRODUCED: "good",
    IN_RANGE: "good",
    NOT_REPRODUCED: "bad",
    FITTED: "note",
    NOT_FITTED: "note",
    HOLDS: "good",
    FAILS: "bad",
}
#: What the columns of side_by_side() mean.
LEGEND = (
    "ratio: simulated / published.",
    "reproduced: the simulated number is within the tolerance below the table, or in the range of "
    "the published trials where they differ by more than that; a bound (>, <) or a range has none.",
    "depends on: how the parameters that the paper does not state were found. inferred: from the "
    "paper or another source; choice: ours; calibrated: fitted to published numbers. The verdict "
    "on a number that served for a fit proves nothing.",
)
#: What the columns of baselines() mean.
BASELINES = (
    "points: conditions of the experiment; a point has several rows if several runs or testbeds "
    "were published.",
    "arithmetic: fair shares of the rate after headers, windows per RTT, the equations of Mathis "
    "et al. and RFC 9438 under random loss, half of a full queue.",
    "constant: the one value that meets most of the rows, chosen in hindsight.",
    "skill: of the rows that the better of these two misses, the part that the simulation gains; "
    "0 is no better, 1 all of them, below 0 worse.",
)
#: Of the table of all points, in files.
_PUBLISHED = ("published", "ratio", "verdict", "rests_on")
#: Of a table with a line for each figure.
FIGURE_COLUMNS = ("figure", "", "result")


def parameters(folder: Folder) -> Table:
    """Return each parameter with its value, its label and the reason."""
    return Table("", ("parameter", "value", "label", "why"), folder.evidence())


def side_by_side(reproduction: Reproduction) -> Table:
    """Return the rows with a verdict, and the labels of what they depend on."""
    simulated = reproduction.simulated
    judged = [item for item in simulated.folder.values(simulated.figure) if item.is_judged]
    notes = [f"{_rows_of(item)}: reproduced if {_tolerance(item)}" for item in judged]
    if len({_tolerance(item) for item in judged}) == 1:
        notes = [f"reproduced if {_tolerance(judged[0])}"]
    title = f"{simulated.figure.id}: {simulated.figure.title}"
    table = _of_cells(title, simulated, simulated.judged, notes)
    without_spread = [[*row[:3], *row[4:]] for row in (table.columns, *table.rows)]
    return replace(table, columns=without_spread[0], rows=without_spread[1:], numbers=(1, 2, 3))


def _of_cells(
    title: str, simulated: Simulated, cells: Sequence[Cell], notes: Sequence[str]
) -> Table:
    columns = [", ".join(("number", *simulated.figure.axes)).replace("_", " "), "published"]
    columns += ["simulated", "spread", "ratio", "verdict", "depends on"]
    rows = []
    for cell in cells:
        name = cell.name
        if not cell.compared.is_judged:
            name += f" ({simulated.figure.title_of(cell.compared.quantity)})"
        low, high = map(cell.show, cell.spread)
        row = [_at(name, cell.point), _with_unit(str(cell.row.published), cell.unit)]
        row += [cell.show(cell.value), f"{low}–{high}", _ratio(cell.ratio)]
        rows.append([*row, cell.verdict_told or "no verdict", cell.rests_on])
    return Table(title, columns, rows, (1, 2, 3, 4), [*notes, *_drifts(simulated)])


def _drifts(simulated: Simulated) -> list[str]:
    """Name the points whose verdicts are none of a steady state."""
    named = [", ".join(point.shown) for point in simulated.points if not point.is_steady]
    if not named:
        return []
    where = f": {'; '.join(named)}" if all(named) else ""
    return [
        f"{steadiness_told(simulated)}, the goodput of a flow changed by more than "
        f"{drift.LEAST:.0%} from the first half of the time to the second{where}"
    ]


def summary(found: Iterable[Reproduction]) -> Table:
    """Return one line for each figure."""
    rows = [(it.figure.id, it.figure.title, told(it.simulated)) for it in found]
    return Table("Figures", FIGURE_COLUMNS, rows)


def missed(found: Iterable[Reproduction]) -> Table:
    """Return all missed rows and claims, with the known causes."""
    rows = []
    for it in found:
        simulated, reasons = it.simulated, dict[str, list[str]]()
        is_named = len({cell.name for cell in simulated.judged}) > 1
        for miss in simulated.missed:
            reasons.setdefault(simulated.reason(miss), []).append(_missed(miss, is_named))
        rows += [
            (it.figure.id, "; ".join(misses), reason or "not known")
            for reason, misses in reasons.items()
        ]
    return Table("Missed", ("figure", "simulated / published", "why"), rows)


def _missed(miss: Cell | Judged, is_named: bool) -> str:
    if isinstance(miss, Judged):
        return f"“{miss.claim.text}”: {miss.got}"
    places = ", ".join(miss.point.shown)
    name = _at(miss.name, miss.point) if is_named or not places else places
    return f"{name}: {_ratio(miss.ratio)}"


def baselines(found: Iterable[Reproduction]) -> Table:
    """Return what arithmetic and a constant would meet, and the skill; the last line is the sum."""
    counted = [count for it in found for count in counts(it.simulated)]
    rows: list[Sequence[str]] = [
        (
            f"{it.figure}: {it.number}",
            *map(str, (it.points, it.rows, it.simulated, it.naive)),
            str(it.by_constant) if it.rows > 1 else "–",
            _with_unit(written(it.constant, it.unit), it.unit) if it.rows > 1 else "–",
            _skill(skill(it.rows, it.simulated, it.baseline)),
        )
        for it in counted
    ]  # fmt: skip
    if len(counted) > 1:
        total = summed(counted)
        sums = (total.points, total.rows, total.simulated, total.naive, total.by_constant)
        gained = _skill(skill(total.rows, total.simulated, total.baseline))
        rows.append(("all", *map(str, sums), "", gained))
    columns = ("number", "points", "rows", "simulation", "arithmetic", "constant", "which", "skill")
    return Table("Rows met, beside arithmetic and constants", columns, rows, range(1, 8), BASELINES)


def _skill(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def questions(folder: Folder, found: Sequence[Reproduction]) -> Iterator[Table]:
    """Yield for each question the results of the figures with each of its readings."""
    for question, readings in folder.questions:
        rows = []
        for it in found:
            others = [told(other) for asked, _, other in it.readings if asked is question]
            if others:
                rows.append((it.figure.id, *others))
        if rows:
            notes = [f"{reading.title}: {reading.reason}" for reading in readings]
            yield Table(question.title, ("figure", *map(_called, readings)), rows, notes=notes)


def _called(reading: Other) -> str:
    return reading.title if reading.settings else f"{reading.title} (as simulated)"


def of_figure(reproduction: Reproduction) -> Iterator[Table]:
    """Yield the tables of a figure except points(); numbers first, the paper's own last."""
    tables = (_numbers, _claims, _readings, _settings, *reproduction.figure.tables)
    yield from (table for table in (make(reproduction) for make in tables) if table.rows)


def _numbers(reproduction: Reproduction) -> Table:
    """Published and simulated, side by side."""
    simulated = reproduction.simulated
    values = simulated.folder.values(simulated.figure)
    notes = [f"{_rows_of(it)}: {_tolerance(it)}: {it.reason}" for it in values]
    return _of_cells("Published and simulated", simulated, simulated.cells, notes)


def _rows_of(item: Compare) -> str:
    where = ", ".join(f"{name} {value}" for name, value in item.where.items())
    return item.published.replace("_", " ") + (f" ({where})" if where else "")


def _tolerance(item: Compare) -> str:
    if item.within_runs:
        return "between the least and the largest run"
    if item.margin is not None:
        return f"within ± {item.margin:g} in the published unit"
    return f"within ± {100 * item.tolerance:g} %" if item.tolerance else "no verdict"


def _claims(reproduction: Reproduction) -> Table:
    simulated = reproduction.simulated
    rows = [
        (it.claim.text, it.got, HOLDS if it.holds else FAILS, simulated.standing(it.claim) or "–")
        for it in simulated.claims
    ]
    columns = ("claim", "simulated", "verdict", "its numbers")
    return Table("Claims", columns, rows, notes=() if simulated.cells else _drifts(simulated))


def _readings(reproduction: Reproduction) -> Table:
    """Each with its numbers and claims."""
    rows = []
    for question, reading, other in reproduction.readings:
        got = [
            f"{it.name} {_with_unit(it.show(it.value), it.unit)} ({it.row.published})"
            for it in other.judged
        ]
        got += [f"{it.got} ({HOLDS if it.holds else FAILS})" for it in other.claims]
        counts = (rows_told(other.cells), claims_told(other.claims))
        rows.append((question.id, _called(reading), *counts, "; ".join(got)))
    columns = ("question", "reading", "rows", "claims", "simulated (published)")
    return Table("Readings", columns, rows)


def _settings(reproduction: Reproduction) -> Table:
    """Variants: single causes, and what-ifs."""
    columns = ("what", "role", "number", "published", "simulated", "instead of", "closes")
    rows = [
        (
            variant.title, variant.role, _at(it.name, it.point),
            _with_unit(it.published or "–", it.unit), it.show(it.value), it.show(it.instead_of),
            "" if math.isnan(it.closes) else f"{round(100 * it.closes)} %",
        )
        for variant, varied in reproduction.variants
        for it in changes(reproduction, variant, varied)
    ]  # fmt: skip
    reasons = {variant.title: variant.reason for variant, _ in reproduction.variants}
    notes = [f"{title}: {reason}" for title, reason in reasons.items()]
    return Table("Other settings, one seed", columns, rows, (3, 4, 5, 6), notes)


def points(reproduction: Reproduction) -> Table:
    """All simulated points, and what limited them."""
    simulated, figure = reproduction.simulated, reproduction.figure
    units = _units(figure)
    columns = list(figure.axes)
    for name, unit in units.items():
        is_asked = name in figure.quantities
        heading = figure.title_of(name) if is_asked else name.replace("_", " ")
        columns.append(_with_unit(heading, unit if is_asked else "1"))
    rows = [
        (*point.shown, *(written(point.mean(name), unit) for name, unit in units.items()))
        for point in simulated.points
    ]
    seeds = len(simulated.points[0].runs)
    title = f"All points, means of {seeds} seeds" if seeds > 1 else "All points"
    return Table(title, columns, rows, range(len(figure.axes), len(columns)))


def _units(figure: Figure) -> dict[str, str]:
    """Return the unit of each quantity, and of the diagnostics."""
    asked = {name: quantity.unit for name, quantity in figure.quantities.items()}
    others = DIAGNOSTICS if figure.needs_runs else ()
    return asked | {name: METRICS[name].units for name in others if name not in asked}


def sweep(figure: Figure, candidates: Sequence[tuple[str, Simulated]]) -> Table:
    """Return the simulated values and the misfit of each candidate of a calibration."""
    assert figure.fit is not None
    key = figure.fit.key
    cells = candidates[0][1].judged
    names = [" ".join(cell.point.axes.values()) for cell in cells]
    rows = [
        [name, *(cell.show(cell.value) for cell in it.judged), f"{misfit(it.judged):.4f}"]
        for name, it in candidates
    ]
    rows.append(["published", *(str(cell.row.published) for cell in cells), ""])
    columns = [key, *names, "misfit"]
    return Table(f"{figure.title}: {key}", columns, rows, range(1, len(columns)))


def frame(reproduction: Reproduction) -> pd.DataFrame:
    """Return all points, including readings and variants: one number per line, SI, as text."""
    lines: list[Mapping[str, str]] = []
    for name, simulated in reproduction.sets():
        for point, (quantity, unit) in product(
            simulated.points, _units(reproduction.figure).items()
        ):
            numbers = (point.mean(quantity), *point.spread(quantity))
            line = {"set": name, **point.axes, "quantity": quantity, "unit": SI[unit][0]}
            line["seeds"] = str(len(point.runs))
            line |= zip(("simulated", "least", "most"), map(_plain, numbers), strict=True)
            cells = [
                (str(cell.row.published), f"{cell.ratio:.4f}")
                + ((cell.verdict, cell.rests_on) if name == "scenario" else ("", ""))
                for cell in simulated.cells
                if cell.point is point and cell.compared.quantity == quantity
            ]
            for cell in cells or [("",) * 4]:
                lines.append(line | dict(zip(_PUBLISHED, cell, strict=True)))
    return pd.DataFrame(lines)


def sweep_frame(figure: Figure, candidates: Sequence[tuple[str, Simulated]]) -> pd.DataFrame:
    """Return the sweep of a calibration, as frame() does."""
    assert figure.fit is not None
    return pd.DataFrame(
        {
            figure.fit.key: name,
            **cell.point.axes,
            "published": _plain(cell.published),
            "simulated": _plain(cell.value),
            "drops": _plain(cell.point.mean("drops")),
            "misfit": f"{misfit(simulated.judged):.6f}",
        }
        for name, simulated in candidates
        for cell in simulated.judged
    )


def write(table: pd.DataFrame, file: Path) -> None:
    """Write a table as CSV that no spreadsheet takes for formulas. Raises ConfigError."""
    try:
        table.rename(columns=csv_text).map(csv_text).to_csv(file, index=False, lineterminator="\n")
    except OSError as error:
        expected = "a directory that can be written"
        problem = Problem("output", str(file.parent), expected, error.strerror or "")
        raise ConfigError(problem) from None


def _plain(value: float) -> str:
    if math.isnan(value):
        return ""  # there is none, as in every CSV
    if math.isfinite(value) and value == round(value):
        return f"{value:.0f}"
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.6g}"


def _at(name: str, point: Point) -> str:
    return ", ".join((name, *point.shown))


def _with_unit(text: str, unit: str) -> str:
    return text if unit == "1" else f"{text} {unit}"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:.3g}" if math.isfinite(value) else "–"
