# SPDX-License-Identifier: GPL-2.0-only
"""Published against simulated: ratios, spreads, verdicts. Plain numbers in, plain numbers out.

A row that served to calibrate a parameter is never called reproduced.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tunnelcc.papers.measures import WINDOW_LIMITED, Run
from tunnelcc.papers.published import UNITS

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
FITTED = "calibrated: fits"
NOT_FITTED = "calibrated: no fit"


@dataclass
class Cell:
    """One published number and the runs that stand for it."""

    columns: Mapping[str, str]
    published: float  # SI
    unit: str  # in which tables show it
    measure: str
    tolerance: float
    is_calibrated: bool = False
    runs: list[Run] = field(default_factory=list)

    def values(self, measure: str | None = None) -> list[float]:
        """Return one value per run."""
        return [run.values[measure or self.measure] for run in self.runs]

    def mean(self, measure: str | None = None) -> float:
        """Return the mean over runs."""
        values = self.values(measure)
        return math.fsum(values) / len(values)

    def spread(self, measure: str | None = None) -> tuple[float, float]:
        """Return the least and the largest value over runs."""
        values = self.values(measure)
        return min(values), max(values)

    def show(self, value: float) -> str:
        """Write a value of this cell's measure (SI) in the unit of the published one."""
        return f"{value / UNITS[self.unit]:.4g}"

    @property
    def ratio(self) -> float:
        """Simulated mean / published."""
        return self.mean() / self.published if self.published else math.inf

    @property
    def fits(self) -> bool:
        """Whether the mean is within the tolerance of the published value."""
        return abs(self.ratio - 1) <= self.tolerance

    @property
    def verdict(self) -> str:
        """Computed from ratio and tolerance alone."""
        if self.is_calibrated:
            return FITTED if self.fits else NOT_FITTED
        return REPRODUCED if self.fits else NOT_REPRODUCED

    @property
    def label(self) -> str:
        """On what the row rests: a calibrated parameter counts only where it could matter."""
        if self.is_calibrated:
            return "calibrated"
        return "inferred" if max(self.values("drops")) == 0 else "inferred, calibrated"

    @property
    def is_window_limited(self) -> bool:
        """Whether in every run the receive window, and no loss at the bottleneck, set the pace."""
        return min(self.values("window_share")) >= WINDOW_LIMITED and max(self.values("drops")) == 0


def misfit(ratios: Iterable[float]) -> float:
    """Return the sum of squared logarithms of simulated / published."""
    return math.fsum(math.log(ratio) ** 2 for ratio in ratios)


def best(candidates: Sequence[tuple[str, float]], slack: float = 1e-3) -> str:
    """Return the candidate of the least misfit, of equal ones (within ``slack``) the first."""
    least = min(value for _, value in candidates)
    return next(name for name, value in candidates if value <= least + slack)


def explained(without: float, with_cause: float, published: float) -> float:
    """Return the share of the gap (without the cause − published) that the cause closes.

    1: the cause alone gives the published value; above 1: less than it; NaN: there is no gap.
    """
    gap = without - published
    return (without - with_cause) / gap if gap else math.nan


def percent(share: float) -> str:
    """Write a share in whole percent, a dash for NaN."""
    return "–" if math.isnan(share) else f"{round(100 * share)} %"


def ratio_range(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the least and the largest over / under."""
    ratios = [over / under for over, under in pairs]
    return min(ratios), max(ratios)


def match(cells: Iterable[Cell], where: Mapping[str, str]) -> list[Cell]:
    """Return the cells with all the values of ``where``."""
    return [
        cell
        for cell in cells
        if all(cell.columns.get(column) == value for column, value in where.items())
    ]
