# SPDX-License-Identifier: GPL-2.0-only
"""Competing flows over time: whether they converge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.plots import scales
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.selection import MOST_FLOWS, Selection
from tunnelcc.plots.style import category_style

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

#: The series of the flows' goodputs in results that have series.
GOODPUT = "flow_goodput_series"
# Time (s) over which goodput is averaged, so that flows can be told apart.
_SMOOTHED = 1.0


def series(
    results: xarray.Dataset, facet: str | None = None, at: Mapping[str, object] | None = None
) -> Figure:
    """Draw each flow's goodput over time, averaged over one second; mean and range over seeds.

    ``results``: with series. ``facet``, ``at``: as for curves(). Raises ConfigError.
    """
    selection = Selection(results, at)
    if GOODPUT not in selection.results:
        raise ConfigError(Problem("results", MISSING, "results with series over time"))
    facet = facet and selection.key(facet)
    if facet is not None:
        selection.axis(facet, "--facet")
    selection.use(None, facet)
    flows = selection.results.sizes["flow"]
    if flows > MOST_FLOWS:
        raise ConfigError(Problem("results", f"{flows} flows", f"at most {MOST_FLOWS} flows"))
    scale = scales.scale_of(selection.results[GOODPUT])
    parts = list(selection.points(facet))
    with panels(len(parts)) as (figure, axes):
        for ax, (heading, part) in zip(axes, parts, strict=True):
            goodput = part.results[GOODPUT]
            time = goodput["time"].values
            step = float(time[1] - time[0]) if time.size > 1 else _SMOOTHED
            width = max(1, round(_SMOOTHED / step))
            smooth = goodput.rolling(time=width, center=True, min_periods=1).mean()
            for place, line in enumerate(part.lines(smooth, "flow")):
                values = scale.factor * line.values.transpose("seed", "time").values
                if np.isnan(values).all():
                    continue  # there are fewer flows here
                # Lines tell flows apart in grey. Markers would look like samples.
                look = {**line.style, "marker": "", "linestyle": category_style(place)["linestyle"]}
                ax.plot(time, np.mean(values, axis=0), label=line.label, **look)
                ax.fill_between(
                    time, values.min(axis=0), values.max(axis=0),
                    color=look["color"], alpha=0.18, linewidth=0,
                )  # fmt: skip
            ax.set(xlabel="time (s)", ylabel=scale.label("goodput, mean of 1 s"))
            ax.set_xlim(0, time[-1])
            ax.set_ylim(bottom=0)
            ax.set_title(heading)
        title = selection.title()
        if selection.results.sizes.get("seed", 1) > 1:
            title = ", ".join(part for part in (title, "bands: range over the seeds") if part)
        finish(figure, axes, title)
    return figure
