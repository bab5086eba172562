# SPDX-License-Identifier: GPL-2.0-only
"""How much a metric differs between seeds, as bands and whiskers show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.metrics import confidence_interval

if TYPE_CHECKING:
    import xarray

#: With fewer seeds, figures show the least and the most: an interval of two runs says nothing.
LEAST_SEEDS = 3
#: Metrics that are parts of one whole or indices.
UNIT_RANGE = (
    "jain", "jain_users", "jain_carriers", "jain_tunnels", "flow_share", "flow_tunnel_share",
    "efficiency", "utilisation",
)  # fmt: skip


def spread(values: xarray.DataArray) -> xarray.Dataset:
    """Return ``mean``, ``low`` and ``high`` over seeds, and in ``attrs`` whether they ``are_cut``.

    The interval is the 95 % confidence interval, without what is not possible: less than 0 if no
    run has less, and more than 1 for shares. Of fewer seeds than LEAST_SEEDS it is their range.
    """
    if values.sizes["seed"] < LEAST_SEEDS:
        found = confidence_interval(values)
        if values.sizes["seed"] > 1:
            found["low"], found["high"] = values.min("seed"), values.max("seed")
        found.attrs["are_cut"] = False
        return found
    found = confidence_interval(values)
    low, high = found["low"], found["high"]
    if not bool((values < 0).any()):
        low = low.clip(min=0)
    if values.name in UNIT_RANGE and not bool((values > 1).any()):
        high = high.clip(max=1)
    cut = np.any((low > found["low"]).values) or np.any((high < found["high"]).values)
    found["low"], found["high"] = low, high
    found.attrs["are_cut"] = bool(cut)
    return found


def explained(seeds: int, what: str, are_cut: bool) -> str:
    """Return what bands or whiskers (``what``) are, for a figure's title."""
    if seeds < 2:
        return ""
    if seeds < LEAST_SEEDS:
        return f"means of {seeds} runs, {what}: least to most"
    cut = ", cut at what is possible" if are_cut else ""
    return f"means of {seeds} runs, {what}: 95 % confidence{cut}"
