# SPDX-License-Identifier: GPL-2.0-only
"""How flows divide a bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tunnelcc.metrics.counts import NAN


def jain_index(allocations: ArrayLike) -> float:
    """Return Jain's fairness index (Σx)² / (n·Σx²), 1/n for one hog to 1 for equal parts.

    Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems, DEC TR-301, 1984. ``allocations``: any unit, at least 0.
    """
    x = np.asarray(allocations, dtype=float)
    if x.size == 0 or not np.any(x):
        return NAN
    x = x / np.max(x)  # squares of huge or tiny values leave the range of a float
    return float(np.sum(x) ** 2 / (x.size * np.sum(x * x)))


def group_totals(values: ArrayLike, groups: Sequence[Any]) -> dict[Any, float]:
    """Return the sum of ``values`` (any unit) for each of ``groups``, in order of appearance.

    Of goodputs by user or by carrier it makes what fairness between those is measured on.
    """
    sums: dict[Any, float] = {}
    for group, value in zip(groups, np.asarray(values, dtype=float), strict=True):
        sums[group] = sums.get(group, 0.0) + float(value)
    return sums


def shares(allocations: ArrayLike) -> NDArray[np.float64]:
    """Return each part of the whole, xᵢ / Σx; shape as ``allocations``, any unit."""
    x = np.asarray(allocations, dtype=float)
    whole = np.sum(x)
    return x / whole if whole > 0 else np.full(x.shape, NAN)


def max_min_allocation(capacity: float, demands: ArrayLike) -> NDArray[np.float64]:
    """Return what each flow gets of one link if the least is made as large as can be.

    Whoever wants less than an equal part gets what it wants; the others divide the rest equally,
    and so on (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2). ``demands``:
    unit of ``capacity``, infinite for a flow that takes what it gets; result: the same shape.
    """
    wanted = np.asarray(demands, dtype=float)
    granted = np.empty_like(wanted)
    left = capacity
    for rank, flow in enumerate(np.argsort(wanted)):
        granted[flow] = min(wanted[flow], left / (wanted.size - rank))
        left -= granted[flow]
    return granted


def max_min_shares(
    allocations: ArrayLike, capacity: float, demands: ArrayLike
) -> NDArray[np.float64]:
    """Return what each flow got of what max-min fairness would give it; 1: just that; NaN: nothing.

    The "MmF share" of Philip et al., Prudentia: Findings of an Internet Fairness Watchdog, SIGCOMM
    2024. All three in one unit; result: the shape of ``allocations``.
    """
    granted = max_min_allocation(capacity, demands)
    return np.asarray(allocations, dtype=float) / np.where(granted > 0, granted, NAN)


def harm(solo: Any, competing: Any, *, less_is_better: bool = False) -> Any:
    """Return how much worse off a flow is beside others than alone; 1: it gets nothing.

    (solo − competing) / solo where more is better (goodput), (competing − solo) / competing where
    less is (delay, completion time): Ware et al., Beyond Jain's Fairness Index: Setting the Bar
    for the Deployment of Congestion Control Algorithms, HotNets 2019, section 3. Below 0, company
    helped. Numbers, arrays or DataArrays of one unit and shape.
    """
    if less_is_better:
        return (competing - solo) / competing
    return (solo - competing) / solo
