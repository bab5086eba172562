# SPDX-License-Identifier: GPL-2.0-only
"""Differences between conditions that were run with the same seeds, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.metrics import entries, paired
from tunnelcc.metrics.paired import Difference
from tunnelcc.metrics.question import question
from tunnelcc.plots import scales
from tunnelcc.plots.layout import finish, panels
from tunnelcc.plots.selection import Selection

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# Conditions that a figure has room for.
_MOST = 60
_ROW = 0.24  # inches
_DECIDED, _UNDECIDED = "#0072B2", "#888888"


def differences(
    results: xarray.Dataset,
    y: str = "goodput",
    to: str | None = None,
    found: Mapping[tuple[int, ...], Difference] | None = None,
) -> Figure:
    """Draw the difference of each condition to a reference, and its interval.

    ``y``: metric; of flows, see Selection.of_runs(). ``to``: the reference, as for question().
    ``found``: the differences, by the places of conditions along the axes, if they are known
    already. Hollow marks: the runs do not show which is more. Raises ConfigError.
    """
    selection = Selection(results)
    values = selection.metric_with_values(y, "--y")
    scale = scales.scale_of(values)
    whose = entries.whose(selection.told_entry(y)) if "flow" in values.dims else ""
    values = selection.of_runs(values)
    axes = {
        key: (str(axis.dims[0]), scales.written(axis), not scales.is_number(axis))
        for key, axis in selection.axes.items()
        if key != "rtt_ratio"
    }
    labels = {
        key: texts if not is_names else scales.names_of(selection.axes[key])
        for key, (_, texts, is_names) in axes.items()
    }
    asked = question(axes, to)
    dims = [str(dim) for dim in values.dims if dim != "seed"]
    runs = values.transpose(*dims, "seed").values
    pairs = {} if asked is None else dict(asked.pairs(dims, runs.shape[:-1]))
    if asked is None or not pairs or runs.shape[-1] < 2:
        expected = "a sweep with several conditions and seeds, to compare"
        raise ConfigError(Problem("results", MISSING, expected))
    if len(pairs) > _MOST:
        expected = f"at most {_MOST} conditions; --at selects some"
        raise ConfigError(Problem("results", f"{len(pairs)} conditions", expected))
    confidence = paired.each_of(len(pairs))
    if found is None:
        found = {
            point: paired.difference(runs[point], runs[other], confidence)
            for point, other in pairs.items()
        }
    shown = {point: it for point, it in found.items() if it.pairs > 1}
    is_ratio = all(it.is_ratio for it in shown.values())
    shown = {point: it for point, it in shown.items() if it.is_ratio == is_ratio}
    factor = 100.0 if is_ratio else scale.factor
    with panels(1) as (figure, (ax, *_)):
        figure.set_figheight(1.5 + _ROW * max(len(shown), 3))
        names = []
        for row, (point, it) in enumerate(shown.items()):
            at = dict(zip(dims, point, strict=True))
            names.append("  ".join(labels[key][at[dim]] for key, (dim, *_) in axes.items()))
            is_decided = it.verdict != "undecided"
            colour = _DECIDED if is_decided else _UNDECIDED
            ax.errorbar(
                factor * it.mean, row,
                # Rounded, an end may be on the other side of a mean that it equals.
                xerr=[[factor * max(it.mean - it.low, 0)], [factor * max(it.high - it.mean, 0)]],
                fmt="o", color=colour, markerfacecolor=colour if is_decided else "white",
                markersize=4.5, capsize=3, linewidth=1.2,
            )  # fmt: skip
        ax.axvline(0, color="black", linewidth=0.8, zorder=1)
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.grid(visible=False, axis="y")
        name = scales.name_of(results[y]) + whose
        unit = "%" if is_ratio else scale.unit
        ax.set_xlabel(f"{name}: difference to {asked.name}" + (f" ({unit})" if unit else ""))
        note = (
            f"same seeds; intervals hold together with {paired.CONFIDENCE:.0%} confidence"
            "\nhollow: not decided"
        )
        finish(figure, [ax], selection.title(), note)
    return figure
