# SPDX-License-Identifier: GPL-2.0-only
"""How much of a metric's variance in a sweep each of its keys explains.

SALib estimates the first-order index (Sobol, 1993) from any sample, by RBD-FAST (Tarantola, Gatelli
and Mara, Reliability Engineering and System Safety 91, 2006) without its bias (Tissot and Prieur,
same journal 107, 2012): the part of the variance that remains if all but the key's mean effect is
averaged out. What keys explain only together is not part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.errors import MISSING, ConfigError, Problem, TunnelccError, install
from tunnelcc.metrics import AnyMetric, find

if TYPE_CHECKING:
    import xarray

#: With fewer values than this, the estimate is worth little.
_LEAST_VALUES = 100
_RESAMPLES = 200


@dataclass(frozen=True)
class Influence:
    """What a key explains. ``half_width``: of the 95 % confidence interval, by resampling."""

    key: str
    part: float
    half_width: float


def sensitivity(
    results: xarray.Dataset, metric: AnyMetric = "goodput", flow: int | None = None
) -> Sequence[Influence]:
    """Return what each axis of a sweep explains of a metric's variance, the most first.

    ``results``: of a sweep, best one that samples its keys (``sweep.sample``). ``flow``: of a
    metric of flows; default: the first. Runs without a value do not count. No key
    explains what differs between seeds. Raises ConfigError, TunnelccError.
    """
    try:
        from SALib.analyze import rbd_fast
    except ImportError:
        raise TunnelccError(
            f"sensitivity needs SALib, which is not installed: {install('search')}"
        ) from None
    name = find(metric).name
    if name not in results:
        raise ConfigError(Problem("metric", name, "a metric that the results have"))
    values = results[name]
    if "flow" in values.dims:
        flows = values.sizes["flow"]
        if not 0 <= (flow or 0) < flows:
            raise ConfigError(Problem("flow", flow, f"a flow from 0 to {flows - 1}"))
        values = values.isel(flow=flow or 0, drop=True)
    keys = [str(it) for it in values.coords if it not in ("seed", "flow") and values[it].ndim]
    columns = [_numbers(values[key].broadcast_like(values).values.ravel()) for key in keys]
    found = values.values.ravel().astype(float)
    known = np.isfinite(found)
    varied = [index for index, column in enumerate(columns) if len(set(column[known])) > 1]
    if not varied:
        raise ConfigError(Problem("results", MISSING, "a sweep with an axis of several values"))
    if known.sum() < _LEAST_VALUES:
        expected = f"at least {_LEAST_VALUES} runs with a value of {name}"
        raise ConfigError(Problem("results", int(known.sum()), expected))
    if np.ptp(found[known]) == 0:
        expected = "a metric that varies"
        raise ConfigError(
            Problem("metric", name, expected, f"it is {found[known][0]:g} everywhere")
        )
    inputs = np.column_stack([columns[index][known] for index in varied])
    names = [keys[index] for index in varied]
    bounds = [[column.min(), column.max()] for column in inputs.T]
    problem = {"num_vars": len(names), "names": names, "bounds": bounds}
    indices = rbd_fast.analyze(problem, inputs, found[known], num_resamples=_RESAMPLES, seed=1)
    rows = zip(names, indices["S1"], indices["S1_conf"], strict=True)
    influences = [Influence(key, float(part), float(width)) for key, part, width in rows]
    return sorted(influences, key=lambda it: -it.part)


def _numbers(column: np.ndarray) -> np.ndarray:
    """Return numbers as they are, and names as their places in their order."""
    if np.issubdtype(column.dtype, np.number):
        return column.astype(float)
    names = sorted({str(it) for it in column})
    return np.array([names.index(str(it)) for it in column], float)
