# SPDX-License-Identifier: GPL-2.0-only
"""Claims that a paper makes without a number, judged on the means of the runs.

A claim along an axis is judged for each combination of the other axes, and holds if it holds in
all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tunnelcc.papers.format import Claim
from tunnelcc.papers.points import Point
from tunnelcc.schema import units
from tunnelcc.schema.units import UnitError

# A step against the trend that is smaller than this part of the largest value is noise.
_NOISE = 0.03

Curve = Sequence[Point]


@dataclass(frozen=True)
class Judged:
    """A claim, whether it holds, and what the simulation has instead of words."""

    claim: Claim
    holds: bool
    got: str
    points: tuple[Point, ...]


def judge(claim: Claim, points: Sequence[Point], published: Mapping[int, float]) -> Judged:
    """Judge ``claim`` on ``points``; ``published``: values (SI) by id of the point."""
    if claim.kind == "ratio":
        holds, got = _ratio(claim, points, published)
    elif claim.axis is None:
        holds, got = _beside(claim, points)
    else:
        results = [_ALONG[claim.kind](claim, curve) for curve in curves(points, claim.axis)]
        holds = all(held for held, _ in results)
        got = "; ".join(dict.fromkeys(text for _, text in results))
    return Judged(claim, holds, got, tuple(points))


def curves(points: Sequence[Point], axis: str) -> list[list[Point]]:
    """Return the points along ``axis``, one list for each combination of the other axes."""
    grouped: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        others = tuple(value for name, value in point.axes.items() if name != axis)
        grouped.setdefault(others, []).append(point)
    return list(grouped.values())


def axis_number(text: str) -> float:
    """Return the number (SI) that a value of an axis stands for, NaN if it is a word."""
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
    """Write the least and the largest of some ratios."""
    low, high = (f"{bound:.2f}" for bound in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"


def _beside(claim: Claim, points: Sequence[Point]) -> tuple[bool, str]:
    """Compare two quantities at every point."""
    other = claim.than or claim.to or ""
    ratios = [_over(point.mean(claim.quantity), point.mean(other)) for point in points]
    got = f"{claim.quantity} / {other}: {span(ratios)}"
    if claim.kind == "larger":
        return all(ratio > 1 for ratio in ratios), got
    within = claim.within or 0
    return all(abs(ratio - 1) <= within for ratio in ratios), got


def _ratio(
    claim: Claim, points: Sequence[Point], published: Mapping[int, float]
) -> tuple[bool, str]:
    """Compare the ratio of two points with the published one."""
    pairs = [_ends(claim, curve) for curve in curves(points, claim.axis or "")]
    simulated = [_over(a.mean(claim.quantity), b.mean(claim.quantity)) for a, b in pairs]
    printed = [
        _over(published.get(id(a), math.nan), published.get(id(b), math.nan)) for a, b in pairs
    ]
    within = claim.within or 0
    holds = all(
        abs(ours / theirs - 1) <= within for ours, theirs in zip(simulated, printed, strict=True)
    )
    names = f"{claim.over} / {claim.under}"
    return holds, f"{names}: published {span(printed)}, simulated {span(simulated)}"


def _ends(claim: Claim, curve: Curve) -> tuple[Point, Point]:
    assert claim.axis is not None
    over, under = (
        next(point for point in curve if point.axes[claim.axis] == value)
        for value in (claim.over, claim.under)
    )
    return over, under


def _order(claim: Claim, curve: Curve) -> tuple[bool, str]:
    over, under = _ends(claim, curve)
    ratio = _over(over.mean(claim.quantity), under.mean(claim.quantity))
    return ratio > 1, f"{claim.over} / {claim.under}: {ratio:.2f}"


def _trend(claim: Claim, curve: Curve) -> tuple[bool, str]:
    sign = 1 if claim.kind == "rises" else -1
    means = [sign * point.mean(claim.quantity) for point in curve]
    noise = _NOISE * max(map(abs, means))
    steps = [later - sooner for sooner, later in itertools.pairwise(means)]
    holds = all(step >= -noise for step in steps) and means[-1] - means[0] > noise
    ratio = _over(abs(means[-1]), abs(means[0]))
    return holds, f"last / first: {ratio:.2f}"


def _flat(claim: Claim, curve: Curve) -> tuple[bool, str]:
    means = [point.mean(claim.quantity) for point in curve]
    ratio = _over(min(means), max(means))
    return ratio >= 1 - (claim.within or 0), f"least / largest: {ratio:.2f}"


def _power(claim: Claim, curve: Curve) -> tuple[bool, str]:
    """Fit a line to the logarithms."""
    assert claim.axis is not None
    assert claim.exponent is not None
    x = [axis_number(point.axes[claim.axis]) for point in curve]
    y = [point.mean(claim.quantity) for point in curve]
    if len(x) < 2 or not all(it > 0 and math.isfinite(it) for it in (*x, *y)):
        return False, "no exponent"
    slope = float(np.polyfit(np.log(x), np.log(y), 1)[0])
    return abs(slope - claim.exponent) <= (claim.within or 0), f"exponent: {slope:.2f}"


def _knee(claim: Claim, curve: Curve) -> tuple[bool, str]:
    """Find the last value of the axis up to which all stay near the largest."""
    assert claim.axis is not None
    means = [point.mean(claim.quantity) for point in curve]
    enough = (1 - (claim.within or 0)) * max(means)
    last = None
    for point, value in zip(curve, means, strict=True):
        if value < enough:
            break
        last = point.axes[claim.axis]
    names = [point.axes[claim.axis] for point in curve]
    if last == names[-1]:
        return False, f"no knee up to {last}"
    return last == claim.at, f"knee: {last or 'before ' + names[0]}"


_ALONG: dict[str, Callable[[Claim, Curve], tuple[bool, str]]] = {
    "order": _order,
    "rises": _trend,
    "falls": _trend,
    "flat": _flat,
    "power": _power,
    "knee": _knee,
}


def _over(a: float, b: float) -> float:
    return a / b if b else math.inf if a > 0 else math.nan
