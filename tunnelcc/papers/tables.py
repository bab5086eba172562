# SPDX-License-Identifier: GPL-2.0-only
"""Tables of a reproduction for terminal and page: numbers and verdicts of the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from tunnelcc.metrics import drift
from tunnelcc.output.tables import Table
from tunnelcc.papers.claims import Judged
from tunnelcc.papers.compare import (
    FITTED,
    IN_RANGE,
    NOT_FITTED,
    NOT_REPRODUCED,
    REPRODUCED,
    Cell,
    Reproduction,
    Simulated,
    changes,
    claims_told,
    misfit,
    rows_told,
    steadiness_told,
    told,
    weigh,
)
from tunnelcc.papers.format import Compared, Figure, Reading
from tunnelcc.papers.paper import Paper
from tunnelcc.papers.points import DIAGNOSTICS, Point
from tunnelcc.papers.published import UNITS, written

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
    "reproduced: the simulated number is within the tolerance below the table; "
    "a bound (>, <) or a range has none.",
    "depends on: how the parameters that the paper does not state were found. inferred: from the "
    "paper or another source; choice: ours; calibrated: fitted to published numbers. The verdict "
    "on a number that served for a fit proves nothing.",
)
#: Of a table with a line for each figure.
FIGURE_COLUMNS = ("figure", "", "result")


def parameters(paper: Paper) -> Table:
    """Return each parameter with its value, its label and the reason."""
    return Table("", ("parameter", "value", "label", "why"), paper.parameters())


def side_by_side(reproduction: Reproduction) -> Table:
    """Return the rows with a verdict, and the labels of what they depend on."""
    figure, cells = reproduction.figure, reproduction.simulated.judged
    rows = [
        (
            _at(cell.name, cell.point), _with_unit(str(cell.row.published), cell.unit),
            cell.show(cell.mean), _ratio(cell.ratio), cell.verdict_told, cell.rests_on,
        )
        for cell in cells
    ]  # fmt: skip
    columns = (_places(figure), "published", "simulated", "ratio", "verdict", "depends on")
    judged = [item for item in figure.values if item.is_judged]
    notes = [f"{_rows_of(item)}: reproduced if {_tolerance(item)}" for item in judged]
    if len({_tolerance(item) for item in judged}) == 1:
        notes = [f"reproduced if {_tolerance(judged[0])}"]
    notes += _drifts(reproduction.simulated)
    return Table(f"{figure.id}: {figure.title}", columns, rows, (1, 2, 3), notes)


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


def questions(paper: Paper, found: Sequence[Reproduction]) -> Iterator[Table]:
    """Yield for each question the results of the figures with each of its readings."""
    for question in paper.file.questions:
        rows = []
        for it in found:
            others = [told(other) for asked, _, other in it.readings if asked is question]
            if others:
                rows.append((it.figure.id, *others))
        if rows:
            names = map(_called, question.readings)
            notes = [f"{reading.title}: {reading.reason}" for reading in question.readings]
            yield Table(question.text, ("figure", *names), rows, notes=notes)


def _called(reading: Reading) -> str:
    return reading.title if reading.settings else f"{reading.title} (as simulated)"


def of_figure(reproduction: Reproduction) -> Iterator[Table]:
    """Yield the tables of a figure except points(); numbers first."""
    tables = (_numbers, _claims, _readings, _settings, _evidence)
    yield from (table for table in (make(reproduction) for make in tables) if table.rows)


def _numbers(reproduction: Reproduction) -> Table:
    """Published and simulated, side by side."""
    simulated = reproduction.simulated
    columns = [_places(simulated.figure), "published", "simulated", "spread", "ratio"]
    columns += ["verdict", "depends on"]
    rows = []
    for cell in simulated.cells:
        name = cell.name
        if not cell.compared.is_judged:
            name += f" ({simulated.figure.title_of(cell.compared.quantity)})"
        low, high = cell.spread
        row = [_at(name, cell.point), _with_unit(str(cell.row.published), cell.unit)]
        row += [cell.show(cell.mean), f"{cell.show(low)}–{cell.show(high)}", _ratio(cell.ratio)]
        row += [cell.verdict_told or "no verdict", cell.rests_on]
        rows.append(row)
    notes = [f"{_rows_of(it)}: {_tolerance(it)}: {it.reason}" for it in simulated.figure.values]
    notes += _drifts(simulated)
    return Table("Published and simulated", columns, rows, (1, 2, 3, 4), notes)


def _rows_of(item: Compared) -> str:
    where = ", ".join(f"{name} {value}" for name, value in item.where.items())
    return item.published.replace("_", " ") + (f" ({where})" if where else "")


def _tolerance(item: Compared) -> str:
    if item.within_runs:
        return "between the least and the largest run"
    if item.margin is not None:
        return f"within ± {item.margin:g} in the published unit"
    return f"within ± {100 * item.tolerance:g} %" if item.tolerance else "no verdict"


def _claims(reproduction: Reproduction) -> Table:
    simulated = reproduction.simulated
    rows = [
        (it.claim.text, it.got, HOLDS if it.holds else FAILS, simulated.standing(it) or "–")
        for it in simulated.claims
    ]
    columns = ("claim", "simulated", "verdict", "its numbers")
    return Table("Claims", columns, rows, notes=() if simulated.cells else _drifts(simulated))


def _readings(reproduction: Reproduction) -> Table:
    """Each with its numbers and claims."""
    rows = []
    for question, reading, other in reproduction.readings:
        got = [
            f"{it.name} {_with_unit(it.show(it.mean), it.unit)} ({it.row.published})"
            for it in other.judged
        ]
        got += [f"{it.got} ({HOLDS if it.holds else FAILS})" for it in other.claims]
        counts = (rows_told(other.cells), claims_told(other.claims))
        row = (question.id, _called(reading), *counts, "; ".join(got))
        rows.append(row)
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


def _evidence(reproduction: Reproduction) -> Table:
    figure, rows, reasons = reproduction.figure, [], []
    for evidence in figure.evidence:
        weighed = weigh(evidence, reproduction)
        value = weighed.simulated / UNITS[figure.quantities[evidence.quantity].shown_in]
        paper, measured = str(evidence.published), str(evidence.measured)
        name = figure.title_of(evidence.quantity)
        rows.append((name, paper, f"{value:.3g}", measured, weighed.verdict, evidence.source))
        reasons.append(evidence.reason)
    columns = ("quantity", "paper", "simulated", "measured", "verdict", "measured by")
    title = "Which is closer to independent measurements: the paper or the simulation"
    return Table(title, columns, rows, (1, 2, 3), reasons)


def points(reproduction: Reproduction) -> Table:
    """All simulated points, and what limited them."""
    simulated, figure = reproduction.simulated, reproduction.figure
    columns = [
        *figure.axes,
        *(_with_unit(figure.title_of(name), it.shown_in) for name, it in figure.quantities.items()),
        *(name.replace("_", " ") for name in _diagnostics(figure)),
    ]
    rows = []
    for point in simulated.points:
        values = [_show(point, figure, name) for name in figure.quantities]
        values += [written(point.mean(name)) for name in _diagnostics(figure)]
        rows.append((*point.shown, *values))
    seeds = len(simulated.points[0].runs)
    title = f"All points, means of {seeds} seeds" if seeds > 1 else "All points"
    return Table(title, columns, rows, range(len(figure.axes), len(columns)))


def _diagnostics(figure: Figure) -> Sequence[str]:
    return [it for it in DIAGNOSTICS if figure.needs_runs and it not in figure.quantities]


def sweep(figure: Figure, candidates: Sequence[tuple[str, Simulated]]) -> Table:
    """Return the simulated values and the misfit of each candidate of a calibration."""
    assert figure.calibration is not None
    key = figure.calibration.key
    cells = candidates[0][1].judged
    names = [" ".join(cell.point.axes.values()) for cell in cells]
    rows = [
        [name, *(cell.show(cell.mean) for cell in it.judged), f"{score(it.judged):.4f}"]
        for name, it in candidates
    ]
    rows.append(["published", *(str(cell.row.published) for cell in cells), ""])
    columns = [key, *names, "misfit"]
    return Table(f"{figure.title}: {key}", columns, rows, range(1, len(columns)))


def score(cells: Iterable[Cell]) -> float:
    """Return the misfit of published rows."""
    return misfit(cell.ratio for cell in cells)


def _places(figure: Figure) -> str:
    """Return the heading of what _at() writes."""
    return ", ".join(("number", *figure.axes)).replace("_", " ")


def _at(name: str, point: Point) -> str:
    return ", ".join((name, *point.shown))


def _with_unit(text: str, unit: str) -> str:
    return text if unit == "1" else f"{text} {unit}"


def _show(point: Point, figure: Figure, name: str) -> str:
    return written(point.mean(name), figure.quantities[name].shown_in)


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:.3g}" if math.isfinite(value) else "–"
