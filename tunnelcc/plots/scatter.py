# SPDX-License-Identifier: GPL-2.0-only
"""One metric against another: a point per run, and lines through each group's means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.plots import scales
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.limits import limits_told
from tunnelcc.plots.selection import Selection

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


def scatter(
    results: xarray.Dataset,
    x: str = "queue_delay_mean",
    y: str = "goodput",
    by: str | None = None,
    facet: str | None = None,
    at: Mapping[str, object] | None = None,
) -> Figure:
    """Draw the metric ``y`` against the metric ``x``: small points are runs, large ones means.

    ``by``: axis with one colour and marker per value; ``cc`` by default, if it is an axis.
    ``facet``: axis with one panel per value. ``at``: axis → its only value. Points of all other
    axes are shown. Raises ConfigError.
    """
    selection = Selection(results, at)
    horizontal, vertical = (
        selection.metric_with_values(name, option) for name, option in ((x, "--x"), (y, "--y"))
    )
    if by is None and facet != "cc" and "cc" in selection.axes:
        by = "cc"
    by, facet = (key and selection.key(key) for key in (by, facet))
    if by is not None:
        selection.axis(by, "--by")
    if facet is not None:
        selection.axis(facet, "--facet")
    scale_x, scale_y = scales.scale_of(horizontal), scales.scale_of(vertical)
    parts = list(selection.points(facet))
    with panels(len(parts)) as (figure, axes):
        for ax, (heading, part) in zip(axes, parts, strict=True):
            rows = zip(
                part.lines(part.results[x], by), part.lines(part.results[y], by), strict=True
            )
            for across, up in rows:
                at_x, at_y = scale_x.factor * across.values, scale_y.factor * up.values
                colour, marker = up.style["color"], up.style["marker"]
                ax.plot(
                    np.ravel(at_x), np.ravel(at_y), linestyle="none", marker=marker, color=colour,
                    markersize=3, alpha=0.35, markeredgewidth=0,
                )  # fmt: skip
                ax.plot(
                    np.ravel(at_x.mean("seed")), np.ravel(at_y.mean("seed")), linestyle="none",
                    marker=marker, color=colour, markersize=6.5, markeredgecolor="white",
                    label=up.label,
                )  # fmt: skip
            ax.set_title(heading)
            ax.set_xlabel(scale_x.label(scales.name_of(horizontal)))
            ax.set_ylabel(scale_y.label(scales.name_of(vertical)))
        if scales.is_wide(horizontal.mean("seed").values):
            axes[0].set_xscale("log")
            axes[0].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        else:
            axes[0].set_xlim(left=0)
        if scales.is_wide(vertical.mean("seed").values):
            axes[0].set_yscale("log")
            axes[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        else:
            axes[0].set_ylim(0, 1.08 * scale_y.factor * float(vertical.max()) or 1.0)
        note = "small: runs, large: means of them"
        finish(figure, axes, selection.title(), note, limits_told(selection))
    return figure
