# SPDX-License-Identifier: GPL-2.0-only
"""Compare published and simulated results: numbers, claims, verdicts, all computed from the runs.

A row that a parameter was calibrated on is never called reproduced.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tunnelcc.papers.claims import Judged, judge
from tunnelcc.papers.format import Compared, Evidence, Figure, Question, Reading, Variant
from tunnelcc.papers.paper import Paper, matches
from tunnelcc.papers.points import Point
from tunnelcc.papers.published import UNITS, Row, written

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
IN_RANGE = f"{REPRODUCED}: within the runs' range"
FITTED = "calibrated: fits"
NOT_FITTED = "calibrated: no fit"

_LABELS = ("inferred", "choice", "calibrated")  # weaker than stated


@dataclass(frozen=True)
class Cell:
    """One published number, and its simulated point."""

    point: Point
    row: Row
    compared: Compared
    is_calibrated: bool = False
    labels: tuple[str, ...] = ()  # of the parameters that it rests on, other than stated

    @property
    def name(self) -> str:
        """The published value, in words."""
        return self.row.metric.replace("_", " ")

    @property
    def published(self) -> float:
        """The published number, bound or middle of the range, SI."""
        return self.row.value

    @property
    def unit(self) -> str:
        """The unit in tables: the published one."""
        return self.row.unit

    @property
    def mean(self) -> float:
        """Mean of the simulated quantity over runs, SI."""
        return self.point.mean(self.compared.quantity)

    @property
    def spread(self) -> tuple[float, float]:
        """Smallest and largest value over runs, SI."""
        return self.point.spread(self.compared.quantity)

    def show(self, value: float) -> str:
        """Write a value of this cell's quantity (SI) in the published unit."""
        return written(value, self.unit)

    @property
    def ratio(self) -> float:
        """Simulated mean / published number, bound or middle of the range."""
        return self.mean / self.published if self.published else math.inf

    @property
    def fits(self) -> bool:
        """Whether the mean matches the published value, within tolerance or margin.

        Bounds and ranges have no tolerance. A margin is in the published unit.
        """
        if self.compared.within_runs:
            least, most = self.spread
            return least <= self.published <= most
        if self.compared.margin is not None:
            return self.row.published.distance(self.mean) <= self.compared.margin * UNITS[self.unit]
        if not self.row.published.is_number:
            return self.row.published.distance(self.mean) == 0
        return abs(self.ratio - 1) <= (self.compared.tolerance or 0)

    @property
    def verdict(self) -> str:
        """Computed from published and simulated value alone; empty if none is due."""
        if not self.compared.is_judged:
            return ""
        if self.is_calibrated:
            return FITTED if self.fits else NOT_FITTED
        return REPRODUCED if self.fits else NOT_REPRODUCED

    @property
    def verdict_told(self) -> str:
        """The verdict in words, which say if the range of the runs decided and not their mean."""
        by_range = self.compared.within_runs and self.verdict == REPRODUCED
        return IN_RANGE if by_range else self.verdict

    @property
    def rests_on(self) -> str:
        """What the row depends on, in words."""
        return "calibrated" if self.is_calibrated else ", ".join(self.labels) or "stated"


@dataclass
class Simulated:
    """A figure's points, or some of them, with one set of settings."""

    paper: Paper
    figure: Figure
    points: list[Point]
    settings: Mapping[str, Any] = field(default_factory=dict)  # of a reading

    @cached_property
    def cells(self) -> list[Cell]:
        """Every published row at every point that it describes, in order."""
        return [
            Cell(point, row, item, self._is_calibrated(point, item), self._labels(point))
            for item in self.figure.values
            for row in self.paper.figure_rows(self.figure, item.published, item.where)
            for point in self.select(item.where_points(self.figure.axes))
            if row.matches(point.axes)
        ]

    @property
    def judged(self) -> list[Cell]:
        """Cells with a verdict."""
        return [cell for cell in self.cells if cell.compared.is_judged]

    @cached_property
    def claims(self) -> list[Judged]:
        """Every claim with the simulated finding."""
        return [
            judge(claim, self.select(claim.where), self._published(claim.quantity))
            for claim in self.figure.claims
        ]

    @property
    def missed(self) -> list[Cell | Judged]:
        """Numbers that do not fit, and claims that do not hold."""
        cells = [cell for cell in self.judged if not cell.fits]
        return [*cells, *(it for it in self.claims if not it.holds)]

    def reason(self, missed: Cell | Judged) -> str:
        """Return the known cause of a miss, or an empty text."""
        where = missed.point.axes if isinstance(missed, Cell) else missed.claim.where
        known = (it.reason for it in self.figure.misses if matches(where, it.where))
        return next(known, "")

    def select(self, where: Mapping[str, str]) -> list[Point]:
        """Return the points with all values of ``where``."""
        return [point for point in self.points if matches(point.axes, where)]

    def like(self, point: Point) -> Point:
        """Return the point at the same place as a point of other settings."""
        return next(it for it in self.points if it.axes == point.axes)

    def standing(self, judged: Judged) -> str:
        """What a claim's numbers are worth: whether they were fitted or miss the published ones."""
        claim = judged.claim
        cells = [
            cell
            for cell in self.judged
            if cell.compared.quantity == claim.quantity
            and any(cell.point is it for it in judged.points)
            and (not claim.over or cell.point.axes[claim.axis] in (claim.over, claim.under))
        ]
        missed = sum(not cell.fits for cell in cells)
        told = ["calibrated"] if any(cell.is_calibrated for cell in cells) else []
        told += [f"{missed} of {len(cells)} numbers missed"] if missed else []
        return ", ".join(told)

    def _published(self, quantity: str) -> dict[int, float]:
        """Return the published value (SI) of each point (by its id) that has one."""
        return {
            id(cell.point): cell.published
            for cell in self.cells
            if cell.compared.quantity == quantity
        }

    def _is_calibrated(self, point: Point, item: Compared) -> bool:
        calibration = self.figure.calibration
        if calibration is None or calibration.key in self.settings or not item.is_judged:
            return False
        return matches(point.axes, calibration.where)

    def _labels(self, point: Point) -> tuple[str, ...]:
        """Labels of what the figure depends on. A queue that dropped nothing does not count."""
        drops = [run.values["drops"] for run in point.runs if "drops" in run.values]
        dropped_nothing = bool(drops) and max(drops) == 0
        found = {
            parameter.label
            for parameter in self.paper.file.parameters
            if parameter.concerns(self.figure.id)
            and not (parameter.key == "path.buffer" and dropped_nothing)
        }
        return tuple(label for label in _LABELS if label in found)


@dataclass
class Reproduction:
    """A figure as the scenarios define it, with other readings, and with other settings."""

    simulated: Simulated
    readings: list[tuple[Question, Reading, Simulated]] = field(default_factory=list)
    variants: list[tuple[Variant, Simulated]] = field(default_factory=list)

    @property
    def figure(self) -> Figure:
        """The figure of the paper."""
        return self.simulated.figure

    def sets(self) -> Iterator[tuple[str, Simulated]]:
        """Yield everything that was simulated, each with a name."""
        yield "scenario", self.simulated
        for question, reading, other in self.readings:
            if other is not self.simulated:
                yield f"{question.id}={reading.id}", other
        for variant, other in self.variants:
            yield variant.id, other


@dataclass(frozen=True)
class Change:
    """A number of a variant and its normal value, SI. ``closes``: of a cause, otherwise NaN."""

    point: Point
    name: str
    unit: str  # in which it is shown
    published: str  # empty: none
    value: float
    instead_of: float
    closes: float = math.nan

    def show(self, value: float) -> str:
        """Write a value in the unit."""
        return written(value, self.unit)


def changes(reproduction: Reproduction, variant: Variant, varied: Simulated) -> Iterator[Change]:
    """Yield what a variant changes: the judged numbers, or every quantity."""
    simulated = reproduction.simulated
    baselines = [
        cell
        for other, it in reproduction.variants
        for cell in it.judged
        if other.role == "baseline" and variant.role == "cause"
    ]
    for cell in varied.judged:
        without = simulated.like(cell.point).mean(cell.compared.quantity)
        closes = (
            explained(base.mean, cell.mean, cell.published)
            for base in baselines
            if base.row is cell.row and base.point.axes == cell.point.axes
        )
        yield Change(
            cell.point, cell.name, cell.unit, str(cell.row.published), cell.mean, without,
            next(closes, math.nan),
        )  # fmt: skip
    for point in () if varied.judged else varied.points:
        for name, quantity in simulated.figure.quantities.items():
            if not quantity.plot:
                continue
            without = simulated.like(point).mean(name)
            title = simulated.figure.title_of(name)
            yield Change(point, title, quantity.shown_in, "", point.mean(name), without)


def explained(without: float, with_cause: float, published: float) -> float:
    """Return the share of the gap (without the cause − published) that the cause closes.

    At 1 the cause explains the gap exactly, above 1 it explains more than the gap. NaN: no gap.
    """
    gap = without - published
    return (without - with_cause) / gap if gap else math.nan


@dataclass(frozen=True)
class Weighed:
    """Whether the paper or the simulation is closer to independent measurements."""

    evidence: Evidence
    simulated: float  # mean over the figure's points
    verdict: str


def weigh(evidence: Evidence, reproduction: Reproduction) -> Weighed:
    """Return which of the two is closer to the evidence."""
    variants = {variant.id: varied for variant, varied in reproduction.variants}
    chosen = variants[evidence.variant] if evidence.variant else reproduction.simulated
    means = [point.mean(evidence.quantity) for point in chosen.points]
    value = math.fsum(means) / len(means)
    paper = evidence.measured.distance(evidence.published.middle)
    model = evidence.measured.distance(value)
    if model == paper:
        verdict = "both agree" if model == 0 else "equally far"
    else:
        verdict = "the simulation is closer" if model < paper else "the paper is closer"
    return Weighed(evidence, value, verdict)


def rows_told(cells: Collection[Cell]) -> str:
    """Return how many rows match, and how many of those were calibrated, in words."""
    judged = [cell for cell in cells if cell.compared.is_judged]
    if not judged:
        return f"{len(cells)} rows shown without a verdict" if cells else ""
    tolerances = {
        cell.compared.tolerance if cell.row.published.is_number else None for cell in judged
    }
    same = next(iter(tolerances)) if len(tolerances) == 1 else None
    within = f"within {100 * same:g} %" if same else "within tolerance"
    met = [cell.is_calibrated for cell in judged if cell.fits]
    text = f"{len(met)} of {len(judged)} rows {within}"
    if any(cell.is_calibrated for cell in judged):
        text += f"; {sum(met)} of them calibrated"
    if by_range := sum(cell.verdict_told == IN_RANGE for cell in judged):
        text += f"; {by_range} of them within the runs' range"
    left = len(cells) - len(judged)
    return text + (f"; {left} more shown without a verdict" if left else "")


def claims_told(claims: Collection[Judged]) -> str:
    """Return how many claims hold, in words."""
    return f"{sum(it.holds for it in claims)} of {len(claims)} claims hold" if claims else ""


def steadiness_told(simulated: Simulated) -> str:
    """Say at how many points the goodput has not settled, in words; "": at none."""
    drifting = sum(not point.is_steady for point in simulated.points)
    return f"{drifting} of {len(simulated.points)} points not steady" if drifting else ""


def told(simulated: Simulated) -> str:
    """Return the result of a figure's rows and claims, in one line."""
    parts = (
        rows_told(simulated.cells), claims_told(simulated.claims), steadiness_told(simulated),
    )  # fmt: skip
    return ". ".join(filter(None, parts)) or "nothing to compare a simulation with"


def misfit(ratios: Iterable[float]) -> float:
    """Return the sum of squared logarithms of simulated / published."""
    return math.fsum(math.log(ratio) ** 2 for ratio in ratios)


def best(candidates: Sequence[tuple[str, float]]) -> str:
    """Return the candidate with the smallest misfit; of equal ones (within 1e-4), the first."""
    least = min(value for _, value in candidates)
    return next(name for name, value in candidates if value <= least + 1e-4)
