# SPDX-License-Identifier: GPL-2.0-only
"""Convergence times of flows, from series of equidistant samples.

A sample at time t is the mean since the previous sample. Times look ahead: a flow has converged at
t if the condition holds after t. The start-up is therefore not averaged into the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tunnelcc.metrics.counts import NAN
from tunnelcc.metrics.samples import median

#: Largest relative deviation from equal shares that is called fair.
DELTA = 0.1
#: Largest relative deviation from its fair rate with which a flow is called stable.
TOLERANCE = 0.25
#: How long (s) it must hold.
HOLD = 5.0
#: Time (s) over which rates are averaged to tell whether they are stable.
WINDOW = 1.0
#: Largest relative deviation from its level with which a rate has settled, unless told otherwise.
WITHIN = 0.2
#: Time (s) over which rates are averaged to tell whether they have settled.
STEADY = 0.5


def fair_convergence_time(
    rates: ArrayLike, time: ArrayLike, start: float, delta: float = DELTA, hold: float = HOLD
) -> float:
    """Return seconds from ``start`` until n flows have shares between (1 − δ)/n and (1 + δ)/n.

    δ-fair convergence (RFC 5166, section 2.3; Bansal et al., Dynamic Behavior of Slowly-Responsive
    Congestion Control Algorithms, SIGCOMM 2001) of the shares in the next ``hold`` seconds.
    ``rates``: shape (flow, time), any unit. ``time``: s, of each sample. ``start``: s, of the last
    flow. NaN for fewer than two flows, or if they never converge.
    """
    series, times = np.atleast_2d(np.asarray(rates, dtype=float)), np.asarray(time, dtype=float)
    flows = len(series)
    if flows < 2:
        return NAN
    ahead, begins = _means_ahead(series, times, hold)
    if not begins.size:
        return NAN
    parts = ahead / np.maximum(ahead.sum(axis=0), np.finfo(float).tiny)
    fair = np.all(np.abs(flows * parts - 1) <= delta, axis=0)
    return _first(fair, begins, start)


def rate_convergence_time(
    rate: ArrayLike,
    time: ArrayLike,
    start: ArrayLike,
    target: ArrayLike,
    tolerance: float = TOLERANCE,
    hold: float = HOLD,
    window: float = WINDOW,
) -> Any:
    """Return seconds from ``start`` until the rate stays near ``target`` for ``hold`` seconds.

    Near: every mean over ``window`` seconds is within ``tolerance`` · ``target`` of it (Dong et
    al., PCC: Re-architecting Congestion Control for Consistent High Performance, NSDI 2015,
    section 4.2.2: the ideal fair share, ±25 %, 5 s). ``rate``: shape (…, time).
    ``start``: s, shape (…), as the result. ``target``: above 0, constant or with the shape of
    ``rate``, in its unit. ``time``: s, of each sample. NaN if this never happens.
    """
    series, times = np.asarray(rate, dtype=float), np.asarray(time, dtype=float)
    means, begins = _means_ahead(series, times, window)
    goals = targets = np.asarray(target, dtype=float)
    if targets.ndim:
        goals, _ = _means_ahead(targets, times, window)
    near = (goals > 0) & (np.abs(means - goals) <= tolerance * goals)
    held, begins = _means_ahead(near.astype(float), begins, hold - window, first=True)
    since = np.asarray(start, dtype=float)
    if not begins.size:
        return np.full(since.shape, NAN)[()]
    after = (held > 1 - 1e-9) & (begins >= since[..., np.newaxis] - 1e-9)
    found = np.maximum(begins[after.argmax(axis=-1)] - since, 0)
    return np.where(after.any(axis=-1), found, NAN)[()]


def settling_time(
    rate: ArrayLike, time: ArrayLike, since: float, until: float, within: float = WITHIN
) -> float:
    """Return seconds from ``since`` until means over STEADY are ``within`` of the level.

    The level is the median of the second half of the time from ``since`` to ``until`` (s).
    ``rate``: shape (time,), any unit. ``time``: s, of each sample. NaN if this never happens.
    """
    series, times = np.asarray(rate, dtype=float), np.asarray(time, dtype=float)
    interval = times[1] - times[0] if times.size > 1 else STEADY
    width = max(1, round(STEADY / interval))
    after = series[(times > since) & (times <= until)]
    if len(after) < width:
        return NAN
    level = median(series[(times > (since + until) / 2) & (times <= until)])
    means = np.convolve(after, np.ones(width) / width, "valid")
    reached = np.abs(means - level) <= within * level
    return float(np.argmax(reached) * interval) if reached.any() else NAN


def rise_time(
    rate: ArrayLike,
    time: ArrayLike,
    start: float,
    within: float = WITHIN,
    until: float | None = None,
) -> float:
    """Return seconds from ``start`` until the rate first reaches (1 − ``within``) of its level.

    The level is the median of the second half of the time from ``start`` to ``until`` (s;
    default: the end). ``rate``: shape (time,), any unit. ``time``: s, of each sample. NaN if this
    never happens.
    """
    series, times = np.asarray(rate, dtype=float), np.asarray(time, dtype=float)
    end = times[-1] if until is None else until
    level = median(series[(times > (start + end) / 2) & (times <= end)])
    reached = (times > start) & (times <= end) & (series >= (1 - within) * level)
    return float(times[np.argmax(reached)] - start) if reached.any() else NAN


def dip_interval(rate: ArrayLike, time: ArrayLike, within: float = WITHIN) -> float:
    """Return the median time (s) between the starts of dips below (1 − ``within``) of the median.

    ``rate``: shape (time,), any unit. ``time``: s, of each sample. NaN for fewer than two dips.
    """
    series, times = np.asarray(rate, dtype=float), np.asarray(time, dtype=float)
    low = series < (1 - within) * median(series)
    begins = times[1:][low[1:] & ~low[:-1]]
    return median(np.diff(begins)) if len(begins) > 1 else NAN


def _means_ahead(
    series: NDArray[np.float64], time: NDArray[np.float64], span: float, first: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means (…, k) over the ``span`` seconds after each time, and these times (k,).

    ``first``: samples are of what follows their time, so that the one at the time itself counts.
    """
    interval = time[1] - time[0] if time.size > 1 else span
    width = max(1, round(span / interval)) + first
    if time.size < width:
        return series[..., :0], time[:0]
    sums = np.zeros((*series.shape[:-1], time.size + 1))
    series.cumsum(axis=-1, out=sums[..., 1:])
    means = (sums[..., width:] - sums[..., :-width]) / width
    begins = time[: means.shape[-1]]
    return means, begins if first else begins - interval


def _first(holds: NDArray[np.bool_], begins: NDArray[np.float64], start: float) -> float:
    (after,) = (holds & (begins >= start - 1e-9)).nonzero()
    return float(max(begins[after[0]] - start, 0)) if after.size else NAN
