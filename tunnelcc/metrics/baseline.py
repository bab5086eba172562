# SPDX-License-Identifier: GPL-2.0-only
"""Metrics of a sweep that need another sweep as a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.metrics.fairness import harm

if TYPE_CHECKING:
    import xarray

#: Axes of a baseline whose values are matched with each flow's own algorithm.
_ALGORITHM = ("cc", "flows.cc", "flows.0.cc")


def flow_harm(results: xarray.Dataset, solo: xarray.Dataset) -> xarray.DataArray:
    """Return the harm() to each flow's goodput, over the axes of ``results``.

    ``solo``: the same flows alone, one flow per run. Its axes are axes of ``results`` with the same
    values. One more axis, of algorithms, is allowed: each flow is compared with its own algorithm.
    Means are over the seeds of ``solo``. Raises ConfigError if the results do not match.
    """
    if solo.sizes.get("flow") != 1:
        expected = "a baseline with one flow in each run"
        raise ConfigError(Problem("--baseline", solo.sizes.get("flow", 0), expected))
    alone = solo["goodput"].mean("seed")
    goodput, owners = results["flow_goodput"], results["flow_cc"]
    key = next((key for key in _ALGORITHM if key in alone.dims and key not in results.dims), None)
    for dim in alone.dims:
        if dim != key and (
            dim not in results.dims or not np.isin(results[dim].values, solo[dim].values).all()
        ):
            expected = f"a baseline with the results' values on the axis {dim}"
            raise ConfigError(Problem("--baseline", str(dim), expected))
    alone = alone.sel({dim: results[dim] for dim in alone.dims if dim != key})
    if key is None:
        found = harm(alone, goodput)
    else:
        found = goodput * np.nan
        for name in alone[key].values:
            found = found.where(owners != name, harm(alone.sel({key: name}, drop=True), goodput))
    found.name = "flow_harm"
    found.attrs = {"units": "1", "long_name": "harm to goodput"}
    result: xarray.DataArray = found.transpose(*goodput.dims)
    return result
