# SPDX-License-Identifier: GPL-2.0-only
"""A metric over an axis: one line or bar per group, one panel per value of another axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.metrics import entries
from tunnelcc.plots import scales
from tunnelcc.plots.bars import draw_bars
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.limits import limits_told
from tunnelcc.plots.scales import Positions
from tunnelcc.plots.selection import BY_FLOW, MOST_NAMED, Line, Selection
from tunnelcc.plots.spread import explained, spread
from tunnelcc.plots.style import algorithm_style
from tunnelcc.plots.theory import TheoryLine, capacity, experiments, theory_lines
from tunnelcc.words.quantities import Scale

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Times until something happens, which may be after the end of the run.
_TIMES = ("convergence_time", "completion_time")
# Metrics that only flows with an end can have.
_OF_FINITE = ("flow_completion_time", "flow_completed")
# Metrics that are parts of one whole or indices.
_UNIT_RANGE = (
    "jain", "jain_users", "jain_carriers", "jain_tunnels", "flow_share", "flow_tunnel_share",
    "efficiency", "utilisation", "flow_completed",
)  # fmt: skip
# A theory line far above every run would only flatten them.
_MOST_ABOVE = 1.6


def curves(
    results: xarray.Dataset,
    x: str,
    y: str,
    by: str | None = None,
    facet: str | None = None,
    at: Mapping[str, object] | None = None,
    theory: bool = True,
) -> Figure:
    """Draw the metric ``y`` over the axis ``x``: mean, least and most over seeds.

    An axis of numbers gives lines; an axis of names (tunnels, algorithms) gives bars.

    - ``by``: axis with one line per value; for metrics of one flow also ``cc`` (default) or
      ``flow``. More than 12 flows have thin lines without bands, and a name for each entry of
      ``flows``.
    - ``facet``: axis with one panel per value.
    - ``at``: axis → its only value.
    - ``theory``: draw lines for capacity and theory if they apply.

    Raises ConfigError.
    """
    selection = Selection(results, at)
    x = selection.key(x)
    by, facet = (key and selection.key(key) for key in (by, facet))
    has_numbers = scales.is_number(selection.axis(x, "--x"))
    per_flow = "flow" in selection.metric(y, "--y").dims
    if by is not None and not (per_flow and by in BY_FLOW):
        selection.axis(by, "--by")
    if facet is not None:
        selection.axis(facet, "--facet")
    selection.use(x, by, facet)
    selection.metric_with_values(y, "--y")
    if y in _OF_FINITE:
        selection.results = selection.results.isel(flow=selection.ever_finite_flows)
    scale = scales.scale_of(selection.results[y])
    parts = list(selection.points(facet))
    with panels(len(parts)) as (figure, axes):
        drawn = []
        for ax, (heading, part) in zip(axes, parts, strict=True):
            ax.set_title(heading)
            if has_numbers:
                drawn.append(_panel(ax, part, x, y, by, scale, theory))
            else:
                drawn.append(np.full((3, 1), draw_bars(ax, part, x, y, by, scale)))
        _set_limits(axes, drawn, y, is_log=has_numbers)
        is_of_runs = per_flow and by is not None and by not in BY_FLOW
        whose = entries.whose(selection.told_entry(y, by)) if is_of_runs else ""
        for ax in axes[: len(parts)]:
            ax.set_ylabel(scale.label(scales.name_of(selection.results[y]) + whose))
        what = "bands" if has_numbers else "whiskers"
        if by == "flow" and selection.results.sizes["flow"] > MOST_NAMED:
            what = ""
        note = explained(selection.results["goodput"], what)
        finish(figure, axes, selection.title(), note, limits_told(selection))
    return figure


def _panel(
    axes: Axes,
    part: Selection,
    x: str,
    y: str,
    by: str | None,
    scale: Scale,
    theory: bool,
) -> Any:
    """Draw one panel. Return means, and lower and upper ends of bands; shape (3, points)."""
    coordinate = part.axes[x]
    positions = Positions(coordinate)
    lines = list(part.lines(part.results[y], by))
    drawn = [_draw(axes, line, coordinate, positions, scale, part.gaps) for line in lines]
    points = np.concatenate(drawn, axis=1) if drawn else np.empty((3, 0))
    if theory:
        span = positions.span()
        runs = experiments(part, x, y)
        names = {line.algorithm for line in lines}
        for found in theory_lines(runs, x, y, span, names):
            _draw_theory(axes, found, positions, scale)
        limit = capacity(runs, x, y, span)
        if limit is not None:
            highest = float(np.nanmax(points[0], initial=0.0))
            _draw_capacity(axes, limit, positions, scale, highest)
    positions.draw(axes, scales.name_of(coordinate))
    return points


def _draw(
    axes: Axes,
    line: Line,
    coordinate: xarray.DataArray,
    positions: Positions,
    scale: Scale,
    gaps: bool,
) -> Any:
    """Draw one line and its band. Return means and ends of the band; shape (3, points)."""
    dim = coordinate.dims[0]
    found = spread(line.values.transpose(dim, "seed"))
    order = np.argsort(coordinate.values, kind="stable")
    if gaps:
        order = order[np.isfinite(found["mean"].values[order])]
    at = positions.of(coordinate.values[order])
    mean, low, high = (scale.factor * found[name].values[order] for name in ("mean", "low", "high"))
    style = {"markersize": 4.5, **line.style}
    if coordinate.name != dim and not (np.diff(coordinate.values) > 0).all():
        style["linestyle"] = "none"  # points of a random sample: the other axes vary, too
    axes.plot(at, mean, label=line.label, **style)
    if line.is_one_of_many:
        return np.array([mean, mean, mean])
    if np.isfinite(low).any():
        axes.fill_between(at, low, high, color=style["color"], alpha=0.18, linewidth=0)
    if str(line.values.name).endswith(_TIMES):
        _draw_unfinished(axes, line.values.transpose(dim, "seed").values[order], at, mean, style)
    return np.array([mean, low, high])


def _draw_unfinished(axes: Axes, values: Any, at: Any, mean: Any, style: dict[str, Any]) -> None:
    """Distinguish means over all runs from means over the runs in which the event happened."""
    finished = np.isfinite(values)
    some, none = finished.any(axis=1) & ~finished.all(axis=1), ~finished.any(axis=1)
    plain = {"color": style["color"], "linestyle": "none", "zorder": 3}
    if some.any():
        axes.plot(
            at[some], mean[some], marker=style["marker"], markerfacecolor="white", markersize=5.5,
            label="not in every run (hollow)", **plain,
        )  # fmt: skip
    if none.any():
        axes.plot(
            at[none], np.full(none.sum(), 0.97), marker="x", markersize=6, label="in no run",
            transform=axes.get_xaxis_transform(), **plain,
        )  # fmt: skip


def _draw_theory(axes: Axes, line: TheoryLine, positions: Positions, scale: Scale) -> None:
    colour = algorithm_style(line.algorithm)["color"] if line.algorithm else "black"
    axes.plot(
        positions.of(line.x), scale.factor * line.y, color=colour, linestyle=line.dashes,
        linewidth=1, label=line.label, zorder=1.5, alpha=0.8,
    )  # fmt: skip


def _draw_capacity(
    axes: Axes, line: TheoryLine, positions: Positions, scale: Scale, highest: float
) -> None:
    values = scale.factor * line.y
    if values.min() <= _MOST_ABOVE * highest:
        axes.plot(
            positions.of(line.x), values, color="black", linestyle=":", linewidth=1,
            label=line.label, zorder=1.5,
        )  # fmt: skip


def _set_limits(axes: list[Axes], drawn: list[Any], y: str, *, is_log: bool) -> None:
    """Let the axis reach the ends of all bands. ``drawn``: of each panel, shape (3, points)."""
    means, *_ = points = np.concatenate(drawn, axis=1)
    points = points[np.isfinite(points)]
    if not points.size:
        return
    if is_log and y in ("goodput", "flow_goodput") and scales.is_wide(means):
        axes[0].set_yscale("log")
        axes[0].set_ylim(points[points > 0].min() / 1.6, points.max() * 1.6)
        axes[0].yaxis.set_major_formatter(lambda value, _: scales.plain(value))
        return
    high = 1.12 * float(points.max())
    if y in _UNIT_RANGE and not math.isclose(high, 0):
        high = max(high, 1.04) if points.max() <= 1.5 else max(high, 104.0)
    axes[0].set_ylim(min(0.0, 1.12 * float(points.min())), high or 1.0)
