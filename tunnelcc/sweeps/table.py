# SPDX-License-Identifier: GPL-2.0-only
"""A sweep's results in a terminal: the mean over seeds at each point, and how sure it is."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.metrics import confidence_interval
from tunnelcc.sweeps.declaration import SEED
from tunnelcc.units import format_probability, format_rate, format_time

if TYPE_CHECKING:
    import xarray

_MOST_ROWS = 48
_FILE_WIDTH = 120
#: Metric → heading, factor, digits.
_COLUMNS = {
    "goodput": ("goodput Mbit/s", 1e-6, 2),
    "utilisation": ("utilisation", 1, 3),
    "jain": ("Jain", 1, 3),
    "queue_delay_mean": ("queueing ms", 1e3, 2),
    "retransmission_ratio": ("retransmitted %", 1e2, 3),
}


def print_results(results: xarray.Dataset) -> None:
    """Print a row per point: the mean over seeds ± half of its 95 % confidence interval."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    several_flows = results.sizes["flow"] > 1  # of one flow, Jain's index tells nothing
    dims = [str(dim) for dim in results["goodput"].dims if dim != SEED]
    keys = [str(key) for key in results.coords if set(results[key].dims) & set(dims)]
    for key in keys:
        table.add_column(key, overflow="fold")
    columns = {name: column for name, column in _COLUMNS.items() if name != "jain" or several_flows}
    for heading, _, _ in columns.values():
        table.add_column(heading, justify="right")
    intervals = {}
    for name in columns:
        interval = confidence_interval(results[name]).transpose(*dims)
        intervals[name] = interval["mean"].to_numpy(), interval["high"].to_numpy()
    shape = [results.sizes[dim] for dim in dims]
    points = list(itertools.islice(np.ndindex(*shape), _MOST_ROWS))
    for point in points:
        at = dict(zip(dims, point, strict=True))
        cells = [_coordinate(results[key], at) for key in keys]
        for name, (_, factor, digits) in columns.items():
            mean, high = (values[point] * factor for values in intervals[name])
            cells.append(_interval(mean, high - mean, digits))
        table.add_row(*cells)
    console = Console(width=None if sys.stdout.isatty() else _FILE_WIDTH, highlight=False)
    console.print(table)
    left = int(np.prod(shape)) - len(points)
    if left:
        console.print(f"… and {left} more; --output FILE.csv writes all", markup=False)


def _coordinate(values: xarray.DataArray, at: dict[str, Any]) -> str:
    value = values.isel({dim: index for dim, index in at.items() if dim in values.dims}).item()
    if isinstance(value, str):
        return value
    unit = values.attrs.get("units", "")
    formats = {"s": format_time, "bit/s": format_rate}
    if unit in formats:
        return formats[unit](float(f"{value:.4g}"))
    if "loss" in str(values.name):
        return format_probability(float(f"{value:.4g}"))
    return f"{value:.6g}" + (unit if unit == "bdp" else "")


def _interval(mean: float, half: float, digits: int) -> str:
    if np.isnan(mean):
        return "–"
    return f"{mean:.{digits}f}" + ("" if np.isnan(half) else f" ± {half:.{digits}f}")
