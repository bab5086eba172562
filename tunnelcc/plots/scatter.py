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

# Metrics that are delays in a queue.
_QUEUEING = "queue_delay"
# Bits of a full packet of Ethernet.
_PACKET = 8 * 1500


def scatter(
    results: xarray.Dataset,
    x: str = "queue_delay_mean",
    y: str = "goodput",
    by: str | None = None,
    facet: str | None = None,
    at: Mapping[str, object] | None = None,
) -> Figure:
    """Draw the metric ``y`` against the metric ``x``: small points are runs, large ones means.

    ``by``: axis with one colour and marker per value; by default an axis of algorithms, or else
    another one of names.
    ``facet``: axis with one panel per value. ``at``: axis → its only value. Points of all other
    axes are shown. Raises ConfigError.
    """
    selection = Selection(results, at)
    horizontal, vertical = (
        selection.metric_with_values(name, option) for name, option in ((x, "--x"), (y, "--y"))
    )
    by, facet = (key and selection.key(key) for key in (by, facet))
    if by is None:
        by = _of_names(selection, facet)
    if by is not None:
        selection.axis(by, "--by")
    if facet is not None:
        selection.axis(facet, "--facet")
    scale_x, scale_y = scales.scale_of(horizontal), scales.scale_of(vertical)
    # A logarithmic axis would spend its decades on queues of less than a packet.
    least = _packet_time(selection) if x.startswith(_QUEUEING) else 0.0
    is_log = scales.is_wide(np.maximum(horizontal.mean("seed").values, least))
    least = least if is_log else 0.0
    parts = list(selection.points(facet))
    with panels(len(parts)) as (figure, axes):
        for ax, (heading, part) in zip(axes, parts, strict=True):
            rows = zip(
                part.lines(part.results[x], by), part.lines(part.results[y], by), strict=True
            )
            for across, up in rows:
                across_values = across.values.clip(least)
                at_x, at_y = scale_x.factor * across_values, scale_y.factor * up.values
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
        if is_log:
            axes[0].set_xscale("log")
            axes[0].xaxis.set_major_formatter(lambda value, _: scales.plain(value))
        else:
            axes[0].set_xlim(left=0)
        if scales.is_wide(vertical.mean("seed").values):
            axes[0].set_yscale("log")
            axes[0].yaxis.set_major_formatter(lambda value, _: scales.plain(value))
        else:
            axes[0].set_ylim(0, 1.08 * scale_y.factor * float(vertical.max()) or 1.0)
        note = "small: runs, large: means of them"
        if bool((horizontal < least).any()):
            note += f"; less than {scale_x.text(least)}, a packet's time, is drawn there"
        finish(figure, axes, selection.title(), note, limits_told(selection))
    return figure


def _of_names(selection: Selection, facet: str | None) -> str | None:
    """Return the axis of names that tells points apart if nobody names one: algorithms first."""
    names = [
        key
        for key, axis in selection.axes.items()
        if key != facet and not scales.is_number(axis) and selection.distinct(key) > 1
    ]
    return min(names, key=lambda key: not scales.is_algorithm(selection.axes[key]), default=None)


def _packet_time(selection: Selection) -> float:
    """Return how long (s) the fastest bottleneck takes for a packet; 0: its rate is not known."""
    rate = selection.base.path.rate if "scenario" in selection.results.attrs else None
    rates = np.asarray(selection.number("path.rate", rate or 0.0), dtype=float)
    return _PACKET / float(rates.max()) if rates.max() > 0 else 0.0
