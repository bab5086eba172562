# SPDX-License-Identifier: GPL-2.0-only
"""Draw every figure for which a sweep has the axes and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.plots import scales
from tunnelcc.plots.curves import curves
from tunnelcc.plots.maps import maps
from tunnelcc.plots.pairs import pair_axes, pairs
from tunnelcc.plots.scatter import scatter
from tunnelcc.plots.selection import MOST_FLOWS, RTT_RATIO, Selection, stated_rtts
from tunnelcc.plots.series import GOODPUT, series

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# Axes over which throughput, and over which fairness is looked at; other numbers come after them.
_THROUGHPUT = ("path.rtt", "path.loss", "path.buffer", "flows.count", "flows.interarrival")
_FAIRNESS = ("path.buffer", "flows.count", RTT_RATIO)
_GROUPED = ("jain_users", "jain_carriers", "jain_tunnels")
_FAIRNESS_METRICS = ("flow_share", "jain", *_GROUPED, "flow_harm")
#: Metric → name of its figure, if any run has it.
_OF_APPLICATIONS = {
    "flow_message_latency_p99": "message-latency",
    "flow_completion_time": "completion-time",
    "flow_completed": "completed",
}
# Axes over which the bytes around the application's change.
_SIZES = ("write_size", "mtu", "mss")
# Goodputs that differ by less than this part are those that the applications offer.
_FLAT = 0.02
# Reading the series of more runs than this takes longer than all figures.
_MOST_RUNS_READ = 100
# Flows that start within this time (s) start together.
_LONGEST_JITTER = 0.1
# An axis with more values than this makes no panels.
_MOST_PANELS = 6


def standard(results: xarray.Dataset) -> Iterator[tuple[str, Figure]]:
    """Yield (name, figure) of every figure that the axes of ``results`` allow.

    - Throughput over RTT, loss, buffer, number of flows and time between arrivals; efficiency over
      sizes; message latency; completion time, and how many flows complete unless all do.
    - Fairness (shares, Jain's indices, harm if available) and convergence time over buffer, number
      of flows and ratio of RTTs, unless all flows are finite: their shares are their sizes.
    - Queueing delay against throughput, maps of two axes, pairs of algorithms, flows over time
      if there are series.

    Axes that do not fit in a figure are fixed at their middle value, which the title names. Raises
    ConfigError if there is nothing to draw.
    """
    problem, drawn = ConfigError(Problem("--standard", MISSING, "a sweep with axes")), False
    for name, draw in _figures(Selection(results)):
        try:
            figure = draw()
        except ConfigError as error:  # no run has the metric at the points that there is room for
            problem = error
        else:
            drawn = True
            yield name, figure
    if not drawn:
        raise problem


def _figures(selection: Selection) -> Iterator[tuple[str, Callable[[], Figure]]]:
    results = selection.results
    numbers, groups = _axes(selection)
    by = next(iter(groups), None)
    # Finite flows share what they send, and not the rate.
    finite = selection.finite_flows
    several = finite.size > 1 and not finite.all()
    if not numbers and groups:
        x, by = _names(groups)
        yield f"goodput-over-{_slug(x)}", partial(_curves, selection, x, "goodput", by)
        yield from _of_applications(selection, x, by)
        if several:
            yield from _fairness(selection, x, by)
    for x in numbers:
        if x == RTT_RATIO:
            continue
        if x.endswith(_SIZES):
            yield f"efficiency-over-{_slug(x)}", partial(_curves, selection, x, "efficiency", by)
        if x in _THROUGHPUT or not set(numbers) & set(_THROUGHPUT):
            if not (x.endswith(_SIZES) and _is_flat(results["goodput"])):
                yield f"goodput-over-{_slug(x)}", partial(_curves, selection, x, "goodput", by)
            yield from _of_applications(selection, x, by)
        if several and (x in _FAIRNESS or RTT_RATIO not in numbers):
            yield from _fairness(selection, x, by)
    if several and RTT_RATIO in numbers:
        yield from _fairness(selection, RTT_RATIO, by)
    if selection.axes:
        yield "queueing-delay", partial(scatter, results, "queue_delay_mean", "goodput", by)
    plain = [key for key in numbers if key != RTT_RATIO and selection.axes[key].dims == (key,)]
    for index, y in enumerate(plain):
        for x in plain[:index]:
            shares, times = ["jain"] if several else [], ["flow_completion_time"]
            for value in ("utilisation", *shares, *(times if finite.any() else [])):
                shown = _OF_APPLICATIONS.get(value, value)
                name = f"{shown}-over-{_slug(x)}-and-{_slug(y)}"
                facet, at = _room(selection, None, (x, y))
                yield name, partial(maps, results, x, y, value, facet, at)
    keys = pair_axes(selection)
    if keys is not None:
        facet, at = _room(selection, None, keys)
        yield "who-beats-whom", partial(pairs, results, facet, at)
    if GOODPUT in results and 1 < results.sizes["flow"] <= MOST_FLOWS:
        facet, at = _room(selection, None, ())
        yield "over-time", partial(series, results, facet, at)


def overview(results: xarray.Dataset, y: str) -> Figure:
    """Return the metric ``y`` over the first axis of numbers, with as many other axes as fit.

    Without an axis of numbers, one of names is used. Raises ConfigError if there are no axes.
    """
    selection = Selection(results)
    numbers, groups = _axes(selection)
    if not numbers:
        return comparison(results, y)[0]
    return _curves(selection, numbers[0], y, next(iter(groups), None))


def comparison(results: xarray.Dataset, y: str) -> tuple[Figure, list[str]]:
    """Return bars of the metric ``y`` over the tunnels, or another axis of names.

    Other axes become colours and panels. Those that do not fit are fixed at a value: also return
    these, each as ``path.rtt=40ms``. Raises ConfigError if no axis has names.
    """
    selection = Selection(results)
    _, groups = _axes(selection)
    if not groups:
        raise ConfigError(Problem("--x", MISSING, "a sweep with an axis of names, such as tunnel"))
    x, by = _names(groups)
    facet, at = _room(selection, x, () if by is None else (by,))
    if by is None:
        by = next((key for key in at if selection.distinct(key) <= _MOST_PANELS), None)
        if by is not None:
            facet, at = _room(selection, x, (by,))
    fixed = [
        f"{key}={scales.written(axis)[axis.size // 2]}"
        for key, axis in selection.axes.items()
        if key in at
    ]
    return curves(selection.results, x, y, by, facet, at), fixed


def _names(groups: list[str]) -> tuple[str, str | None]:
    """Return the axis of names for the bars (algorithms last), and the axis for their colours."""
    ordered = sorted(groups, key=lambda key: key.endswith("cc"))
    return ordered[0], ordered[1] if len(ordered) > 1 else None


def wants_series(results: xarray.Dataset) -> bool:
    """Return whether there are flows to compare over time, and few enough runs to read."""
    runs = results["goodput"].size
    return 1 < results.sizes["flow"] <= MOST_FLOWS and runs <= _MOST_RUNS_READ


def _axes(selection: Selection) -> tuple[list[str], list[str]]:
    """Return the keys of the axes with several numbers, and of those with names."""
    numbers = [
        key
        for key, axis in selection.axes.items()
        if scales.is_number(axis) and selection.distinct(key) > 1
    ]
    return numbers, [key for key, axis in selection.axes.items() if not scales.is_number(axis)]


def _of_applications(
    selection: Selection, x: str, by: str | None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    for metric, name in _OF_APPLICATIONS.items():
        values = selection.results[metric].values
        if metric == "flow_completed" and not (values == 0).any():
            continue  # all flows complete
        if np.isfinite(values).any():
            yield f"{name}-over-{_slug(x)}", partial(_curves, selection, x, metric, by)


def _fairness(
    selection: Selection, x: str, by: str | None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    alike = _are_alike(selection.results)
    for y in (*_FAIRNESS_METRICS, "fair_convergence_time"):
        if y == "flow_share" and alike:
            continue  # Jain's index says it
        if y not in selection.results or not np.isfinite(selection.results[y].values).any():
            continue
        if y in _GROUPED and _says_nothing(selection.results[y], selection.results["jain"]):
            continue
        # One line per flow or algorithm, and a panel per value of the axis of names; an index
        # of all flows has one line per such value.
        per_flow = "flow" in selection.results[y].dims
        axes = (None, by) if per_flow else (by, None)
        yield f"{_slug(y)}-over-{_slug(x)}", partial(_curves, selection, x, y, *axes)


def _says_nothing(grouped: xarray.DataArray, jain: xarray.DataArray) -> bool:
    """Return whether groups are single flows, or there is only one."""
    known = grouped.notnull()
    return bool(((abs(grouped - jain) < 1e-9) | ~known).all() or ((grouped == 1) | ~known).all())


def _is_flat(goodput: xarray.DataArray) -> bool:
    """Return whether all runs carried the full offered load."""
    return float(goodput.max() - goodput.min()) < _FLAT * float(goodput.max())


def _are_alike(results: xarray.Dataset) -> bool:
    """Return whether all flows of a run have the same algorithm, RTT and start."""
    owners = results["flow_cc"]
    algorithms = ((owners == owners.isel(flow=0)) | (owners == "")).all()
    rtts, starts = stated_rtts(results), results["flow_start"]
    spread = [float((values.max("flow") - values.min("flow")).max()) for values in (rtts, starts)]
    return bool(algorithms) and spread[0] == 0 and not spread[1] > _LONGEST_JITTER


def _curves(
    selection: Selection, x: str, y: str, by: str | None, facet: str | None = None
) -> Figure:
    used = tuple(key for key in (by, facet) if key is not None)
    chosen, at = _room(selection, x, used, may_facet=facet is None)
    return curves(selection.results, x, y, by, facet or chosen, at)


def _room(
    selection: Selection, x: str | None, used: tuple[str, ...], may_facet: bool = True
) -> tuple[str | None, dict[str, object]]:
    """Return the axis for panels, and the fixed values of the other unused axes."""
    left = selection.undecided(x, *used)
    facet = None
    if may_facet:
        candidates = [
            key
            for dim, keys in left.items()
            for key in keys
            if selection.distinct(key) <= _MOST_PANELS
            and dim not in selection.undecided(x, *used, key)
        ]
        facet = min(
            candidates,
            key=lambda key: (scales.is_number(selection.axes[key]), selection.distinct(key)),
            default=None,
        )
    at: dict[str, object] = {}
    for keys in left.values():
        if facet not in keys:
            middle = selection.axes[keys[0]].size // 2
            at |= {key: selection.axes[key].values[middle] for key in keys}
    return facet, at


def _slug(key: str) -> str:
    return key.replace(".", "-").replace("_", "-")
