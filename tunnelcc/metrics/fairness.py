# SPDX-License-Identifier: GPL-2.0-only
"""Fairness of shares at a bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tunnelcc.metrics.counts import NAN


def jain_index(allocations: ArrayLike) -> float:
    """Return Jain's fairness index (Σx)² / (n·Σx²): 1/n if one flow has all, 1 for equal shares.

    Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation
    in Shared Computer Systems, DEC TR-301, 1984. ``allocations``: any unit, at least 0.
    """
    x = np.asarray(allocations, dtype=float)
    if x.size == 0 or not np.any(x):
        return NAN
    x = x / np.max(x)  # squares of huge or tiny values leave the range of a float
    return float(np.sum(x) ** 2 / (x.size * np.sum(x * x)))


def group_totals(values: ArrayLike, groups: Sequence[Any]) -> dict[Any, float]:
    """Return the sum of ``values`` (any unit) for each of ``groups``, in order of appearance.

    It adds the goodputs of a user or a carrier, for the fairness between users or carriers.
    """
    sums: dict[Any, float] = {}
    for group, value in zip(groups, np.asarray(values, dtype=float), strict=True):
        sums[group] = sums.get(group, 0.0) + float(value)
    return sums


def shares(allocations: ArrayLike) -> NDArray[np.float64]:
    """Return each share of the total, xᵢ / Σx. Shape as ``allocations``, any unit."""
    x = np.asarray(allocations, dtype=float)
    whole = np.sum(x)
    return x / whole if whole > 0 else np.full(x.shape, NAN)


def max_min_allocation(capacity: float, demands: ArrayLike) -> NDArray[np.float64]:
    """Return the max-min fair allocation of each flow on one link.

    A flow that demands less than an equal share gets its demand. The others divide the rest
    equally, and so on (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2).
    ``demands``: unit of ``capacity``, infinite for a flow without a limit. The result has the same
    shape.
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
    """Return each flow's allocation divided by its max-min fair one: 1 is exactly fair.

    This is the "MmF share" of Philip et al., Prudentia: Findings of an Internet Fairness Watchdog,
    SIGCOMM 2024. It is NaN if the fair allocation is 0. All three arguments have one unit, and the
    result has the shape of ``allocations``.
    """
    granted = max_min_allocation(capacity, demands)
    return np.asarray(allocations, dtype=float) / np.where(granted > 0, granted, NAN)


def harm(solo: Any, competing: Any, *, less_is_better: bool = False) -> Any:
    """Return the harm to a flow by its competitors: 0 is none, 1 means the flow gets nothing.

    (solo − competing) / solo if more is better (goodput), (competing − solo) / competing if less is
    better (delay, completion time): Ware et al., Beyond Jain's Fairness Index: Setting the Bar for
    the Deployment of Congestion Control Algorithms, HotNets 2019, section 3. Below 0 the
    competitors help. Arguments: numbers, arrays or DataArrays of one unit and shape.
    """
    if less_is_better:
        return (competing - solo) / competing
    return (solo - competing) / solo
