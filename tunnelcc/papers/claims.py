# SPDX-License-Identifier: GPL-2.0-only
"""Claims of a paper without a number, judged on the means of the runs.

A claim along an axis is judged for each combination of the other axes. It holds if it holds in all
of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.papers.points import Point
from tunnelcc.papers.values import Fraction, Name, Prose, Where
from tunnelcc.schema import Model, choice, units
from tunnelcc.schema.units import UnitError

# A step against the trend that is smaller than this part of the largest value is noise.
_NOISE = 0.03

Curve = Sequence[Point]
#: Published values (SI) by id of the point.
Published = Mapping[int, float]
#: Whether a claim holds, and what the simulation has instead of words.
Verdict = tuple[bool, str]

#: Kind → the keys that it needs.
KINDS = {
    "order": ("axis", "over", "under"),
    "ratio": ("axis", "over", "under", "within"),
    "rises": ("axis",),
    "falls": ("axis",),
    "flat": ("axis", "within"),
    "power": ("axis", "exponent", "within"),
    "knee": ("axis", "at", "within"),
    "larger": ("than",),
    "equal": ("to", "within"),
}


class Claim(Model):
    """A statement of the paper that can be false, but has no printed number.

    ``kind`` decides which of the keys behind ``where`` it has: scenarios/papers/README.md.
    """

    kind: Annotated[str, choice(*KINDS)]
    text: Prose
    quantity: Name
    where: Where = Field(default_factory=dict)
    axis: Name = ""
    over: Prose = ""
    under: Prose = ""
    at: Prose = ""
    than: Name = ""
    to: Name = ""
    exponent: float = math.nan
    within: Fraction = math.nan

    @model_validator(mode="after")
    def _check(self) -> Claim:
        keys = KINDS[self.kind]
        given = self.model_fields_set - {"kind", "text", "quantity", "where"}
        for key in sorted(given ^ set(keys)):
            value = getattr(self, key) if key in given else MISSING
            raise ConfigError(Problem(key, value, f"for {self.kind} the keys {', '.join(keys)}"))
        return self


@dataclass(frozen=True)
class Judged:
    """A claim, whether it holds, and the simulated numbers behind this."""

    claim: Claim
    holds: bool
    got: str
    points: tuple[Point, ...]


def judge(claim: Claim, points: Sequence[Point], published: Published) -> Judged:
    """Judge ``claim`` on ``points``."""
    if claim.kind in _OF_CURVE:
        found = [_OF_CURVE[claim.kind](claim, curve) for curve in curves(points, claim.axis)]
        holds = all(held for held, _ in found)
        got = "; ".join(dict.fromkeys(text for _, text in found))
    elif claim.kind == "ratio":
        holds, got = _judge_ratio(claim, curves(points, claim.axis), published)
    else:
        other = claim.than or claim.to
        ratios = [_over(point.mean(claim.quantity), point.mean(other)) for point in points]
        holds = all(it > 1 if claim.than else abs(it - 1) <= claim.within for it in ratios)
        got = f"{claim.quantity} / {other}: {span(ratios)}"
    return Judged(claim, holds, got, tuple(points))


def curves(points: Sequence[Point], axis: str) -> list[list[Point]]:
    """Return the points along ``axis``, one list for each combination of the other axes."""
    grouped: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        others = tuple(value for name, value in point.axes.items() if name != axis)
        grouped.setdefault(others, []).append(point)
    return list(grouped.values())


def axis_number(text: str) -> float:
    """Return the number (SI, or in BDPs) of an axis value, NaN if it is a word."""
    parsers = (units.parse_time, units.parse_rate, units.parse_size, units.parse_probability, float)
    for parse in parsers:
        try:
            return float(parse(text.removesuffix("bdp")))
        except (UnitError, ValueError):
            continue
    return math.nan


def span(values: Sequence[float]) -> str:
    """Write the smallest and the largest ratio."""
    low, high = (f"{bound:.2f}" for bound in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"


def _judge_ratio(claim: Claim, found: Sequence[Curve], published: Published) -> Verdict:
    ours = [_ratio_of_ends(claim, curve) for curve in found]
    theirs = [_ratio_of_ends(claim, curve, published) for curve in found]
    holds = all(abs(a / b - 1) <= claim.within for a, b in zip(ours, theirs, strict=True))
    got = f"{claim.over} / {claim.under}: published {span(theirs)}, simulated {span(ours)}"
    return holds, got


def _judge_order(claim: Claim, curve: Curve) -> Verdict:
    ratio = _ratio_of_ends(claim, curve)
    return ratio > 1, f"{claim.over} / {claim.under}: {ratio:.2f}"


def _judge_trend(claim: Claim, curve: Curve) -> Verdict:
    sign = 1 if claim.kind == "rises" else -1
    means = [sign * mean for mean in _means(claim, curve)]
    noise = _NOISE * max(map(abs, means))
    steps = [later - sooner for sooner, later in itertools.pairwise(means)]
    holds = all(step >= -noise for step in steps) and means[-1] - means[0] > noise
    return holds, f"last / first: {_over(abs(means[-1]), abs(means[0])):.2f}"


def _judge_flat(claim: Claim, curve: Curve) -> Verdict:
    means = _means(claim, curve)
    ratio = _over(min(means), max(means))
    return ratio >= 1 - claim.within, f"least / largest: {ratio:.2f}"


def _judge_power(claim: Claim, curve: Curve) -> Verdict:
    """Fit a line to the logarithms."""
    x, y = [axis_number(point.axes[claim.axis]) for point in curve], _means(claim, curve)
    if len(x) < 2 or not all(it > 0 and math.isfinite(it) for it in (*x, *y)):
        return False, "no exponent"
    slope = float(np.polyfit(np.log(x), np.log(y), 1)[0])
    return abs(slope - claim.exponent) <= claim.within, f"exponent: {slope:.2f}"


def _judge_knee(claim: Claim, curve: Curve) -> Verdict:
    """Find the last value of the axis up to which all values stay near the largest."""
    means = _means(claim, curve)
    enough = (1 - claim.within) * max(means)
    places = [point.axes[claim.axis] for point in curve]
    near = sum(1 for _ in itertools.takewhile(lambda mean: mean >= enough, means))
    if near == len(curve):
        return False, f"no knee up to {places[-1]}"
    last = places[near - 1] if near else None
    return last == claim.at, f"knee: {last or 'before ' + places[0]}"


_OF_CURVE: Mapping[str, Callable[[Claim, Curve], Verdict]] = {
    "order": _judge_order, "rises": _judge_trend, "falls": _judge_trend, "flat": _judge_flat,
    "power": _judge_power, "knee": _judge_knee,
}  # fmt: skip


def _means(claim: Claim, curve: Curve) -> list[float]:
    return [point.mean(claim.quantity) for point in curve]


def _ratio_of_ends(claim: Claim, curve: Curve, published: Published | None = None) -> float:
    """Return the ratio at ``over`` and ``under`` of simulated, or of ``published`` values."""
    at = {point.axes[claim.axis]: point for point in curve}
    over, under = (
        at[place].mean(claim.quantity)
        if published is None
        else published.get(id(at[place]), math.nan)
        for place in (claim.over, claim.under)
    )
    return _over(over, under)


def _over(a: float, b: float) -> float:
    return a / b if b else math.inf if a > 0 else math.nan
