# SPDX-License-Identifier: GPL-2.0-only
"""Fairness of shares at a bottleneck."""

from __future__ import annotations

import math
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
    if not x.any():
        return NAN
    x = x / x.max()  # squares of huge or tiny values leave the range of a float
    return float(x.sum() ** 2 / (x.size * (x * x).sum()))


def group_totals(values: ArrayLike, groups: Sequence[Any]) -> dict[Any, float]:
    """Return the sum of ``values`` (any unit) for each of ``groups``, in order of appearance.

    It adds the goodputs of a user or a carrier, for the fairness between users or carriers.
    """
    sums: dict[Any, float] = {}
    for group, value in zip(groups, np.asarray(values, dtype=float).tolist(), strict=True):
        sums[group] = sums.get(group, 0.0) + value
    return sums


def shares(allocations: ArrayLike) -> NDArray[np.float64]:
    """Return each share of the total, xᵢ / Σx. Shape as ``allocations``, any unit."""
    x = np.asarray(allocations, dtype=float)
    whole = x.sum()
    return x / whole if whole > 0 else np.full(x.shape, NAN)


def max_min_allocation(
    capacities: ArrayLike,
    demands: ArrayLike,
    crosses: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return the max-min fair allocation of each flow, shape (flow,).

    All flows grow alike until one has what it demands, or a link is full, whose flows then stop
    (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2). ``capacities``: of one
    link, or shape (link,); ``demands``: shape (flow,), in the same unit, infinite for a flow
    without a limit; ``crosses``: shape (flow, link), the share of the flow that crosses the link;
    default: all of all flows. ``counts``: how many equal flows each one stands for; default: one.
    """
    wanted: list[float] = np.asarray(demands, dtype=float).tolist()
    left = np.asarray(capacities, dtype=float).reshape(-1).tolist()
    full = [_ROUNDING * size for size in left]
    links = [dict.fromkeys(range(len(left)), 1.0)] * len(wanted)
    if crosses is not None:
        rows = np.asarray(crosses, dtype=float).tolist()
        links = [{link: share for link, share in enumerate(row) if share} for row in rows]
    alike = [1] * len(wanted) if counts is None else np.asarray(counts).tolist()
    if len(left) == 1 and min(wanted) == math.inf and all(row == {0: 1.0} for row in links):
        return np.full(len(wanted), left[0] / sum(alike))  # what follows finds the same
    growing = dict.fromkeys(range(len(left)), 0.0)  # flows of each link
    flows: dict[int, list[int]] = {}
    for flow, of_flow in enumerate(links):
        for link, share in of_flow.items():
            growing[link] += share * alike[flow]
            flows.setdefault(link, []).append(flow)
    by_demand = sorted(range(len(wanted)), key=wanted.__getitem__, reverse=True)
    granted: dict[int, float] = {}
    level = 0.0  # what each flow has that still grows

    def stop(flow: int, rate: float) -> None:
        granted[flow] = rate
        for link, share in links[flow].items():
            growing[link] -= share * alike[flow]

    while len(granted) < len(wanted):
        while by_demand[-1] in granted:
            by_demand.pop()
        used = [link for link, count in growing.items() if count > _ROUNDING]
        rooms = (left[link] / growing[link] for link in used)
        step = min(*rooms, wanted[by_demand[-1]] - level, math.inf)
        level += step
        if not math.isfinite(step):
            break
        for link in used:
            left[link] -= step * growing[link]
        while by_demand and level >= wanted[by_demand[-1]] * (1 - _ROUNDING):
            flow = by_demand.pop()
            if flow not in granted:
                stop(flow, wanted[flow])
        for link in used:
            if left[link] <= full[link]:
                for flow in flows[link]:
                    if flow not in granted:
                        stop(flow, level)
    return np.array([granted.get(flow, level) for flow in range(len(wanted))])


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


def aggregation_benefit(goodput: float, alone: Sequence[float]) -> float:
    """Return what several paths bring, from the goodput over all, and ``alone`` over each.

    1: as much as the sum; 0: as much as the best path; -1: nothing. Above the best one it is
    (goodput - best) / (sum - best), below it (goodput - best) / best: Kaspar, Multipath Aggregation
    of Heterogeneous Networks, thesis, University of Oslo, 2012, as Paasch, Khalili and Bonaventure
    use it for MPTCP (On the Benefits of Applying Experimental Design to Improve Multipath TCP,
    CoNEXT 2013). Of one path it is NaN.

    >>> aggregation_benefit(15.0, [10.0, 10.0]), aggregation_benefit(5.0, [10.0, 10.0])
    (0.5, -0.5)
    """
    best, whole = max(alone), sum(alone)
    if best <= 0 or whole == best:
        return NAN
    return (goodput - best) / (whole - best if goodput >= best else best)
