# SPDX-License-Identifier: GPL-2.0-only
"""One algorithm against another: its share, for all pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.limits import limits_told
from tunnelcc.plots.maps import DIVERGING, cells, label
from tunnelcc.plots.selection import Selection

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

_GROUP = re.compile(r"flows\.(\d+)\.cc")


def pair_axes(selection: Selection) -> tuple[str, str] | None:
    """Return the keys of the first two groups' algorithms, if both are axes."""
    keys = sorted(key for key in selection.axes if _GROUP.fullmatch(key))
    return (keys[0], keys[1]) if len(keys) >= 2 else None


def pairs(
    results: xarray.Dataset, facet: str | None = None, at: Mapping[str, object] | None = None
) -> Figure:
    """Draw the share of both groups' goodput that the row's algorithm gets against the column's.

    The axes are ``flows.0.cc`` and ``flows.1.cc``, or those of two other groups. Above 0.5 the row
    wins. The share is a mean over seeds. ``facet``, ``at``: as for curves(). Raises ConfigError.
    """
    selection = Selection(results, at)
    keys = pair_axes(selection)
    if keys is None:
        expected = "a sweep over flows.0.cc and flows.1.cc"
        raise ConfigError(Problem("--kind pairs", MISSING, expected))
    facet = facet and selection.key(facet)
    if facet is not None:
        selection.axis(facet, "--facet")
    selection.use(None, *keys, facet)
    ours, others = (_flows_of(selection, key) for key in keys)
    parts = list(selection.points(facet))
    with panels(len(parts)) as (figure, axes):
        for ax, (heading, part) in zip(axes, parts, strict=True):
            goodput = part.results["flow_goodput"]
            mine, theirs = (goodput.isel(flow=group).sum("flow") for group in (ours, others))
            share = (mine / (mine + theirs)).mean("seed").transpose(*keys)
            image = cells(ax, share.values, 0, 1, DIVERGING)
            label(ax, part.axes[keys[1]], part.axes[keys[0]])
            ax.set_xlabel("beside")
            ax.set_ylabel("share of")
            ax.set_title(heading)
        figure.colorbar(image, ax=axes, label="share of the goodput of both", shrink=0.9)
        finish(figure, axes, selection.title(), below=limits_told(selection))
    return figure


def _flows_of(selection: Selection, key: str) -> list[int]:
    """Return the indices of the flows of the group whose algorithm ``key`` sets."""
    match = _GROUP.fullmatch(key)
    assert match is not None
    group, counts = int(match[1]), [flow.count for flow in selection.base.flows]
    first = sum(counts[:group])
    return list(range(first, first + counts[group]))
