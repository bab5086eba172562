# SPDX-License-Identifier: GPL-2.0-only
"""A text below a figure: what limited its points, and which points have not settled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.metrics import drift
from tunnelcc.plots import scales
from tunnelcc.words import causes
from tunnelcc.words.quantities import spaced

if TYPE_CHECKING:
    import xarray

    from tunnelcc.plots.selection import Selection

_NEEDED = ("goodput", "flow_limited_by", "flow_limited_share", "flow_drift")
# So many limits are named, and so many points of one; of more, their number.
_MOST_LIMITS, _MOST_POINTS = 3, 2


def limits_told(selection: Selection) -> str:
    """Describe what limited the points, and which have not settled; "" if results lack this."""
    results = selection.results
    if any(name not in results for name in _NEEDED):
        return ""
    dims = [str(dim) for dim in results["goodput"].dims if dim != "seed"]
    data = {}
    for name in _NEEDED:
        last = [it for it in ("seed", "flow") if it in results[name].dims]
        data[name] = results[name].transpose(*dims, *last).values
    axes = list(selection.axes.values())
    found: dict[str, list[str]] = {}
    drifting: list[str] = []
    points = list(np.ndindex(*(results.sizes[dim] for dim in dims)))
    for point in points:
        name = _name(axes, dict(zip(dims, point, strict=True)))
        texts, shares = (data[f"flow_limited_{it}"][point] for it in ("by", "share"))
        if limit := causes.at_point(texts, shares)[0]:
            found.setdefault(limit, []).append(name)
        if drift.at_point(data["flow_drift"][point], data["goodput"][point]):
            drifting.append(name)
    by_count = sorted(found, key=lambda it: -len(found[it]))
    lines = [f"limited by {it}{_where(found[it], len(points))}" for it in by_count[:_MOST_LIMITS]]
    if len(by_count) > _MOST_LIMITS:
        lines[-1] += ", and others"
    if drifting:
        lines.append(f"goodput not steady{_where(drifting, len(points))}")
    return spaced("\n".join(lines))


def _where(names: Sequence[str], of_all: int) -> str:
    """Say at which points, unless it is at all."""
    if len(names) == of_all:
        return ""
    if len(names) <= _MOST_POINTS and all(names):
        return f": {'; '.join(names)}"
    return f": {len(names)} of {of_all} points"


def _name(axes: Iterable[xarray.DataArray], at: dict[str, int]) -> str:
    """Name a point by the values of its axes."""
    values = (axis[at[str(axis.dims[0])]] for axis in axes)
    return ", ".join(scales.texts(value.expand_dims("only"))[0] for value in values)
