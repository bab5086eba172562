# SPDX-License-Identifier: GPL-2.0-only
"""Fairness of shares at a bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tunnelcc.metrics.counts import NAN

# Share of a rate by which sums may be off.
_ROUNDING = 1e-12


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


def max_min_allocation(
    capacities: ArrayLike, demands: ArrayLike, crosses: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the max-min fair allocation of each flow, shape (flow,).

    All flows grow alike until one has what it demands, or a link is full, whose flows then stop
    (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2). ``capacities``: of one
    link, or shape (link,); ``demands``: shape (flow,), in the same unit, infinite for a flow
    without a limit; ``crosses``: shape (flow, link), whether the flow crosses the link; default:
    all flows cross all links.
    """
    wanted = np.asarray(demands, dtype=float)
    sizes = np.atleast_1d(np.asarray(capacities, dtype=float))
    on_link = np.ones((wanted.size, sizes.size)) if crosses is None else np.asarray(crosses, float)
    granted, left = np.zeros(wanted.size), sizes.copy()
    growing = np.full(wanted.size, fill_value=True)
    while growing.any():
        flows = growing @ on_link
        shares = np.divide(left, flows, out=np.full(sizes.size, np.inf), where=flows > 0)
        step = min(shares.min(initial=np.inf), (wanted - granted)[growing].min())
        granted[growing] += step
        if not np.isfinite(step):
            break
        left -= step * flows
        is_full = (flows > 0) & (left <= _ROUNDING * sizes)
        has_all = granted >= wanted * (1 - _ROUNDING)
        granted[has_all] = wanted[has_all]
        growing &= ~has_all & ~on_link[:, is_full].any(axis=1)
    return granted


def max_min_shares(allocations: ArrayLike, fair: ArrayLike) -> NDArray[np.float64]:
    """Return each flow's allocation divided by its max-min fair one: 1 is exactly fair.

    This is the "MmF share" of Philip et al., Prudentia: Findings of an Internet Fairness Watchdog,
    SIGCOMM 2024. It is NaN if the fair allocation is 0. Both arguments have one unit, and the
    result has their shape.
    """
    granted = np.asarray(fair, dtype=float)
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
