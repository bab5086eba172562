# SPDX-License-Identifier: GPL-2.0-only
"""Published against simulated: numbers, claims, verdicts. All of it computed from the runs.

A row that served to calibrate a parameter is never called reproduced.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tunnelcc.config import Experiment
from tunnelcc.papers.claims import Judged, judge
from tunnelcc.papers.format import Compared, Evidence, Figure, Question, Reading, Variant
from tunnelcc.papers.measures import WINDOW_LIMITED, Run
from tunnelcc.papers.paper import Paper, matches
from tunnelcc.papers.published import UNITS, Row

REPRODUCED = "reproduced"
IN_SHAPE = "reproduced in shape"
NOT_REPRODUCED = "not reproduced"
NOT_TESTABLE = "not testable"
VERDICTS = (REPRODUCED, IN_SHAPE, NOT_REPRODUCED, NOT_TESTABLE)
FITTED = "calibrated: fits"
NOT_FITTED = "calibrated: no fit"

_LABELS = ("inferred", "choice", "calibrated")  # weaker than stated


@dataclass
class Point:
    """One experiment of a figure and its runs, a run per seed."""

    axes: Mapping[str, str]
    experiment: Experiment
    runs: list[Run] = field(default_factory=list)

    def values(self, quantity: str) -> list[float]:
        """Return one value per run, SI."""
        return [run.values[quantity] for run in self.runs]

    def mean(self, quantity: str) -> float:
        """Return the mean over runs; infinite if the quantity is in any of them."""
        values = self.values(quantity)
        if any(math.isinf(value) for value in values):
            return math.inf
        return math.fsum(values) / len(values)

    def spread(self, quantity: str) -> tuple[float, float]:
        """Return the least and the largest value over runs."""
        values = self.values(quantity)
        return min(values), max(values)

    @property
    def is_window_limited(self) -> bool:
        """Whether in every run the receive window, and no loss at the bottleneck, set the pace."""
        return min(self.values("window_share")) >= WINDOW_LIMITED and max(self.values("drops")) == 0


@dataclass(frozen=True)
class Cell:
    """One published number and the point that stands for it."""

    point: Point
    row: Row
    compared: Compared
    is_calibrated: bool = False
    labels: tuple[str, ...] = ()  # of the parameters that it rests on, other than stated

    @property
    def published(self) -> float:
        """SI."""
        return self.row.value

    @property
    def unit(self) -> str:
        """In which tables show it: the published one."""
        return self.row.unit

    @property
    def mean(self) -> float:
        """Of the simulated quantity over runs, SI."""
        return self.point.mean(self.compared.quantity)

    @property
    def spread(self) -> tuple[float, float]:
        """Of the simulated quantity, SI."""
        return self.point.spread(self.compared.quantity)

    def show(self, value: float) -> str:
        """Write a value of this cell's quantity (SI) in the published unit."""
        return f"{value / UNITS[self.unit]:.4g}"

    @property
    def ratio(self) -> float:
        """Simulated mean / published number, bound or middle of the range."""
        return self.mean / self.published if self.published else math.inf

    @property
    def fits(self) -> bool:
        """Whether the mean is what was published, within tolerance or margin.

        Bounds and ranges are taken as they stand; a margin is in the published unit.
        """
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
    def rests_on(self) -> str:
        """What the row rests on, in words."""
        return "calibrated" if self.is_calibrated else ", ".join(self.labels) or "stated"


@dataclass
class Simulated:
    """A figure, simulated with all its points, under one reading of the paper."""

    paper: Paper
    figure: Figure
    points: list[Point]
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the reading

    @cached_property
    def cells(self) -> list[Cell]:
        """Every published row at every point that it speaks of, in order."""
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
        """Every claim with what the simulation says of it."""
        return [
            judge(claim, self.select(claim.where), self._published(claim.quantity))
            for claim in self.figure.claims
        ]

    @property
    def verdict(self) -> str:
        """Reproduced: all numbers and claims; in shape: all claims that are of shape alone."""
        numbers = [cell.fits for cell in self.judged if not cell.is_calibrated]
        numbers += [it.holds for it in self.claims if it.claim.kind == "ratio"]
        shapes = [it.holds for it in self.claims if it.claim.kind != "ratio"]
        if not numbers and not shapes:
            return NOT_TESTABLE
        if all(numbers) and all(shapes):
            return REPRODUCED if numbers else IN_SHAPE
        return IN_SHAPE if shapes and all(shapes) else NOT_REPRODUCED

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Numbers that fit, numbers, claims that hold, claims; calibrated rows left out."""
        free = [cell for cell in self.judged if not cell.is_calibrated]
        good = sum(cell.fits for cell in free)
        held = sum(it.holds for it in self.claims)
        return good, len(free), held, len(self.claims)

    def select(self, where: Mapping[str, str]) -> list[Point]:
        """Return the points with all the values of ``where``."""
        return [point for point in self.points if matches(point.axes, where)]

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
        """Labels of what the figure rests on; the depth of a queue that dropped nothing is none."""
        found = {
            parameter.label
            for parameter in self.paper.file.parameters
            if parameter.concerns(self.figure.id)
            and not (parameter.key == "path.buffer" and _dropped_nothing(point))
        }
        return tuple(label for label in _LABELS if label in found)


def _dropped_nothing(point: Point) -> bool:
    """Whether there were runs, and the bottleneck's queue dropped nothing in any."""
    drops = [run.values["drops"] for run in point.runs if "drops" in run.values]
    return bool(drops) and max(drops) == 0


@dataclass
class Reproduction:
    """A figure as the scenarios have it, under other readings, and with other settings."""

    simulated: Simulated
    readings: list[tuple[Question, Reading, Simulated]] = field(default_factory=list)
    ns3: Simulated | None = None  # with ns-3's algorithms
    variants: list[tuple[Variant, list[Point]]] = field(default_factory=list)

    @property
    def figure(self) -> Figure:
        """The paper's."""
        return self.simulated.figure

    def of_role(self, role: str) -> list[tuple[Variant, list[Point]]]:
        """Return the variants of a role."""
        return [item for item in self.variants if item[0].role == role]


@dataclass(frozen=True)
class Weighed:
    """Whether published or simulated value stands nearer to what others measured."""

    evidence: Evidence
    simulated: float  # mean over the figure's points
    verdict: str


def weigh(evidence: Evidence, reproduction: Reproduction) -> Weighed:
    """Return which of the two is nearer to the evidence."""
    points = reproduction.simulated.points
    if evidence.variant is not None:
        (points,) = (
            members for variant, members in reproduction.variants if variant.id == evidence.variant
        )
    means = [point.mean(evidence.quantity) for point in points]
    value = math.fsum(means) / len(means)
    paper = evidence.measured.distance(evidence.published.middle)
    model = evidence.measured.distance(value)
    if model == paper:
        verdict = "both agree" if model == 0 else "equally far"
    else:
        verdict = "the simulation is nearer" if model < paper else "the paper is nearer"
    return Weighed(evidence, value, verdict)


def misfit(ratios: Iterable[float]) -> float:
    """Return the sum of squared logarithms of simulated / published."""
    return math.fsum(math.log(ratio) ** 2 for ratio in ratios)


def best(candidates: Sequence[tuple[str, float]]) -> str:
    """Return the candidate of the least misfit, of equal ones (within 1e-4) the first."""
    least = min(value for _, value in candidates)
    return next(name for name, value in candidates if value <= least + 1e-4)


def explained(without: float, with_cause: float, published: float) -> float:
    """Return the share of the gap (without the cause − published) that the cause closes.

    1: the cause alone gives the published value; above 1: less than it; NaN: there is no gap.
    """
    gap = without - published
    return (without - with_cause) / gap if gap else math.nan


def percent(share: float) -> str:
    """Write a share in whole percent, a dash for NaN."""
    return "–" if math.isnan(share) else f"{round(100 * share)} %"
