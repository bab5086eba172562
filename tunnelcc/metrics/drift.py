# SPDX-License-Identifier: GPL-2.0-only
"""Whether a rate still changes at the end of a run: then its mean is not that of a steady state.

The test is Geweke's (Evaluating the accuracy of sampling-based approaches to the calculation of
posterior moments, Bayesian Statistics 4, 1992): the difference of the means of two parts of a
series, divided by its standard error. The two parts are halves and not Geweke's first tenth and
last half, because a tenth of a run has too few cycles.

A rate remembers: cycles of a congestion control last for seconds, and flows that share a queue keep
unequal shares for several cycles. So the standard error comes from what the series does slowly:
from its projections on a few cosines, with the limit of Student's t for so few (Lazarus, Lewis,
Stock and Watson, HAR inference: recommendations for practice, Journal of Business & Economic
Statistics 36, 2018). Those with whole periods are taken, since a trend and a step have no part in
them. The shortest period is several integrated autocorrelation times long, which come from the
initial monotone sequence (Geyer, Practical Markov chain Monte Carlo, Statistical Science 7, 1992)
of the second half: in the first, what has not settled would count as memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tunnelcc.metrics.counts import NAN

#: Part of the time that is left out at the start: slow start is over, or soon forgotten.
START_UP = 0.1
#: A change of the mean that is smaller than this part of it is not told.
LEAST = 0.25
#: Shortest period of a cosine, in autocorrelation times.
PERIOD = 12.0
#: Samples that each half needs.
SAMPLES = 5
#: More samples of a half than this are averaged, to fewer than twice as many.
FINE = 100
#: Number of cosines → standard errors that a change needs: Student's t, two-sided, 5 %.
ERRORS = {
    2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
}  # fmt: skip

#: Flows of an entry of ``flows`` take turns, so of more than these only the sum is steady.
MOST_ALONE = 2
#: What a user can do about it.
ADVICE = (
    "A longer duration, with a longer warmup, shows where it settles, or that it was chance: few "
    "losses or cycles."
)


def change(rate: ArrayLike) -> Any:
    """Return by how much a rate changes between the halves of its time, as a part of its mean.

    ``rate``: shape (…, time), equidistant samples, any unit; the result has the shape (…). 0: by
    less than LEAST, or by no more than chance explains. NaN: there are too few samples to tell, or
    all are 0.
    """
    series = np.asarray(rate, dtype=float)
    rows = series.reshape(math.prod(series.shape[:-1]), series.shape[-1])
    return np.array([_change(row) for row in rows]).reshape(series.shape[:-1])[()]


def _change(series: Any) -> float:
    series = series[math.ceil(START_UP * len(series)) :]
    half = len(series) // 2
    if half < SAMPLES or not (mean := _mean(series)) > 0:
        return NAN
    halves = np.stack([series[:half], series[-half:]])
    first, last = _mean(halves).tolist()
    difference = last - first
    if abs(difference) <= LEAST * mean:
        return 0.0
    fine = _thin(halves)
    count = int(fine.size / (PERIOD * _correlation_time(fine[1])))
    count = min(max(count, min(ERRORS)), max(ERRORS))
    angles = 2 * math.pi / fine.size * (np.arange(fine.size) + 0.5)
    # A cosine's mean square is 1/2. The difference of two halves has twice the error of their mean.
    projections = np.cos(np.arange(1, count + 1)[:, np.newaxis] * angles) @ fine.ravel() / fine.size
    error = 2 * math.sqrt(2 * _mean(projections * projections))
    return difference / mean if abs(difference) > ERRORS[count] * error else 0.0


def _thin(halves: Any) -> Any:
    """Average samples where there are many. The first samples of a half may be left out."""
    length = max(halves.shape[-1] // FINE, 1)
    count = halves.shape[-1] // length
    return _mean(halves[:, halves.shape[-1] - count * length :].reshape(2, count, length))


def _correlation_time(series: Any) -> float:
    """Return the integrated autocorrelation time in samples: 1 if each is independent."""
    deviations = series - _mean(series)
    products = np.correlate(deviations, deviations, "full")[len(series) - 1 :]
    if products[0] <= 0:
        return 1.0
    pairs = products[: len(products) - len(products) % 2].reshape(-1, 2).sum(axis=-1)
    (negative,) = (pairs <= 0).nonzero()
    initial = np.minimum.accumulate(pairs[: negative[0]] if negative.size else pairs)
    return max(2 * float(initial.sum() / products[0]) - 1, 1.0)


def _mean(values: Any) -> Any:
    """Mean over the last dimension. The arrays are small: the method costs more than the sum."""
    return np.add.reduce(values, axis=-1) / values.shape[-1]


def at_point(changes: ArrayLike, goodputs: ArrayLike) -> float:
    """Return the largest change of a flow at a point if half of its runs drift, or else 0.

    ``changes``: ``flow_drift``, shape (seed, flow). ``goodputs``: shape (seed,); NaN: no run.
    """
    most = np.nan_to_num(np.abs(np.asarray(changes, dtype=float))).max(axis=-1, initial=0.0)
    runs = np.isfinite(np.asarray(goodputs, dtype=float)).sum()
    return float(most.max(initial=0.0)) if 2 * (most > 0).sum() >= runs else 0.0
