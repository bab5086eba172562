# SPDX-License-Identifier: GPL-2.0-only
"""Metrics as the field defines them, on plain numbers in SI units.

A metric of nothing (no flow, no sample, a duration of 0) is NaN, never 0 or an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

NAN = float("nan")


def goodput(delivered_bytes: float, seconds: float) -> float:
    """Return application bytes read by the receiver per time, 8·B/t, in bit/s.

    RFC 2647, section 3.17: bits forwarded to the right destination, retransmissions not counted.
    """
    return 8 * delivered_bytes / seconds if seconds > 0 else NAN


def jain_index(shares: ArrayLike) -> float:
    """Return Jain's fairness index (Σx)² / (n·Σx²), 1/n for one hog to 1 for equal shares.

    Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems, DEC TR-301, 1984. ``shares``: any unit, at least 0.
    """
    x = np.asarray(shares, dtype=float)
    if x.size == 0 or not np.any(x):
        return NAN
    x = x / np.max(x)  # squares of huge or tiny values leave the range of a float
    return float(np.sum(x) ** 2 / (x.size * np.sum(x * x)))


def retransmission_ratio(retransmits: float, segments: float) -> float:
    """Return retransmitted segments per data segment sent (retransmissions included), 0 to 1."""
    return retransmits / segments if segments > 0 else NAN


def loss_rate(lost: float, offered: float) -> float:
    """Return lost packets per packet offered to the path, 0 to 1 (RFC 7680, ratio form)."""
    return lost / offered if offered > 0 else NAN


def efficiency(application_bytes: float, wire_bytes: float) -> float:
    """Return application bytes read per IP byte sent across the path, 0 to 1."""
    return application_bytes / wire_bytes if wire_bytes > 0 else NAN


def valid(samples: ArrayLike, time: ArrayLike, since: float) -> NDArray[np.float64]:
    """Return the samples taken after ``since`` (s) that are more than 0 (0: not measured yet)."""
    values, times = np.asarray(samples, dtype=float), np.asarray(time, dtype=float)
    kept: NDArray[np.float64] = values[(times > since) & (values > 0)]
    return kept


def mean(samples: ArrayLike) -> float:
    """Return the arithmetic mean of equidistant samples: the mean over time."""
    values = np.asarray(samples, dtype=float)
    return float(np.mean(values)) if values.size else NAN


def percentile(samples: ArrayLike, percent: float) -> float:
    """Return the value that ``percent`` of the samples do not exceed, between samples linear."""
    values = np.asarray(samples, dtype=float)
    return float(np.percentile(values, percent)) if values.size else NAN


def total(values: Sequence[float]) -> float:
    """Return the sum without rounding errors that depend on the order."""
    return math.fsum(values)
