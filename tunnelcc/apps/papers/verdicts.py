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

import pandas as pd  # type: ignore[import-untyped]

from tunnelcc.apps.papers.declare import Claim, Figure, Where
from tunnelcc.apps.papers.folder import Folder, matches, on_axes, wrong_code
from tunnelcc.apps.papers.observe import Point
from tunnelcc.apps.papers.sheets import UNITS, Compare, Other, Range, Row, written

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
IN_RANGE = f"{REPRODUCED}: within the runs' range"
FITTED = "calibrated: fits"
NOT_FITTED = "calibrated: no fit"

_LABELS = ("inferred", "choice", "calibrated")  # weaker than stated


@dataclass(frozen=True)
class Number:
    """A simulated number and what it is compared with, SI; ``unit``: in which it is shown."""

    point: Point
    name: str
    unit: str
    value: float

    def show(self, value: float) -> str:
        """Write a value of this kind in the unit."""
        return written(value, self.unit)


@dataclass(frozen=True)
class Cell(Number):
    """One published number, and its simulated point. ``value``: the mean over runs."""

    row: Row
    compared: Compare
    is_calibrated: bool = False
    labels: tuple[str, ...] = ()  # of the parameters that it rests on, other than stated

    @property
    def published(self) -> float:
        """The published number, bound or middle of the range, SI."""
        return self.row.published.middle

    @property
    def spread(self) -> tuple[float, float]:
        """Smallest and largest value over runs, SI."""
        return self.point.spread(self.compared.quantity)

    @property
    def ratio(self) -> float:
        """Simulated mean / published number, bound or middle of the range."""
        return self.value / self.published if self.published else math.inf

    @property
    def fits(self) -> bool:
        """Whether the runs match the published value: their range, or their mean."""
        if self.compared.within_runs:
            least, most = self.spread
            return least <= self.published <= most
        return self.is_met_by(self.value)

    @property
    def _around(self) -> float:
        """How far from the published value a match may be, SI; 0 of bounds and ranges."""
        if self.compared.margin is not None:
            return self.compared.margin * UNITS[self.unit]
        return (self.compared.tolerance or 0) * self.published * self.row.published.is_number

    @property
    def wide_trials(self) -> Range | None:
        """The range of the published trials, if they differ by more than the tolerance."""
        trials = self.row.trials
        return trials if trials and trials.high - trials.low > 2 * self._around else None

    @property
    def accepted(self) -> tuple[float, float]:
        """The least and the largest value that matches: of wide trials, or around the number."""
        if trials := self.wide_trials:
            return trials.low, trials.high
        return self.row.published.low - self._around, self.row.published.high + self._around

    def is_met_by(self, value: float) -> bool:
        """Whether a value matches the published one."""
        low, high = self.accepted
        return low <= value <= high

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


@dataclass(frozen=True)
class Judged:
    """A claim, whether it holds, and the simulated numbers behind this."""

    claim: Claim
    holds: bool
    got: str


@dataclass
class Simulated:
    """A figure's points, or some of them, with one set of settings."""

    folder: Folder
    figure: Figure
    points: list[Point]
    settings: Mapping[str, Any] = field(default_factory=dict)  # of a reading

    @cached_property
    def cells(self) -> list[Cell]:
        """Every published row at every point that it describes, in order."""
        return [
            Cell(
                point, row.metric.replace("_", " "), row.unit, point.mean(item.quantity), row, item,
                self._is_calibrated(point, item), self._labels(point),
            )
            for item in self.folder.values(self.figure)
            for row in self.folder.figure_rows(self.figure, item.published, item.where)
            for point in self.select(on_axes(item.where, self.figure))
            if row.matches(point.axes)
        ]  # fmt: skip

    @property
    def judged(self) -> list[Cell]:
        """Cells with a verdict."""
        return [cell for cell in self.cells if cell.compared.is_judged]

    @cached_property
    def claims(self) -> list[Judged]:
        """Every claim with the simulated finding."""
        return [Judged(claim, *self._judge(claim)) for claim in self.figure.claims]

    def means(self, where: Where | None = None) -> pd.DataFrame:
        """Return the means at the points of ``where``, SI: axes × quantities.

        Columns ``published NAME`` have the published numbers.
        """
        points = self.select(where or {})
        theirs: dict[tuple[str, int], float] = {}
        for cell in self.cells:
            theirs[cell.compared.quantity, id(cell.point)] = cell.published
        table = {name: [point.mean(name) for point in points] for name in self.figure.quantities}
        for name in self.figure.quantities:
            numbers = [theirs.get((name, id(point)), math.nan) for point in points]
            table[f"published {name}"] = numbers
        axes = {name: [point.axes[name] for point in points] for name in self.figure.axes}
        frame = pd.DataFrame(table | axes)
        return frame.set_index(list(axes)) if axes else frame

    @property
    def missed(self) -> list[Cell | Judged]:
        """Numbers that do not fit, and claims that do not hold."""
        cells = [cell for cell in self.judged if not cell.fits]
        return [*cells, *(it for it in self.claims if not it.holds)]

    def reason(self, missed: Cell | Judged) -> str:
        """Return the known cause of a miss, or an empty text."""
        where = missed.point.axes if isinstance(missed, Cell) else missed.claim.where
        return next(iter(self.folder.told(self.figure, "miss", where)), "")

    def select(self, where: Where) -> list[Point]:
        """Return the points with all values of ``where``."""
        return [point for point in self.points if matches(point.axes, where)]

    def like(self, point: Point) -> Point:
        """Return the point at the same place as a point of other settings."""
        return next(it for it in self.points if it.axes == point.axes)

    def standing(self, claim: Claim) -> str:
        """What a claim's numbers are worth: whether they were fitted or miss the published ones."""
        cells = [
            cell
            for cell in self.judged
            if cell.compared.quantity == claim.quantity
            and matches(cell.point.axes, claim.where)
            and (not claim.at or cell.point.axes[claim.axis] in claim.at)
        ]
        missed = sum(not cell.fits for cell in cells)
        told = ["calibrated"] if any(cell.is_calibrated for cell in cells) else []
        told += [f"{missed} of {len(cells)} numbers missed"] if missed else []
        return ", ".join(told)

    def _judge(self, claim: Claim) -> tuple[bool, str]:
        try:
            holds, got = claim.judge(self.means(claim.where))
        except Exception as error:
            raise wrong_code(error, self.folder.path / "paper.py") from error
        return bool(holds), got

    def _is_calibrated(self, point: Point, item: Compare) -> bool:
        fitted = self.figure.fit
        if fitted is None or fitted.key in self.settings or not item.is_judged:
            return False
        return matches(point.axes, fitted.where)

    def _labels(self, point: Point) -> tuple[str, ...]:
        """Labels of what the figure depends on. A queue that dropped nothing does not count."""
        drops = [run.values["drops"] for run in point.runs if "drops" in run.values]
        dropped_nothing = bool(drops) and max(drops) == 0
        found = {
            it.label
            for it in self.folder.parameters
            if it.concerns(self.figure.id)
            and not (it.name == "path.buffer" and not it.value and dropped_nothing)
        }
        return tuple(label for label in _LABELS if label in found)


@dataclass
class Reproduction:
    """A figure as the scenarios define it, with other readings, and with other settings."""

    simulated: Simulated
    readings: list[tuple[Other, Other, Simulated]] = field(default_factory=list)
    variants: list[tuple[Other, Simulated]] = field(default_factory=list)

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
class Change(Number):
    """A number of a variant and its normal value, SI. ``closes``: of a cause, otherwise NaN."""

    published: str  # empty: none
    instead_of: float
    closes: float = math.nan


def changes(reproduction: Reproduction, variant: Other, varied: Simulated) -> Iterator[Change]:
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
            explained(base.value, cell.value, cell.published)
            for base in baselines
            if base.row is cell.row and base.point.axes == cell.point.axes
        )
        yield Change(
            cell.point, cell.name, cell.unit, cell.value, str(cell.row.published), without,
            next(closes, math.nan),
        )  # fmt: skip
    for point in () if varied.judged else varied.points:
        for name, quantity in simulated.figure.quantities.items():
            if quantity.plot:
                without = simulated.like(point).mean(name)
                title = simulated.figure.title_of(name)
                yield Change(point, title, quantity.unit, point.mean(name), "", without)


def explained(without: float, with_cause: float, published: float) -> float:
    """Return the share of the gap (without the cause − published) that the cause closes.

    At 1 the cause explains the gap exactly, above 1 it explains more than the gap. NaN: no gap.
    """
    gap = without - published
    return (without - with_cause) / gap if gap else math.nan


def rows_told(cells: Collection[Cell]) -> str:
    """Return how many rows match, and how many of those were calibrated, in words."""
    judged = [cell for cell in cells if cell.compared.is_judged]
    if not judged:
        return f"{len(cells)} rows shown without a verdict" if cells else ""
    tolerances = {
        cell.compared.tolerance if cell.row.published.is_number and not cell.wide_trials else None
        for cell in judged
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


def misfit(cells: Iterable[Cell]) -> float:
    """Return the sum of squared logarithms of simulated / published."""
    return math.fsum(math.log(cell.ratio) ** 2 for cell in cells)


def best(candidates: Sequence[tuple[str, float]]) -> str:
    """Return the candidate with the smallest misfit; of equal ones (within 1e-4), the first."""
    least = min(value for _, value in candidates)
    return next(name for name, value in candidates if value <= least + 1e-4)
