# SPDX-License-Identifier: GPL-2.0-only
"""The figures that a sweep allows, in one go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.plots import scales
from tunnelcc.plots.curves import curves
from tunnelcc.plots.heat_map import heat_map
from tunnelcc.plots.pairs import pair_axes, pairs
from tunnelcc.plots.scatter import scatter
from tunnelcc.plots.series import GOODPUT, MOST_FLOWS, series
from tunnelcc.plots.sweep import RTT_RATIO, Sweep

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# Axes over which throughput, and over which fairness is looked at; other numbers come after them.
_THROUGHPUT = ("path.rtt", "path.loss", "path.buffer", "flows.count")
_FAIRNESS = ("path.buffer", "flows.count", RTT_RATIO)
_FAIRNESS_METRICS = ("flow_share", "jain", "flow_harm")
# Reading the series of more runs than this takes longer than all figures.
_MOST_RUNS_READ = 100
# Flows that start within this time (s) start together.
_LONGEST_JITTER = 0.1
# An axis with more values than this makes no panels.
_MOST_PANELS = 6


def standard(results: xarray.Dataset) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) of every figure that the axes of ``results`` allow.

    Throughput over RTT, loss, buffer and number of flows; fairness (shares, Jain's index, harm if
    results have it) and time to it over buffer, number of flows and ratio of RTTs; queueing delay
    against throughput; heat maps of two axes; who beats whom; flows over time if there are series.
    Axes that a figure has no room for are fixed in the middle, and its title says so.
    """
    sweep = Sweep(results)
    numbers, groups = _axes(sweep)
    by = next(iter(groups), None)
    several = results.sizes.get("flow", 1) > 1
    for x in numbers:
        if x == RTT_RATIO:
            continue
        if x in _THROUGHPUT or not set(numbers) & set(_THROUGHPUT):
            yield f"goodput-over-{_slug(x)}", _curves(sweep, x, "goodput", by)
        if several and (x in _FAIRNESS or RTT_RATIO not in numbers):
            yield from _fairness(sweep, x, by)
    if several and RTT_RATIO in numbers:
        yield from _fairness(sweep, RTT_RATIO, by)
    if sweep.axes:
        yield "queueing-delay", scatter(results, "queue_delay_mean", "goodput", by)
    plain = [key for key in numbers if key != RTT_RATIO and sweep.axes[key].dims == (key,)]
    for index, y in enumerate(plain):
        for x in plain[:index]:
            for value in ("utilisation", "jain") if several else ("utilisation",):
                name = f"{value}-over-{_slug(x)}-and-{_slug(y)}"
                facet, at = _room(sweep, (x, y))
                yield name, heat_map(results, x, y, value, facet, at)
    keys = pair_axes(sweep)
    if keys is not None:
        facet, at = _room(sweep, keys)
        yield "who-beats-whom", pairs(results, facet, at)
    if GOODPUT in results and 1 < results.sizes["flow"] <= MOST_FLOWS:
        facet, at = _room(sweep, ())
        yield "over-time", series(results, facet, at)


def overview(results: xarray.Dataset, y: str) -> Figure:
    """Return the metric ``y`` over the first axis of numbers, with as many others as there is room.

    Raises ConfigError if no axis has numbers.
    """
    sweep = Sweep(results)
    numbers, groups = _axes(sweep)
    if not numbers:
        expected = "--kind pairs or scatter, as no axis has numbers"
        raise ConfigError(Problem("--kind", "curves", expected))
    return _curves(sweep, numbers[0], y, next(iter(groups), None))


def wants_series(results: xarray.Dataset) -> bool:
    """Return whether there are flows to compare over time, and not too many runs to read."""
    runs = results["goodput"].size
    return 1 < results.sizes["flow"] <= MOST_FLOWS and runs <= _MOST_RUNS_READ


def _axes(sweep: Sweep) -> tuple[list[str], list[str]]:
    """Return the keys of the axes with several numbers, and of those with names."""
    numbers = [key for key, axis in sweep.axes.items() if scales.is_number(axis) and axis.size > 1]
    return numbers, [key for key, axis in sweep.axes.items() if not scales.is_number(axis)]


def _fairness(sweep: Sweep, x: str, by: str | None) -> Iterator[tuple[str, Figure]]:
    alike = _are_alike(sweep.results)
    for y in (*_FAIRNESS_METRICS, "fair_convergence_time"):
        if y == "flow_share" and alike:
            continue  # Jain's index says it
        if y in sweep.results and np.isfinite(sweep.results[y].values).any():
            # One line per flow or algorithm, and a panel per value of the axis of names; an index
            # of all flows has one line per such value.
            if "flow" in sweep.results[y].dims:
                yield f"{_slug(y)}-over-{_slug(x)}", _curves(sweep, x, y, None, by)
            else:
                yield f"{_slug(y)}-over-{_slug(x)}", _curves(sweep, x, y, by)


def _are_alike(results: xarray.Dataset) -> bool:
    """Return whether all flows of a run have the same algorithm, RTT and start."""
    owners = results["flow_cc"]
    algorithms = ((owners == owners.isel(flow=0)) | (owners == "")).all()
    rtts, starts = (results[name] for name in ("flow_base_rtt", "flow_start"))
    spread = [float((values.max("flow") - values.min("flow")).max()) for values in (rtts, starts)]
    return bool(algorithms) and spread[0] == 0 and not spread[1] > _LONGEST_JITTER


def _curves(sweep: Sweep, x: str, y: str, by: str | None, facet: str | None = None) -> Figure:
    used = tuple(key for key in (x, by, facet) if key is not None)
    chosen, at = _room(sweep, used, may_facet=facet is None)
    return curves(sweep.results, x, y, by, facet or chosen, at)


def _room(
    sweep: Sweep, used: tuple[str, ...], may_facet: bool = True
) -> tuple[str | None, dict[str, object]]:
    """Return the axis to make panels of, and what the other unused axes are fixed at."""
    dims = {sweep.axes[key].dims[0] for key in used}
    left: dict[str, xarray.DataArray] = {}
    for axis in sweep.axes.values():
        if axis.dims[0] not in dims and axis.size > 1:
            left.setdefault(str(axis.dims[0]), axis)
    facet = None
    if may_facet and left:
        least = min(left.values(), key=lambda axis: (scales.is_number(axis), axis.size))
        if least.size <= _MOST_PANELS:
            facet = str(left.pop(str(least.dims[0])).name)
    at = {str(axis.name): axis.values[axis.size // 2] for axis in left.values()}
    return facet, at


def _slug(key: str) -> str:
    return key.replace(".", "-").replace("_", "-")
