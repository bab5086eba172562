# SPDX-License-Identifier: GPL-2.0-only
"""Figure of one run over time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc import core
from tunnelcc.config import derived
from tunnelcc.plots.network import draw_network, has_network, network_height
from tunnelcc.plots.style import STYLE, algorithm_style, check_file, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tunnelcc.simulation.result import Result

# With more flows than this, single lines say nothing: the spread over flows is drawn instead.
_MOST_LINES = 8
# With less goodput than this part of the bottleneck's rate, its line would only flatten the rest.
_LEAST_OF_CAPACITY = 0.3
# From here on above the bottleneck's rate a goodput is explained.
_MOST_OF_CAPACITY = 1.1
# How much of its colour the last of several flows of an algorithm keeps.
_PALEST = 0.35


def plot_run(result: Result, file: str | Path | None = None) -> Figure:
    """Draw goodput, data in flight and queueing delay of a run over time.

    With several links or tunnels, the network is above them. ``file``: also save the figure as PNG,
    SVG or PDF. Raises ConfigError for other formats and for a file that cannot be written.
    """
    if file is not None:
        check_file(Path(file))
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        extra = network_height(result) if has_network(result) else 0.0
        figure = Figure(figsize=(7.2, 7.0 + extra))
        if extra:
            panels = figure.subplots(4, 1, height_ratios=(extra, 2.8, 1.9, 1.9))
            draw_network(panels[0], result, _group_colours(result))
        else:
            panels = figure.subplots(3, 1, height_ratios=(3, 2, 2))
        top, middle, bottom = panels[-3:]
        for axes in (top, middle):
            axes.sharex(bottom)
            axes.tick_params(labelbottom=False)
        _plot_goodput(top, result)
        _plot_in_flight(middle, result)
        _plot_queue_delay(bottom, result)
        bottom.set_xlabel("time (s)")
        bottom.set_xlim(0, result.experiment.duration)
        for axes in (top, middle, bottom):
            axes.set_ylim(bottom=0)
            if result.experiment.warmup:
                axes.axvspan(0, result.experiment.warmup, color="#EEEEEE", linewidth=0, zorder=0)
        figure.suptitle(result.heading, fontsize=10)
        if file is not None:
            save(figure, Path(file))
    return figure


def _plot_goodput(axes: Axes, result: Result) -> None:
    time, names = result.raw.time, _algorithms(result)
    series = np.array([flow.goodput for flow in result.raw.flows]) / 1e6
    if len(series) > 1:
        series = _smooth(series, time)
    _plot_flows(axes, time, series, names)
    capacity, label = _bottleneck_rate(result) / 1e6, "bottleneck rate"
    if len(series) > _MOST_LINES:
        capacity, label = capacity / len(series), f"bottleneck rate / {len(series)}"
    elif len(series) > 1:
        series = series.sum(axis=0, keepdims=True)
        axes.plot(time, series[0], color="#777777", linewidth=1, label="all flows together")
    if np.max(series, initial=0) > _LEAST_OF_CAPACITY * capacity:
        axes.axhline(capacity, color="black", linewidth=1, linestyle=":", label=label)
    else:
        axes.plot([], [], " ", label=f"{label} {capacity:.4g} Mbit/s, not shown")
    axes.set_ylabel("goodput (Mbit/s)")
    is_above = np.max(series, initial=0) > _MOST_OF_CAPACITY * capacity
    note = " (peaks above the rate: data that had waited for a lost packet)"
    axes.set_title("Goodput of each flow" + note * bool(is_above), fontsize=9)
    figure = axes.get_figure()
    assert figure is not None
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )


def _plot_in_flight(axes: Axes, result: Result) -> None:
    legs = [result.path_leg(flow) for flow in result.legs]
    mss = derived.carried_mss(result.experiment)
    flights = np.array([leg.in_flight for leg in legs]) / 1e6
    windows = np.array([leg.cwnd for leg in legs]) * mss / 1e6
    names = _algorithms(result)  # also of flows with a carrier: their colours are those above
    _plot_flows(axes, result.raw.time, flights, names)
    if len(legs) <= _MOST_LINES:
        # A window far above what is in flight (limited by a buffer) is cut off, not squeezed in.
        colours = _colours(names)
        for index, window in enumerate(windows):
            axes.plot(result.raw.time, window, color=colours[index], linewidth=0.7, linestyle=":")
        axes.set_ylim(0, 2 * max(float(flights.max(initial=0)), mss / 1e6))
    axes.set_ylabel("data in flight (MB)")
    lines = " (dotted: congestion window)" if len(legs) <= _MOST_LINES else ""
    axes.set_title(f"In flight across the path{lines}")


def _bottleneck_rate(result: Result) -> float:
    """Return the rate (bit/s) of the bottleneck in the direction of the data."""
    name, is_reverse = result.layout.bottleneck
    link = result.layout.topology.links[name].path
    return (link.backward.rate if is_reverse else None) or link.rate or math.nan


def _plot_queue_delay(axes: Axes, result: Result) -> None:
    link = result.bottleneck[0]
    delay = 8 * np.asarray(link.queue_bytes) / _bottleneck_rate(result) * 1e3
    axes.plot(result.raw.time, delay, color="#555555")
    axes.set_ylabel("queueing delay (ms)")
    axes.set_title(f"Queueing delay at the bottleneck ({link.drops} packets dropped)")


def _algorithms(result: Result) -> list[str]:
    """Return the congestion control of each flow's application."""
    return [placed.flow.cc.name for placed in result.layout.flows]


def _group_colours(result: Result) -> list[Any]:
    """Return the colour of the first of each group of flows, or a shade where flows have none."""
    names, groups = _algorithms(result), [placed.group for placed in result.layout.flows]
    firsts = [groups.index(group) for group in dict.fromkeys(groups)]
    if len(names) <= _MOST_LINES:
        colours = _colours(names)
        return [colours[first] for first in firsts]
    return _colours([names[first] for first in firsts])


def _plot_flows(axes: Axes, time: Any, series: Any, names: list[str]) -> None:
    """Draw a line for each flow, or mean and range of an algorithm's flows if there are many."""
    colours = _colours(names)
    for name in dict.fromkeys(names):
        members = [index for index, other in enumerate(names) if other == name]
        style = algorithm_style(name)
        style["markevery"] = (0.05, 0.1)
        style["markersize"] = 3.5
        shown = core.congestion_label(name)
        if len(names) <= _MOST_LINES:
            for index in members:
                label = f"flow {index}, {shown}" if len(names) > 1 else shown
                axes.plot(time, series[index], label=label, **{**style, "color": colours[index]})
            continue
        rows = series[members]
        low, high = np.min(rows, axis=0), np.max(rows, axis=0)
        axes.fill_between(time, low, high, color=style["color"], alpha=0.2, linewidth=0)
        label = f"{shown} ({len(rows)}: mean; band: least to most)"
        axes.plot(time, np.mean(rows, axis=0), label=label, **style)


def _colours(names: list[str]) -> list[Any]:
    """Return the algorithm's colour for each flow, paler for each further flow."""
    from matplotlib.colors import to_rgb

    found = []
    for index, name in enumerate(names):
        before, count = names[:index].count(name), names.count(name)
        kept = 1 - (1 - _PALEST) * before / max(count - 1, 1)
        colour = np.array(to_rgb(algorithm_style(name)["color"]))
        found.append(tuple(kept * colour + (1 - kept)))
    return found


def _smooth(series: Any, time: Any) -> Any:
    """Mean over half a second, so that single flows are distinguishable."""
    width = int(0.5 / (time[1] - time[0])) if len(time) > 1 else 1
    if width < 2 or series.shape[1] < 2 * width:
        return series
    weights = np.convolve(np.ones(series.shape[1]), np.ones(width), "same")
    return np.array([np.convolve(row, np.ones(width), "same") / weights for row in series])
