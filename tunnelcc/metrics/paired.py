# SPDX-License-Identifier: GPL-2.0-only
"""Differences of conditions that were run with the same seeds, and how well runs tell them.

Runs of one seed draw the same losses, so a difference is known better than the two means are.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tunnelcc.metrics.confidence import student

#: The confidence with which all differences of a table hold together.
CONFIDENCE = 0.95
# Fewer pairs than this tell nothing of how the runs are correlated.
_LEAST_PAIRS = 5
# Pairs that divide the variance by less than this help too little to speak of.
_LEAST_GAIN = 1.5
# A look after the first has at least this many times the runs of the one before, and at most.
_LEAST_GROWTH, _MOST_GROWTH = 1.3, 10.0
# The next look is planned for this part of the width: the variance is only estimated.
_AIM = 0.95


@dataclass(frozen=True)
class Difference:
    """The mean of a condition less that of another, from ``pairs`` runs with the same seeds.

    ``is_ratio``: ``mean``, ``low`` and ``high`` are parts of the other's mean (−0.05: 5 % less),
    else they have the unit of the values. NaN: unknown, with fewer than two pairs. ``correlation``:
    of the runs of both, NaN if either does not vary. ``gain``: the variance that the difference of
    two separate means has, relative to that of pairs. ``is_cut``: the runs tell no low end, and
    ``low`` is where the condition has 0.
    """

    mean: float
    low: float
    high: float
    pairs: int
    is_ratio: bool
    correlation: float
    gain: float
    is_cut: bool = False

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def verdict(self) -> str:
        """``more`` or ``less`` if the interval is on one side of 0, ``same`` if all pairs are."""
        if self.low == self.high == 0:
            return "same"
        return "more" if self.low > 0 else "less" if self.high < 0 else "undecided"

    @property
    def is_helped(self) -> bool | None:
        """Whether pairs need clearly fewer runs than separate means do; None: too few pairs."""
        if self.pairs < _LEAST_PAIRS or np.isnan(self.gain):
            return None
        return self.gain >= _LEAST_GAIN


def difference(
    values: NDArray[np.float64],
    reference: NDArray[np.float64],
    confidence: float = CONFIDENCE,
    *,
    is_ratio: bool = True,
) -> Difference:
    """Return the difference of two conditions; shape (seed,) each. NaN in either leaves a pair out.

    The interval of the ratio of means is the set of ratios R for which Student's t-test of the
    pairs x − R·y does not reject the mean 0 (Fieller, Some Problems in Interval Estimation, 1954):
    it is exact for normal runs, and leaves out 1 just when the paired t-test of x − y rejects
    equality. If the reference may be 0, there is no such ratio, and the difference is absolute, as
    it is without ``is_ratio``.

    Where no run has a value below 0, no mean has one, and the interval ends there. The truth is
    never in what is cut off, so it holds as often as before. Logarithms would need no cut, but a
    flow that starves has a goodput of 0.

        >>> found = difference(np.array([9.0, 11, 10]), np.array([10.0, 12, 11.2]))
        >>> f"{found.mean:.1%} ({found.low:.1%} to {found.high:.1%}): {found.verdict}"
        '-9.6% (-12.7% to -6.5%): less'
    """
    both = np.isfinite(values) & np.isfinite(reference)
    x, y = values[both], reference[both]
    pairs = int(x.size)
    nan = float("nan")
    if pairs < 2:
        return Difference(nan, nan, nan, pairs, True, nan, nan)
    xx, xy, yy = np.cov(x, y).ravel()[[0, 1, 3]]
    t = float(student(pairs - 1, confidence))
    correlation = float(xy / np.sqrt(xx * yy)) if xx > 0 and yy > 0 else nan
    mx, my = float(x.mean()), float(y.mean())
    of_pairs = float(np.var(x - y, ddof=1))
    a = my**2 - t**2 * yy / pairs
    if a <= 0 or not is_ratio:
        half = t * np.sqrt(of_pairs / pairs)
        gain = float((xx + yy) / of_pairs) if of_pairs > 0 else nan
        mean = mx - my
        low, is_cut = _cut(mean - half, -my, x, y)
        return Difference(mean, low, mean + half, pairs, False, correlation, gain, is_cut)
    ratio = mx / my
    b, c = mx * my - t**2 * xy / pairs, mx**2 - t**2 * xx / pairs
    half = np.sqrt(max(b * b - a * c, 0.0)) / a
    low, high = (b / a - half - 1, b / a + half - 1)
    if np.array_equal(x, y):
        low = high = 0.0
    alone = xx + ratio**2 * yy
    together = alone - 2 * ratio * xy
    gain = float(alone / together) if together > 1e-12 * alone > 0 else nan
    low, is_cut = _cut(float(low), -1.0, x, y)
    return Difference(ratio - 1, low, float(high), pairs, True, correlation, gain, is_cut)


def _cut(low: float, least: float, *values: NDArray[np.float64]) -> tuple[float, bool]:
    """Return the low end of an interval, ``least`` if the values allow nothing below it."""
    is_cut = low < least and min(float(it.min()) for it in values) >= 0
    return (least if is_cut else low), is_cut


def each_of(count: int, confidence: float = CONFIDENCE) -> float:
    """Return the confidence of each of ``count`` intervals that hold together (Bonferroni).

    Law, Simulation Modeling and Analysis, 5th edition (2015), 10.3.1, compares systems with a
    standard in this way.
    """
    return 1 - (1 - confidence) / max(count, 1)


def at_look(look: int, confidence: float = CONFIDENCE) -> float:
    """Return the confidence of the intervals at a look, the first of which is 1.

    The errors α/2, α/4, … of the looks add up to less than α, so that intervals hold at all looks
    together, however many there are: a spending function of Lan and DeMets, Discrete sequential
    boundaries for clinical trials (1983), without their use of what looks have in common.
    """
    return float(1 - (1 - confidence) / 2**look)


def next_pairs(found: Difference, precision: float, used: float, confidence: float) -> int:
    """Return with how many pairs the next look probably finds the half width ``precision``.

    ``used``: the confidence of ``found``. ``confidence``: that of the next look.
    """
    least = max(found.pairs + 1, int(np.ceil(_LEAST_GROWTH * found.pairs)))
    most = int(_MOST_GROWTH * max(found.pairs, 2))
    if not np.isfinite(found.half_width) or not found.is_ratio:
        return most
    deviation = found.half_width * np.sqrt(found.pairs) / float(student(found.pairs - 1, used))

    def is_enough(count: int) -> bool:
        width = float(student(count - 1, confidence)) * deviation / np.sqrt(count)
        return bool(width <= _AIM * precision)

    counts = range(least, most)
    return least + bisect.bisect_left(counts, True, key=is_enough)
