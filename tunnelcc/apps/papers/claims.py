# SPDX-License-Identifier: GPL-2.0-only
"""Claims that many papers make. A paper's file may have others, see ``declare.Claim``.

A claim along an axis is judged for each combination of the other axes, and holds if it holds in all
of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tunnelcc.apps.papers.declare import Claim, Where
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import units

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

#: A step against the trend that is smaller than this part of the largest value is noise.
_NOISE = 0.03

#: Judges the means along an axis: value of the axis → mean, SI.
OfCurve = Callable[["pd.Series[float]"], tuple[bool, str]]


def along(text: str, quantity: str, axis: str, judge: OfCurve, where: Where | None = None) -> Claim:
    """Return a claim on each curve of a quantity over an axis."""

    def of_all(means: pd.DataFrame) -> tuple[bool, str]:
        found = [judge(curve[quantity]) for curve in curves(means, axis)]
        return all(holds for holds, _ in found), "; ".join(dict.fromkeys(got for _, got in found))

    return Claim(text, quantity, of_all, where or {}, axis)


def rises(text: str, quantity: str, axis: str, where: Where | None = None) -> Claim:
    """Return the claim that a quantity rises along an axis, but for noise of 3 %."""
    return along(text, quantity, axis, lambda means: _trend(1, list(means)), where)


def falls(text: str, quantity: str, axis: str, where: Where | None = None) -> Claim:
    """Return the claim that a quantity falls along an axis, but for noise of 3 %."""
    return along(text, quantity, axis, lambda means: _trend(-1, list(means)), where)


def flat(text: str, quantity: str, axis: str, within: float, where: Where | None = None) -> Claim:
    """Return the claim that the smallest value is less than ``within`` below the largest."""

    def judge(means: pd.Series[float]) -> tuple[bool, str]:
        ratio = over(min(means), max(means))
        return ratio >= 1 - within, f"least / largest: {ratio:.2f}"

    return along(text, quantity, axis, judge, where)


def order(
    text: str, quantity: str, places: str, where: Where | None = None, *, factor: float = 1
) -> Claim:
    """Return the claim that a quantity is larger at one place of an axis than at another.

    ``places``: such as ``cc: bbr > cubic``. ``factor``: more than so many times as large.
    """
    axis, more, less = _places(places, " > ")

    def judge(means: pd.Series[float]) -> tuple[bool, str]:
        ratio = over(means[more], means[less])
        return ratio > factor, f"{more} / {less}: {ratio:.2f}"

    claim = along(text, quantity, axis, judge, where)
    return replace(claim, at=(more, less))


def ratio(
    text: str, quantity: str, places: str, within: float, where: Where | None = None
) -> Claim:
    """Return the claim that the ratio of two places is the published one, ± ``within``.

    ``places``: such as ``cc: bbr / cubic``.
    """
    axis, *ends = _places(places, " / ")

    def judge(means: pd.DataFrame) -> tuple[bool, str]:
        ours, theirs = (
            [over(curve[name][ends[0]], curve[name][ends[1]]) for curve in curves(means, axis)]
            for name in (quantity, f"published {quantity}")
        )
        holds = all(abs(a / b - 1) <= within for a, b in zip(ours, theirs, strict=True))
        return holds, f"{' / '.join(ends)}: published {span(theirs)}, simulated {span(ours)}"

    return Claim(text, quantity, judge, where or {}, axis, tuple(ends))


def _places(text: str, sign: str) -> tuple[str, str, str]:
    axis, _, ends = text.partition(": ")
    one, found, other = ends.partition(sign)
    if not found:
        raise ConfigError(Problem("places", text, f"an axis and two of its values: AXIS: A{sign}B"))
    return axis, one, other


def larger(
    text: str, quantity: str, than: str, where: Where | None = None, *, factor: float = 1
) -> Claim:
    """Return the claim that a quantity is more than ``factor`` times another one at every point."""
    return _beside(text, quantity, than, lambda ratio: ratio > factor, where)


def between(
    text: str, quantity: str, least: float, most: float, where: Where | None = None
) -> Claim:
    """Return the claim that a quantity, SI, is from ``least`` to ``most`` at every point."""

    def judge(means: pd.DataFrame) -> tuple[bool, str]:
        low, high = min(means[quantity]), max(means[quantity])
        return least <= low and high <= most, f"{low:.4g} to {high:.4g} (SI)"

    return Claim(text, quantity, judge, where or {})


def equal(text: str, quantity: str, to: str, within: float, where: Where | None = None) -> Claim:
    """Return the claim that a quantity equals another one, ± ``within``, at every point."""
    return _beside(text, quantity, to, lambda ratio: abs(ratio - 1) <= within, where)


def _beside(
    text: str, quantity: str, other: str, holds: Callable[[float], bool], where: Where | None
) -> Claim:
    def judge(means: pd.DataFrame) -> tuple[bool, str]:
        ratios = list(map(over, means[quantity], means[other]))
        return all(map(holds, ratios)), f"{quantity} / {other}: {span(ratios)}"

    return Claim(text, quantity, judge, where or {}, uses=(other,))


def _trend(sign: int, means: Sequence[float]) -> tuple[bool, str]:
    signed = [sign * mean for mean in means]
    noise = _NOISE * max(map(abs, signed))
    steps = [later - sooner for sooner, later in itertools.pairwise(signed)]
    holds = all(step >= -noise for step in steps) and signed[-1] - signed[0] > noise
    return holds, f"last / first: {over(abs(means[-1]), abs(means[0])):.2f}"


def curves(means: pd.DataFrame, axis: str) -> list[pd.DataFrame]:
    """Return the points along ``axis``, one table for each combination of the other axes."""
    others = [name for name in means.index.names if name != axis]
    if not others:
        return [means]
    return [curve.droplevel(others) for _, curve in means.groupby(level=others, sort=False)]


def axis_number(text: str) -> float:
    """Return the number (SI, or in BDPs) of an axis value, NaN if it is a word."""
    parsers = (units.parse_time, units.parse_rate, units.parse_size, units.parse_probability, float)
    for parse in parsers:
        try:
            return float(parse(text.removesuffix("bdp")))
        except ValueError:
            continue
    return math.nan


def span(values: Sequence[float]) -> str:
    """Write the smallest and the largest ratio."""
    low, high = (f"{bound:.2f}" for bound in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"


def over(a: float, b: float) -> float:
    """Return a / b; infinite or NaN where b is 0."""
    return a / b if b else math.inf if a > 0 else math.nan
