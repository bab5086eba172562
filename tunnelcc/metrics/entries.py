# SPDX-License-Identifier: GPL-2.0-only
"""One value of a run from a metric of its flows: that of all, or of one entry of ``flows``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

# Their mean over all flows of a full link is the same, whatever each flow gets: that of tunnels, if
# as many flows are in each.
_RELATIVE = ("flow_share", "flow_tunnel_share", "flow_max_min_share")


def told(groups: NDArray[np.float64], axes: Iterable[str]) -> list[int]:
    """Return the entries of ``flows`` whose shares are told.

    These are the ones that axes change, or else the first. Of all, the last one has the rest; of
    one there is nothing to tell. ``groups``: the entry of each flow (flow_group).
    """
    entries = sorted({int(entry) for entry in groups[np.isfinite(groups)].tolist()})
    if len(entries) < 2:
        return []
    keys = list(axes)
    changed = [it for it in entries if any(key.startswith(f"flows.{it}.") for key in keys)]
    chosen = changed or entries[:1]
    return chosen[:-1] if chosen == entries else chosen


def told_of(metric: str, groups: NDArray[np.float64], axes: Iterable[str]) -> int | None:
    """Return the entry of ``flows`` that a metric of flows tells of; None: all flows."""
    return next(iter(told(groups, axes)), None) if metric in _RELATIVE else None


def whose(entry: int | None) -> str:
    """Return the words that follow a metric's name."""
    return "" if entry is None else f" of flows.{entry}"


def of_runs(
    metric: str,
    values: NDArray[np.float64],
    groups: NDArray[np.float64],
    entry: int | None,
) -> NDArray[np.float64]:
    """Return one value for each run; NaN: no flow has one.

    It is the mean over the flows of ``entry`` (None: over all); of flow_share the part that all
    flows of the entry have together. ``values``, ``groups``: shape (…, flow).
    """
    known = np.isfinite(values)
    if entry is not None:
        known = known & (groups == entry)
    totals, counts = np.where(known, values, 0).sum(axis=-1), known.sum(axis=-1)
    parts = np.where(counts > 0, 1, 0) if metric == "flow_share" and entry is not None else counts
    found: NDArray[np.float64] = np.divide(
        totals, parts, out=np.full(totals.shape, np.nan), where=parts > 0
    )
    return found
