# SPDX-License-Identifier: GPL-2.0-only
"""Statistics of samples over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tunnelcc.metrics.counts import NAN


def valid(samples: ArrayLike, time: ArrayLike, since: float) -> NDArray[np.float64]:
    """Return the samples after ``since`` (s) that are above 0 (0: not measured yet)."""
    values, times = np.asarray(samples, dtype=float), np.asarray(time, dtype=float)
    kept: NDArray[np.float64] = values[(times > since) & (values > 0)]
    return kept


def mean(samples: ArrayLike) -> float:
    """Return the arithmetic mean of equidistant samples: the mean over time."""
    values = np.asarray(samples, dtype=float)
    return float(values.sum()) / values.size if values.size else NAN


def percentile(samples: ArrayLike, percent: float) -> float:
    """Return the percentile ``percent`` of the samples, with linear interpolation.

    It is numpy's, bit for bit, which takes ten times as long and imports masked arrays.
    """
    values = np.sort(np.asarray(samples, dtype=float))
    if not values.size or np.isnan(values[-1]):
        return NAN
    place = (values.size - 1) * (percent / 100)
    below = math.floor(place)
    low, high = float(values[below]), float(values[min(below + 1, values.size - 1)])
    share = place - below
    return high - (high - low) * (1 - share) if share >= 0.5 else low + (high - low) * share


def median(samples: ArrayLike) -> float:
    """Return the median of the samples, NaN without any. See percentile()."""
    values = np.sort(np.asarray(samples, dtype=float))
    if not values.size or np.isnan(values[-1]):
        return NAN
    middle = float(values[values.size // 2])
    return middle if values.size % 2 else (float(values[values.size // 2 - 1]) + middle) / 2


def mean_srtt(srtt: ArrayLike, time: ArrayLike, since: float) -> float:
    """Return the mean of a connection's smoothed RTT (s) after ``since``."""
    return mean(valid(srtt, time, since))


def p95_srtt(srtt: ArrayLike, time: ArrayLike, since: float) -> float:
    """Return the 95th percentile of a connection's smoothed RTT (s) after ``since``."""
    return percentile(valid(srtt, time, since), 95)


def total(values: Sequence[float]) -> float:
    """Return the sum, with rounding that does not depend on the order."""
    return math.fsum(values)
