# SPDX-License-Identifier: GPL-2.0-only
"""Ways to compare simulated and expected values.

A comparison describes in words what it expects and tolerates. It judges a list of values, one per
run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from scipy.stats import fisher_exact

#: p-value from which on two frequencies count as different.
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Judgement:
    """The result in words, and whether it is as expected."""

    got: str
    passed: bool
    value: float  # the number that the verdict rests on, for figures
    off: float = math.inf  # how far that is from what is expected: % of it, or points of a share


class Comparison(Protocol):
    """What is expected of the values, one per run."""

    @property
    def expected(self) -> str: ...

    @property
    def tolerance(self) -> str: ...

    def judge(self, values: Sequence[float]) -> Judgement: ...


@dataclass(frozen=True)
class MeanNear:
    """The mean of all runs is near a number.

    ``relative`` and ``absolute``: the tolerance; the wider one counts. ``unit`` and ``digits``: for
    the words.
    """

    target: float
    relative: float = 0.0
    absolute: float = 0.0
    unit: str = ""
    digits: int = 2

    @property
    def expected(self) -> str:
        return _text(self.target, self.unit, self.digits)

    @property
    def tolerance(self) -> str:
        relative = f"±{100 * self.relative:g} %" if self.relative else ""
        if not self.absolute:
            return relative
        points = "points" if self.is_share else self.unit
        absolute = f"±{self.absolute:g} {points}".rstrip()
        return f"{relative} or {absolute}" if relative else absolute

    @property
    def margin(self) -> float:
        """How far the mean may be from the target."""
        return max(self.relative * abs(self.target), self.absolute)

    def judge(self, values: Sequence[float]) -> Judgement:
        mean = statistics.fmean(values)
        off = abs(mean - self.target)
        passed = off <= self.margin
        if not self.is_share:
            off *= 100 / abs(self.target)
        return Judgement(spread(values, self.unit, self.digits), passed, mean, off)

    @property
    def is_share(self) -> bool:
        """Whether it tolerates points of a share."""
        return self.unit == "%" and self.absolute > 0


@dataclass(frozen=True)
class Between:
    """A statistic of the runs (their mean, or the median) lies between two bounds."""

    low: float = -math.inf
    high: float = math.inf
    unit: str = ""
    digits: int = 2
    median: bool = False

    @property
    def expected(self) -> str:
        low, high = (_text(bound, "", self.digits) for bound in (self.low, self.high))
        if math.isinf(self.high):
            text = f"at least {low}"
        elif math.isinf(self.low):
            text = f"at most {high}"
        else:
            text = f"{low} to {high}"
        return f"{text} {self.unit}".rstrip()

    @property
    def tolerance(self) -> str:
        return "the median counts" if self.median else ""

    def judge(self, values: Sequence[float]) -> Judgement:
        value = statistics.median(values) if self.median else statistics.fmean(values)
        got = spread(values, self.unit, self.digits, value)
        return Judgement(got, self.low <= value <= self.high, value)


@dataclass(frozen=True)
class SameBranches:
    """Runs of a bistable system take each branch as often as the reference, with similar values.

    ``reference``: its runs. ``threshold``: separates the upper branch from the lower. The
    frequencies pass unless Fisher's exact test distinguishes them (two-sided, p < 0.05). The result
    says which frequencies would also pass, which are many if the reference has few runs. Each run
    of the reference must be within the range of the simulated runs on its branch, widened by
    ``relative`` or ``absolute``. Means over both branches are not compared, because no run is near
    them.
    """

    reference: tuple[float, ...]
    threshold: float
    relative: float = 0.25
    absolute: float = 0.3
    unit: str = "Mbit/s"
    digits: int = 1

    @property
    def expected(self) -> str:
        return self._words(self.reference)

    @property
    def tolerance(self) -> str:
        return (
            f"in our range ±{100 * self.relative:g} % or {self.absolute:g} {self.unit}; "
            f"branches: Fisher p ≥ {SIGNIFICANCE:g}"
        )

    def judge(self, values: Sequence[float]) -> Judgement:
        ups = sum(value >= self.threshold for value in values)
        expected_ups = sum(value >= self.threshold for value in self.reference)
        p, told = _as_often(ups, len(values), expected_ups, len(self.reference))
        alike = all(self._within_range(run, values) for run in self.reference)
        got = f"{self._words(values)}; {told}"
        return Judgement(got, p >= SIGNIFICANCE and alike, statistics.median(values))

    def _within_range(self, run: float, values: Sequence[float]) -> bool:
        same = [v for v in values if (v >= self.threshold) == (run >= self.threshold)]
        if not same:  # How seldom a branch is taken is the affair of Fisher's test.
            return True
        margin = max(self.relative * run, self.absolute)
        return min(same) - margin <= run <= max(same) + margin

    def _words(self, values: Sequence[float]) -> str:
        parts = []
        for name, part in (
            ("above", [value for value in values if value >= self.threshold]),
            ("below", [value for value in values if value < self.threshold]),
        ):
            if part:
                low, high = min(part), max(part)
                span = f"{low:.{self.digits}f}" + (
                    f"–{high:.{self.digits}f}" if len(part) > 1 else ""
                )
                parts.append(f"{len(part)}/{len(values)} {name}: {span}")
        cut = f"cut {self.threshold:.{self.digits}f}"
        return f"{', '.join(parts)} {self.unit} ({cut})"


@dataclass(frozen=True)
class SameFrequency:
    """Runs exceed ``threshold`` as often as ``ups`` of ``runs`` did, by Fisher's exact test."""

    ups: int
    runs: int
    threshold: float
    unit: str = "Mbit/s"
    digits: int = 1

    @property
    def expected(self) -> str:
        return f"{self.ups}/{self.runs} above {_text(self.threshold, self.unit, self.digits)}"

    @property
    def tolerance(self) -> str:
        return f"Fisher p ≥ {SIGNIFICANCE:g}"

    def judge(self, values: Sequence[float]) -> Judgement:
        ups = sum(value >= self.threshold for value in values)
        p, told = _as_often(ups, len(values), self.ups, self.runs)
        got = f"{ups}/{len(values)} above; {told}"
        share = 100 * ups / len(values)
        off = abs(share - 100 * self.ups / self.runs)
        return Judgement(got, p >= SIGNIFICANCE, share, off)


def _as_often(ups: int, runs: int, expected_ups: int, expected_runs: int) -> tuple[float, str]:
    """Return the p-value of the observed frequency, and what else would pass, in words."""

    def p_value(count: int) -> float:
        ours = count, runs - count
        theirs = expected_ups, expected_runs - expected_ups
        return float(fisher_exact((ours, theirs)).pvalue)

    passing = [count for count in range(runs + 1) if p_value(count) >= SIGNIFICANCE]
    p = p_value(ups)
    return p, f"p {p:.2g} ({min(passing)} to {max(passing)} of {runs} would pass)"


def spread(values: Sequence[float], unit: str, digits: int, value: float | None = None) -> str:
    """Return the mean (or ``value``) in words, with the smallest and the largest value."""
    shown = statistics.fmean(values) if value is None else value
    text = f"{shown:.{digits}f}"
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    if low != high:
        text += f" ({low}–{high})"
    return f"{text} {unit}".rstrip()


def _text(value: float, unit: str, digits: int) -> str:
    return f"{value:.{digits}f} {unit}".rstrip()
