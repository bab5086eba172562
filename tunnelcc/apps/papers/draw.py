# SPDX-License-Identifier: GPL-2.0-only
"""Figures of a reproduction: published and simulated values over an axis, over time or as bars.

Lines and points are means over seeds. Bands and bars reach from the smallest to the largest run.
Dotted lines are theory; black stars and dash-dotted lines are published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc import plots
from tunnelcc.apps.papers.claims import axis_number
from tunnelcc.apps.papers.declare import Figure, Quantity
from tunnelcc.apps.papers.observe import Point
from tunnelcc.apps.papers.sheets import UNITS
from tunnelcc.apps.papers.verdicts import Cell, Reproduction, Simulated
from tunnelcc.words.quantities import spaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_BAR = 0.34  # width of a bar; the horizontal positions are 1 apart
_BIN = 0.5  # s, of series over time
_LINES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
_SECOND = "#CC79A7"  # the second of two flows with one congestion control
# Values of an axis that differ by more than this factor are drawn on a logarithmic one.
_LOGARITHMIC = 8
# Labels of ticks are not nearer to each other than this part of the axis.
_APART = 0.08
# Labels of ticks with more letters than this together are turned.
_MOST_LETTERS = 44
# More readings than these are not drawn beside the scenario's.
_MOST_READINGS = 3


def draw(reproduction: Reproduction) -> Drawing | None:
    """Return the drawing of a figure, or None if there is nothing to draw."""
    figure, whole = reproduction.figure, reproduction.simulated
    if not figure.x:
        return _bars(reproduction) if figure.axes and _drawn_as_bars(whole) else None
    values = list(dict.fromkeys(point.axes.get(figure.panels, "") for point in whole.points))
    with plots.panels(len(values)) as (drawing, panels):
        for axes, value in zip(panels, values, strict=True):
            if figure.x == "time":
                _over_time(axes, whole)
            elif not figure.panels:
                _over_axis(axes, reproduction)
            else:  # with the readings, it would have too many lines
                part = whole.select({figure.panels: value})
                _over_axis(axes, Reproduction(Simulated(whole.folder, figure, part)))
                axes.set_title(f"{_name_of(figure, figure.panels)}: {spaced(value)}")
        if figure.panels and not figure.log:  # each panel has set the limit to its own values
            panels[0].set_ylim(0, 1.05 * max(axes.dataLim.y1 for axes in panels))
        plots.finish(drawing, panels, "")
    return drawing


def _name_of(figure: Figure, axis: str) -> str:
    return plots.name_of_key(figure.axes[axis].key or axis, axis, first=1)


def _over_time(axes: Axes, simulated: Simulated) -> None:
    for point in simulated.points:
        flows = _flow_names(point)
        for index, name in enumerate(flows):
            line = _LINES[len(axes.get_lines()) % len(_LINES)]  # tells flows apart in grey
            time, runs = _binned(point, index)
            colour = _SECOND if name in flows[:index] else plots.algorithm_style(name)["color"]
            label = name if len(flows) == 1 else f"{name}, flow {index + 1}"
            others = [spaced(value) for axis, value in point.axes.items() if axis != "cc"]
            label = ", ".join((label, *others, "simulated"))
            low, high = np.min(runs, axis=0), np.max(runs, axis=0)
            axes.fill_between(time, low, high, color=colour, alpha=0.25, linewidth=0)
            axes.plot(time, np.mean(runs, axis=0), color=colour, linestyle=line, label=label)
    _plot_capacity(axes, simulated.points[0])
    for cell in _once(simulated.judged):
        quantity = simulated.figure.quantities[cell.compared.quantity]
        if quantity.measure == "goodput":
            experiment = cell.point.experiment
            ends = (quantity.since or experiment.warmup, quantity.until or experiment.duration)
            label = f"published: {_title(quantity, cell)} {cell.row.published} {cell.unit}"
            axes.plot(ends, [cell.published / 1e6] * 2, "-.", color="black", lw=1.2, label=label)
    axes.set(xlabel="time (s)", ylabel="goodput (Mbit/s)", ylim=(0, None))
    axes.set_xlim(0, simulated.points[0].experiment.duration)


def _once(cells: Sequence[Cell]) -> list[Cell]:
    """Return one cell of each published row."""
    return list({cell.row.line: cell for cell in reversed(cells)}.values())[::-1]


def _plot_capacity(axes: Axes, point: Point) -> None:
    """Draw the rate that the path leaves to TCP: its rate minus the UDP traffic."""
    experiment = point.experiment
    end, sources = experiment.duration, experiment.cross_traffic
    rates = [(0.0, experiment.path.rate), *experiment.path.over_time("rate")]
    moments = {0.0, end, *(time for time, _ in rates), *(it.start for it in sources)}
    moments |= {it.stop for it in sources if it.stop is not None}
    times = sorted(moment for moment in moments if moment <= end)
    left = [
        [rate for since, rate in rates if since <= time][-1]
        - sum(it.rate for it in sources if it.start <= time < (it.stop or math.inf))
        for time in times
    ]
    (line,) = axes.step(times, [rate / 1e6 for rate in left], where="post", color="#777777")
    line.set(linewidth=1, linestyle=":", label="rate left to TCP")


def _binned(point: Point, flow: int) -> tuple[Any, Any]:
    """Return time (s) and the goodputs of a flow in all runs (Mbit/s) in bins."""
    width = max(1, round(_BIN / point.experiment.probe_interval))

    def means(series: Any) -> Any:
        count = len(series) // width
        return series[: count * width].reshape(count, width).mean(axis=1)

    runs = [means(run.goodput[flow]) / 1e6 for run in point.runs if run.goodput is not None]
    return means(point.runs[0].time), runs


def curves(simulated: Simulated) -> list[list[Point]]:
    """Return the points along ``x``, one list for each combination of the other axes."""
    grouped: dict[tuple[str, ...], list[Point]] = {}
    for point in simulated.points:
        others = tuple(value for name, value in point.axes.items() if name != simulated.figure.x)
        grouped.setdefault(others, []).append(point)
    return list(grouped.values())


def _over_axis(axes: Axes, reproduction: Reproduction) -> None:
    simulated, figure = reproduction.simulated, reproduction.figure
    drawn = {name: it for name, it in figure.quantities.items() if it.plot}
    first = next(iter(drawn.values()))
    shown = {name: it for name, it in drawn.items() if it.unit == first.unit}
    others = [(reading, it) for _, reading, it in reproduction.readings if it is not simulated]
    others = others if len(others) <= _MOST_READINGS else []
    taken = [it.title for _, it, other in reproduction.readings if others and other is simulated]
    note = f"{taken[0]} (as simulated)" if taken else "simulated"
    for number, curve in enumerate(curves(simulated)):
        for name in shown:
            _plot_curve(axes, curve, name, figure, number, "" if figure.panels else note)
    for index, (reading, other) in enumerate(others):
        line = _LINES[1 + index % 4]
        pairs = zip(curves(other), curves(simulated), strict=True)
        for number, (curve, reference) in enumerate(pairs):
            for name in shown:  # thin lines where it differs from the scenario's
                x, y = _line(curve, name, figure)
                if shown[name].is_of_runs and not np.allclose(
                    y, _line(reference, name, figure)[1], rtol=0.02
                ):
                    style, label = look(curve[0], name, figure, number)
                    label = ", ".join((label, *_places(curve[0], figure), reading.title))
                    axes.plot(x, y, color=style["color"], lw=0.9, linestyle=line, label=label)
    _plot_published(axes, simulated, shown)
    if figure.draw is not None:
        figure.draw(axes, simulated)
    _set_ticks(axes, list(dict.fromkeys(point.axes[figure.x] for point in simulated.points)))
    axes.set_xlabel(_name_of(figure, figure.x))
    if not figure.log:
        axes.set_ylim(0, None)
    else:
        means = [point.mean(name) for point in simulated.points for name in shown]
        positive = [it / UNITS[first.unit] for it in means if 0 < it < math.inf] or [1.0]
        axes.set_yscale("log")  # what is 0 is below
        axes.set_ylim(min(positive) / 1.5, 1.5 * axes.dataLim.y1)
        axes.yaxis.set_major_formatter(lambda value, _: plots.plain(value))
    measures = {it.measure for it in shown.values() if it.measure}
    names = measures if len(shown) > 1 and measures else {first.title or next(iter(shown))}
    axes.set_ylabel(f"{' or '.join(sorted(names)).replace('_', ' ')} ({first.unit})")


def _set_ticks(axes: Axes, values: Sequence[str]) -> None:
    """Label the values of an axis, but those whose labels would lie on the one before."""
    places = [axis_number(value) for value in values]
    if min(places) > 0 and max(places) / min(places) > _LOGARITHMIC:
        axes.set_xscale("log")
    to_axes = axes.transScale + axes.transLimits
    labels, last = [], -math.inf
    for place, value in zip(places, values, strict=True):
        x = to_axes.transform((place, 1))[0]
        labels.append(spaced(value) if x - last >= _APART else "")
        last = x if labels[-1] else last
    turn = 30 if sum(len(label) + 2 for label in labels) > _MOST_LETTERS else 0
    end = "right" if turn else "center"
    axes.set_xticks(places, labels, rotation=turn, rotation_mode="anchor", ha=end)
    axes.minorticks_off()


def _line(curve: Sequence[Point], name: str, figure: Figure) -> tuple[list[float], list[float]]:
    """Return the positions of a curve on the axis, and its means in the shown unit."""
    scale = UNITS[figure.quantities[name].unit]
    x = [axis_number(point.axes[figure.x]) for point in curve]
    return x, [point.mean(name) / scale for point in curve]


def _plot_curve(
    axes: Axes, curve: Sequence[Point], name: str, figure: Figure, number: int, note: str
) -> None:
    (x, y), scale = _line(curve, name, figure), UNITS[figure.quantities[name].unit]
    if not figure.quantities[name].is_of_runs:
        label = figure.title_of(name)
        label = label if label not in axes.get_legend_handles_labels()[1] else "_"
        axes.plot(x, y, ":", color="#444444", label=label)
        return
    style, label = look(curve[0], name, figure, number)
    places = _places(curve[0], figure)
    if not figure.panels:  # these have many lines, and bands would hide them
        low, high = (np.array([it.spread(name)[end] for it in curve]) / scale for end in (0, 1))
        axes.fill_between(x, low, high, color=style["color"], alpha=0.25, linewidth=0)
        places = [label, *places, note]
    elif "cc" in figure.axes:
        places = [plots.algorithm_label(label), *places]
    axes.plot(x, y, markersize=4, label=", ".join(places or [figure.title_of(name)]), **style)


def _places(point: Point, figure: Figure) -> list[str]:
    """Return the values of the axes that tell curves apart, except the algorithms."""
    return [spaced(plots.algorithm_label(point.axes[axis])) for axis in _others(figure)]


def _others(figure: Figure) -> list[str]:
    """Return the axes with one curve per value, except the algorithms."""
    return [axis for axis in figure.axes if axis not in (figure.x, figure.panels, "cc")]


def look(point: Point, name: str, figure: Figure, number: int) -> tuple[dict[str, Any], str]:
    """Return the style and label of a curve, which is the ``number``-th.

    Colours and markers distinguish algorithms, and dashes the values of another axis. If there is
    only that axis, all three do.
    """
    quantity, label, rank = figure.quantities[name], figure.title_of(name), 0
    if others := _others(figure):
        value, given = point.axes[others[0]], figure.axes[others[0]].given
        rank = given.index(value) if given else number
    if "cc" in figure.axes:
        label = point.axes["cc"]
    elif others:
        is_algorithm = figure.panels and value in plots.ALGORITHMS
        # Category 0 is black, as what is published.
        style = plots.algorithm_style(value) if is_algorithm else plots.category_style(1 + rank)
        return style, label
    flows = _flow_names(point)
    flow = min(quantity.flow or 0, len(flows) - 1)
    style = plots.algorithm_style(flows[flow])
    if quantity.flow is not None and flows[flow] in flows[:flow]:
        style["color"] = _SECOND
    alike = [  # of one algorithm: dashes tell them apart in grey
        it
        for it, other in figure.quantities.items()
        if other.plot and other.is_of_runs
        and flows[min(other.flow or 0, len(flows) - 1)] == flows[flow]
    ]  # fmt: skip
    rank += alike.index(name) if name in alike else 0
    return {**style, "linestyle": _LINES[rank % len(_LINES)]}, label


def _plot_published(axes: Axes, simulated: Simulated, shown: Mapping[str, Quantity]) -> None:
    for cell in _once([it for it in simulated.cells if it.compared.quantity in shown]):
        quantity = shown[cell.compared.quantity]
        value, is_judged = cell.published / UNITS[quantity.unit], cell.compared.is_judged
        if place := cell.row.columns.get(simulated.figure.x):
            label = "published" if is_judged else "published, without a verdict"
            label = label if label not in axes.get_legend_handles_labels()[1] else "_"
            style: dict[str, Any] = {"fillstyle": "full" if is_judged else "none", "label": label}
            axes.plot([axis_number(place)], [value], "k*", markersize=9, zorder=5, **style)
        elif is_judged:
            label = f"published: {_title(quantity, cell)} {cell.row.published}"
            axes.axhline(value, color="black", linestyle="-.", linewidth=1, label=label)


def _title(quantity: Quantity, cell: Cell) -> str:
    return ", ".join(filter(None, (cell.row.columns.get("cc"), quantity.title)))


def _flow_names(point: Point) -> list[str]:
    return [flow.cc.name for flow in point.experiment.flows for _ in range(flow.count)]


def _drawn_as_bars(simulated: Simulated) -> list[Cell]:
    """Return the judged cells of quantities that are drawn."""
    quantities = simulated.figure.quantities
    return [cell for cell in simulated.judged if quantities[cell.compared.quantity].plot]


def _bars(reproduction: Reproduction) -> Drawing:
    """Draw published values as bars, and simulated ones as points with spread and ratio.

    The axes in order: panels, series, horizontal axis. One with a single value needs no place.
    """
    figure, cells = reproduction.figure, _drawn_as_bars(reproduction.simulated)
    names = [name for name in figure.axes if len(_values(cells, name)) > 1]
    names = names or list(figure.axes)[-1:]
    panel, series, across = ("", "", *names) if len(names) == 1 else (names[0], *names[-2:])
    values = _values(cells, panel)
    with plots.panels(len(values)) as (drawing, panels):
        for axes, value in zip(panels, values, strict=True):
            _plot_bars(axes, _select(cells, panel, value), series, across)
            axes.set_title(spaced(value))
            axes.set_xlabel(_name_of(figure, across))
            unit = "" if cells[0].unit == "1" else f" ({cells[0].unit})"
            axes.set_ylabel(f"{figure.title_of(cells[0].compared.quantity)}{unit}")
        panels[0].set_ylim(0, 1.08 * panels[0].get_ylim()[1])  # room for the ratios
        plots.finish(drawing, panels, figure.title, "numbers: simulated / published")
    return drawing


def _plot_bars(axes: Axes, cells: Sequence[Cell], series: str, across: str) -> None:
    names, positions = _values(cells, series), _values(cells, across)
    for index, name in enumerate(names):
        shift = (index - (len(names) - 1) / 2) * (_BAR + 0.04)
        style, prefix = plots.algorithm_style(name), f"{spaced(name)}, "
        if series != "cc" and len(names) == 1:  # the panel's title says what they are of
            style, prefix = plots.category_style(2), ""
        labels = {f"{prefix}published", f"{prefix}simulated"}
        chosen = _select(cells, series, name)  # of several numbers at one place, the last
        for cell in {cell.point.axes[across]: cell for cell in chosen}.values():
            at = positions.index(cell.point.axes[across]) + shift
            _plot_cell(axes, at, cell, style, labels, prefix)
    fitted = {cell.point.axes[across] for cell in cells if cell.is_calibrated}
    ticks = [spaced(it) + " (calibrated)" * (it in fitted) for it in positions]
    turn = 30 if sum(map(len, positions)) > _MOST_LETTERS else 0
    ticks = ticks if turn else [fill(tick, 12) for tick in ticks]
    end = "right" if turn else "center"
    axes.set_xticks(range(len(ticks)), ticks, rotation=turn, rotation_mode="anchor", ha=end)
    if len(ticks) == 1:  # a bar as wide as the panel looks like its background
        axes.set_xlim(-1.5, 1.5)


def _plot_cell(
    axes: Axes, at: float, cell: Cell, style: Mapping[str, Any], labels: set[str], prefix: str
) -> None:
    """Draw a published number or range as a bar, a bound as a line with its text.

    ``labels``: those that the legend does not have yet.
    """

    def label(what: str) -> str:
        text = f"{prefix}{what}"
        is_new = text in labels
        labels.discard(text)
        return text if is_new else "_"

    it, scale, colour = cell.row.published, UNITS[cell.unit], style["color"]
    if math.isinf(it.high) or it.text.startswith("<"):
        value, is_least = it.middle / scale, math.isinf(it.high)
        axes.plot([at - _BAR / 2, at + _BAR / 2], [value] * 2, color=colour, lw=1.5)
        va = "top" if is_least else "bottom"
        text = f"{it.text} ↑" if is_least else f"{it.text} ↓"
        axes.annotate(text, (at, value), color=colour, va=va, **_beside(-3 if is_least else 3))
    else:
        bottom = 0.0 if it.is_number else it.low / scale
        told = label("published")
        axes.bar(at, it.high / scale - bottom, _BAR, bottom, color=colour, alpha=0.25, label=told)
    low, high = cell.spread
    # The mean of equal numbers may be rounded to beyond them.
    spread = [[max(0.0, cell.value - low) / scale], [max(0.0, high - cell.value) / scale]]
    axes.errorbar(
        at, cell.value / scale, yerr=spread, color=colour, marker=style["marker"], markersize=5,
        markeredgecolor="black", markeredgewidth=0.6, capsize=3, label=label("simulated"),
        linestyle="none",
    )  # fmt: skip
    if it.is_number:
        top = (at, max(cell.published, high) / scale)
        axes.annotate(f"{cell.ratio:.2f}", top, color=colour, **_beside(5))


def _beside(points: float) -> dict[str, Any]:
    """Return where a text is: so far above a place."""
    return {"xytext": (0, points), "textcoords": "offset points", "ha": "center", "fontsize": 9}


def _values(cells: Sequence[Cell], axis: str) -> list[str]:
    return list(dict.fromkeys(cell.point.axes.get(axis, "") for cell in cells))


def _select(cells: Sequence[Cell], axis: str, value: str) -> list[Cell]:
    """Return the cells with that value of the axis, or all without an axis."""
    return [cell for cell in cells if cell.point.axes.get(axis, "") == value]
