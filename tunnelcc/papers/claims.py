# SPDX-License-Identifier: GPL-2.0-only
"""Claims of a paper without a number, judged on the means of the runs.

A claim along an axis is judged for each combination of the other axes. It holds if it holds in all
of them.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Union

import numpy as np
from pydantic import Field

from tunnelcc.papers.points import Point
from tunnelcc.papers.values import Fraction, Name, Prose, Where
from tunnelcc.schema import Model, units
from tunnelcc.schema.units import UnitError

# A step against the trend that is smaller than this part of the largest value is noise.
_NOISE = 0.03

Curve = Sequence[Point]
#: Published values (SI) by id of the point.
Published = Mapping[int, float]
#: Whether a claim holds, and what the simulation has instead of words.
Verdict = tuple[bool, str]


class Claim(Model):
    """A statement of the paper that can be false, but has no printed number."""

    kind: str
    text: Prose
    quantity: Name
    where: Where = Field(default_factory=dict)

    @abstractmethod
    def judge(self, points: Curve, published: Published) -> Verdict:
        """Return the judgement from the simulated points."""


class Larger(Claim):
    """The quantity is larger than another one at every point."""

    kind: Literal["larger"]
    than: Name

    def judge(self, points: Curve, published: Published) -> Verdict:
        """Return the ratios."""
        ratios = _ratios(points, self.quantity, self.than)
        return all(it > 1 for it in ratios), f"{self.quantity} / {self.than}: {span(ratios)}"


class Equal(Claim):
    """The quantity equals another one at every point, ± ``within``."""

    kind: Literal["equal"]
    to: Name
    within: Fraction

    def judge(self, points: Curve, published: Published) -> Verdict:
        """Return the ratios."""
        ratios = _ratios(points, self.quantity, self.to)
        holds = all(abs(it - 1) <= self.within for it in ratios)
        return holds, f"{self.quantity} / {self.to}: {span(ratios)}"


class AlongAxis(Claim):
    """A claim on each curve along an axis."""

    PLACES: ClassVar[tuple[str, ...]] = ()  #: keys that are values of the axis

    axis: Name

    def judge(self, points: Curve, published: Published) -> Verdict:
        """Return the findings for every curve."""
        results = [self.judge_curve(curve) for curve in curves(points, self.axis)]
        got = "; ".join(dict.fromkeys(text for _, text in results))
        return all(held for held, _ in results), got

    def judge_curve(self, curve: Curve) -> Verdict:
        """Return the finding for one curve."""
        raise AssertionError(f"{self.kind} judges all curves at once")

    def means(self, curve: Curve) -> list[float]:
        """Return the quantity along a curve, SI."""
        return [point.mean(self.quantity) for point in curve]


class Ends(AlongAxis):
    """A claim on two points of a curve."""

    PLACES: ClassVar[tuple[str, ...]] = ("over", "under")

    over: Prose
    under: Prose

    def ratio(self, curve: Curve, values: Mapping[int, float]) -> float:
        """Return the ratio of the values at both points; ``values``: by id of the point."""
        at = {point.axes[self.axis]: values.get(id(point), math.nan) for point in curve}
        return _over(at[self.over], at[self.under])

    def simulated_ratio(self, curve: Curve) -> float:
        """Return the simulated ratio."""
        values = zip(curve, self.means(curve), strict=True)
        return self.ratio(curve, {id(point): mean for point, mean in values})


class Order(Ends):
    """The quantity is larger at ``over`` than at ``under``."""

    kind: Literal["order"]

    def judge_curve(self, curve: Curve) -> Verdict:
        """Return the ratio of both."""
        ratio = self.simulated_ratio(curve)
        return ratio > 1, f"{self.over} / {self.under}: {ratio:.2f}"


class Ratio(Ends):
    """The ratio of the quantity at ``over`` and ``under`` is the published one, ± ``within``."""

    kind: Literal["ratio"]
    within: Fraction

    def judge(self, points: Curve, published: Published) -> Verdict:
        """Return both ratios."""
        found = curves(points, self.axis)
        ours = [self.simulated_ratio(curve) for curve in found]
        theirs = [self.ratio(curve, published) for curve in found]
        holds = all(abs(a / b - 1) <= self.within for a, b in zip(ours, theirs, strict=True))
        names = f"{self.over} / {self.under}"
        return holds, f"{names}: published {span(theirs)}, simulated {span(ours)}"


class Rises(AlongAxis):
    """The quantity rises along the axis, except for noise."""

    SIGN: ClassVar[int] = 1

    kind: Literal["rises"]

    def judge_curve(self, curve: Curve) -> Verdict:
        """Return the ratio of the ends."""
        means = [self.SIGN * mean for mean in self.means(curve)]
        noise = _NOISE * max(map(abs, means))
        steps = [later - sooner for sooner, later in itertools.pairwise(means)]
        holds = all(step >= -noise for step in steps) and means[-1] - means[0] > noise
        return holds, f"last / first: {_over(abs(means[-1]), abs(means[0])):.2f}"


class Falls(Rises):
    """The quantity falls along the axis, except for noise."""

    SIGN: ClassVar[int] = -1

    kind: Literal["falls"]  # type: ignore[assignment]


class Flat(AlongAxis):
    """The smallest value is less than ``within`` below the largest."""

    kind: Literal["flat"]
    within: Fraction

    def judge_curve(self, curve: Curve) -> Verdict:
        """Return the ratio of both."""
        means = self.means(curve)
        ratio = _over(min(means), max(means))
        return ratio >= 1 - self.within, f"least / largest: {ratio:.2f}"


class Power(AlongAxis):
    """The logarithmic slope of the quantity over the axis is ``exponent`` ± ``within``."""

    kind: Literal["power"]
    exponent: float
    within: Fraction

    def judge_curve(self, curve: Curve) -> Verdict:
        """Fit a line to the logarithms."""
        x, y = [axis_number(point.axes[self.axis]) for point in curve], self.means(curve)
        if len(x) < 2 or not all(it > 0 and math.isfinite(it) for it in (*x, *y)):
            return False, "no exponent"
        slope = float(np.polyfit(np.log(x), np.log(y), 1)[0])
        return abs(slope - self.exponent) <= self.within, f"exponent: {slope:.2f}"


class Knee(AlongAxis):
    """The quantity stays ``within`` of the largest up to ``at``, but not beyond."""

    PLACES: ClassVar[tuple[str, ...]] = ("at",)

    kind: Literal["knee"]
    at: Prose
    within: Fraction

    def judge_curve(self, curve: Curve) -> Verdict:
        """Find the last value of the axis up to which all values stay near the largest."""
        means = self.means(curve)
        enough = (1 - self.within) * max(means)
        places = [point.axes[self.axis] for point in curve]
        near = sum(1 for _ in itertools.takewhile(lambda mean: mean >= enough, means))
        if near == len(curve):
            return False, f"no knee up to {places[-1]}"
        last = places[near - 1] if near else None
        return last == self.at, f"knee: {last or 'before ' + places[0]}"


CLAIMS: tuple[type[Claim], ...] = (
    Order, Ratio, Larger, Equal, Rises, Falls, Flat, Power, Knee,
)  # fmt: skip
if TYPE_CHECKING:
    Claims = tuple[Claim, ...]
else:
    Claims = tuple[Annotated[Union[CLAIMS], Field(discriminator="kind")], ...]  # noqa: UP007


@dataclass(frozen=True)
class Judged:
    """A claim, whether it holds, and the simulated numbers behind this."""

    claim: Claim
    holds: bool
    got: str
    points: tuple[Point, ...]


def judge(claim: Claim, points: Sequence[Point], published: Published) -> Judged:
    """Judge ``claim`` on ``points``."""
    return Judged(claim, *claim.judge(points, published), tuple(points))


def curves(points: Sequence[Point], axis: str) -> list[list[Point]]:
    """Return the points along ``axis``, one list for each combination of the other axes."""
    grouped: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        others = tuple(value for name, value in point.axes.items() if name != axis)
        grouped.setdefault(others, []).append(point)
    return list(grouped.values())


def axis_number(text: str) -> float:
    """Return the number (SI) of an axis value, NaN if it is a word."""
    for parse in (units.parse_time, units.parse_rate, units.parse_size, units.parse_probability):
        try:
            return float(parse(text))
        except UnitError:
            continue
    try:
        return float(text)
    except ValueError:
        return math.nan


def span(values: Sequence[float]) -> str:
    """Write the smallest and the largest ratio."""
    low, high = (f"{bound:.2f}" for bound in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"


def _ratios(points: Curve, quantity: str, other: str) -> list[float]:
    return [_over(point.mean(quantity), point.mean(other)) for point in points]


def _over(a: float, b: float) -> float:
    return a / b if b else math.inf if a > 0 else math.nan
