# SPDX-License-Identifier: GPL-2.0-only
"""Figures of a reproduction: published and simulated values over an axis, over time or as bars.

Lines and points are means over seeds. Bands and bars reach from the smallest to the largest run.
Dotted lines are formulas; black stars and dash-dotted lines are published.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tunnelcc import core
from tunnelcc.papers.claims import axis_number, curves
from tunnelcc.papers.compare import Cell, Reproduction, Simulated
from tunnelcc.papers.format import Figure, Quantity
from tunnelcc.papers.points import Point
from tunnelcc.papers.published import UNITS
from tunnelcc.plots import ALGORITHMS, STYLE, algorithm_style, category_style, scales
from tunnelcc.plots.layout import add_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_SIZE = (5.2, 3.7)  # inches; a third of it is read on a phone
_BAR = 0.34  # width of a bar; the horizontal positions are 1 apart
_BIN = 0.5  # s, of series over time
_LINES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
# Labels of published numbers: before their name, and after it if they are not judged.
_STAR, _OPEN = "published: ", ", without a verdict"
_SECOND = "#CC79A7"  # the second of two flows with one congestion control
# Values of an axis that differ by more than this factor are drawn on a logarithmic one.
_LOGARITHMIC = 8
# A value of an axis with its unit, which are written apart.
_UNIT = re.compile(r"^([\d.]+)([A-Za-z%]+)$")
_UNITS_WRITTEN = {
    "kbps": "kbit/s", "Mbps": "Mbit/s", "Gbps": "Gbit/s", "bdp": "BDP",
}  # fmt: skip
# Labels of ticks are not nearer to each other than this part of the axis.
_APART = 0.055
# Longer labels of vertical axes than this have several lines.
_MOST_LETTERS = 34
# More readings than these are not drawn beside the scenario's.
_MOST_READINGS = 3


def draw(reproduction: Reproduction) -> Drawing | None:
    """Return the drawing of a figure, or None if there is nothing to draw."""
    figure = reproduction.figure
    if figure.x == "time":
        return _panel(_over_time, reproduction)
    if figure.panels is not None:
        return _panels(reproduction)
    if figure.x is not None:
        return _panel(_over_axis, reproduction)
    return _bars(reproduction) if _drawn_as_bars(reproduction) and figure.axes else None


def _panel(plot: Callable[[Axes, Reproduction], None], reproduction: Reproduction) -> Drawing:
    import matplotlib as mpl
    from matplotlib.figure import Figure as Drawing

    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=_SIZE)
        axes = drawing.subplots()
        plot(axes, reproduction)
        _add_legend(drawing, axes)
    return drawing


def _panels(reproduction: Reproduction) -> Drawing:
    """Draw a panel for each value of an axis, one below the other: a phone shows no more."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Drawing

    axis = reproduction.figure.panels
    assert axis is not None
    values = list(dict.fromkeys(point.axes[axis] for point in reproduction.simulated.points))
    key = reproduction.figure.axes[axis].key or axis
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=(_SIZE[0], 1.2 + 2.4 * len(values)))
        column = drawing.subplots(len(values), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, value in zip(column, values, strict=True):
            whole = reproduction.simulated
            part = Simulated(whole.paper, whole.figure, whole.select({axis: value}))
            _over_axis(axes, Reproduction(part))  # with its readings, it would have too many lines
            axes.set_title(f"{scales.name_of_key(key, axis)}: {_spaced(value)}")
            axes.label_outer()
        if not reproduction.figure.log:  # each panel has set the common limit to its own values
            column[0].set_ylim(0, 1.05 * max(axes.dataLim.y1 for axes in column))
        _add_legend(drawing, column[0])
    return drawing


def _add_legend(drawing: Drawing, *panels: Axes) -> None:
    """Explain once what several panels have, and once that stars are published."""
    known: dict[str, Any] = {}
    for axes in panels:
        known |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    stars = [name for name in known if name.startswith(_STAR) and not name.endswith(_OPEN)]
    if len(stars) > 1:
        known["published"], *_ = (known.pop(name) for name in stars)
    if known:
        add_legend(drawing, known)


def _over_time(axes: Axes, reproduction: Reproduction) -> None:
    simulated = reproduction.simulated
    for point in simulated.points:
        flows = _flow_names(point)
        for index, name in enumerate(flows):
            line = _LINES[len(axes.get_lines()) % len(_LINES)]  # tells flows apart in grey
            time, low, mean, high = _binned(point, index)
            style = algorithm_style(name)
            colour = _SECOND if name in flows[:index] else style["color"]
            label = name if len(flows) == 1 else f"{name}, flow {index + 1}"
            others = [_spaced(value) for axis, value in point.axes.items() if axis != "cc"]
            axes.fill_between(time, low, high, color=colour, alpha=0.25, linewidth=0)
            label = ", ".join((label, *others))
            axes.plot(time, mean, color=colour, linestyle=line, label=f"{label}, simulated")
        if len(flows) > 1 and _has_sum(simulated):
            rates = [_binned(point, index) for index in range(len(flows))]
            total = np.sum([mean for _, _, mean, _ in rates], axis=0)
            axes.plot(rates[0][0], total, color="#555555", lw=1, label="both together, simulated")
    _plot_capacity(axes, simulated.points[0])
    drawn = set()
    for cell in simulated.judged:
        quantity = simulated.figure.quantities[cell.compared.quantity]
        if quantity.measure != "goodput" or cell.row.line in drawn:
            continue
        drawn.add(cell.row.line)
        experiment = cell.point.experiment
        ends = (quantity.since or experiment.warmup, quantity.until or experiment.duration)
        label = f"published: {_title(quantity, cell)} {cell.row.published} {cell.unit}"
        axes.plot(ends, [cell.published / 1e6] * 2, "-.", color="black", lw=1.2, label=label)
    axes.set(xlabel="time (s)", ylabel="goodput (Mbit/s)", ylim=(0, None))
    axes.set_xlim(0, simulated.points[0].experiment.duration)


def _has_sum(simulated: Simulated) -> bool:
    """Return whether a published value is of all flows together."""
    quantities = (simulated.figure.quantities[it.compared.quantity] for it in simulated.judged)
    return any(it.measure == "goodput" and it.flow is None for it in quantities)


def _plot_capacity(axes: Axes, point: Point) -> None:
    """Draw the rate that the path leaves to TCP: its rate minus the UDP traffic."""
    experiment = point.experiment
    path, end = experiment.path, experiment.duration
    sources = experiment.cross_traffic
    moments = {0.0, end, *(moment for moment, _ in path.over_time("rate"))}
    moments |= {it.start for it in sources} | {it.stop for it in sources if it.stop is not None}
    times = sorted(moment for moment in moments if moment <= end)

    def left(time: float) -> float:
        rates = [rate for moment, rate in path.over_time("rate") if moment <= time]
        udp = sum(it.rate for it in sources if it.start <= time < (it.stop or math.inf))
        return float(rates[-1] - udp) / 1e6

    values = [left(time) for time in times]
    axes.step(times, values, where="post", color="#777777", lw=1, ls=":", label="rate left to TCP")


def _binned(point: Point, flow: int) -> tuple[Any, Any, Any, Any]:
    """Return time, minimum, mean and maximum over seeds (s, Mbit/s) in bins."""
    time = point.runs[0].time
    assert time is not None
    width = max(1, round(_BIN / point.experiment.probe_interval))
    count = len(time) // width
    rows = []
    for run in point.runs:
        assert run.goodput is not None
        rows.append(run.goodput[flow][: count * width].reshape(count, width).mean(axis=1) / 1e6)
    middle = time[: count * width].reshape(count, width).mean(axis=1)
    return middle, np.min(rows, axis=0), np.mean(rows, axis=0), np.max(rows, axis=0)


def _over_axis(axes: Axes, reproduction: Reproduction) -> None:
    simulated, figure = reproduction.simulated, reproduction.figure
    assert figure.x is not None
    shown = {name: it for name, it in figure.quantities.items() if it.plot}
    first = next(iter(shown.values()))
    shown = {name: it for name, it in shown.items() if it.shown_in == first.shown_in}
    scale = UNITS[first.shown_in]
    for number, curve in enumerate(curves(simulated.points, figure.x)):
        for name, quantity in shown.items():
            _plot_curve(axes, curve, name, quantity, figure, number)
    others = [(reading, it) for _, reading, it in reproduction.readings if it is not simulated]
    others = others if len(others) <= _MOST_READINGS else []
    if others:
        taken = next(it.title for _, it, other in reproduction.readings if other is simulated)
        for line in axes.get_lines():
            label = str(line.get_label())
            line.set_label(label.replace(", simulated", f", {taken} (as simulated)"))
    for reading, other in others:
        _plot_reading(axes, reading.title, other, shown, reproduction)
    _plot_published(axes, simulated, shown, scale)
    _plot_knees(axes, figure)
    x = [axis_number(point.axes[figure.x]) for point in simulated.points]
    values = list(dict.fromkeys(point.axes[figure.x] for point in simulated.points))
    if min(x) > 0 and max(x) / min(x) > _LOGARITHMIC:
        axes.set_xscale("log")
    turn = _turn(values)
    places = [axis_number(value) for value in values]
    axes.set_xticks(
        places, _legible(axes, places, [_spaced(value) for value in values]), rotation=turn,
        rotation_mode="anchor", horizontalalignment="right" if turn else "center",
    )  # fmt: skip
    axes.minorticks_off()
    key = figure.axes[figure.x].key or figure.x
    axes.set_xlabel(scales.name_of_key(key, figure.x, first=1))
    if not figure.log:
        axes.set_ylim(0, None)
    if figure.log or _is_of_powers(figure):  # a proportion is then a line of one slope
        means = [point.mean(name) / scale for point in simulated.points for name in shown]
        positive = [mean for mean in means if 0 < mean < math.inf] or [1.0]
        low, high = axes.get_ylim() if axes.get_yscale() == "log" else (math.inf, 0)
        axes.set_yscale("log")  # what is 0 is below
        high = max(high, 1.5 * (axes.dataLim.y1 if figure.log else max(positive)))
        axes.set_ylim(min(low, min(positive) / 1.5), high)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        _plot_proportions(axes, simulated, scale)
    measures = {it.measure for it in shown.values() if it.measure is not None}
    names = measures if len(shown) > 1 and measures else {first.title or next(iter(shown))}
    text = f"{' or '.join(sorted(names)).replace('_', ' ')} ({first.shown_in})"
    axes.set_ylabel(fill(text, _MOST_LETTERS))


def _is_of_powers(figure: Figure) -> bool:
    """Return whether its claims are about proportions, and none needs a linear axis."""
    kinds = {it.kind for it in figure.claims}
    return "power" in kinds and kinds <= {"power", "equal"}


def _plot_proportions(axes: Axes, simulated: Simulated, scale: float) -> None:
    """Draw the claimed power law through the first point of each curve."""
    for claim in simulated.figure.claims:
        if claim.kind != "power":
            continue
        for curve in curves(simulated.select(claim.where), claim.axis):
            x = np.array([axis_number(point.axes[claim.axis]) for point in curve])
            y = curve[0].mean(claim.quantity) / scale * (x / x[0]) ** claim.exponent
            axes.plot(x, y, color="#999999", lw=0.8, label="in proportion")


def _spaced(value: str) -> str:
    """Return a value of an axis with its unit as figures write it, or any other text as it is."""
    return _UNIT.sub(lambda it: f"{it[1]} {_UNITS_WRITTEN.get(it[2], it[2])}", value)


def _legible(axes: Axes, places: Sequence[float], texts: Sequence[str]) -> list[str]:
    """Return the labels of ticks at ``places``, without those that would lie on the one before."""
    to_axes = axes.transScale + axes.transLimits
    shown: list[str] = []
    last = -math.inf
    for place, text in zip(places, texts, strict=True):
        x = to_axes.transform((place, 1))[0]
        is_far = x - last >= _APART
        shown.append(text if is_far else "")
        last = x if is_far else last
    return shown


def _turn(values: Sequence[str], most: int = 50) -> int:
    return 30 if sum(len(value) + 2 for value in values) > most else 0


def _plot_curve(
    axes: Axes, curve: Sequence[Point], name: str, quantity: Quantity, figure: Figure, number: int
) -> None:
    assert figure.x is not None
    scale = UNITS[quantity.shown_in]
    x = [axis_number(point.axes[figure.x]) for point in curve]
    y = [point.mean(name) / scale for point in curve]
    style, label = _look(curve[0], name, quantity, figure, number)
    if not figure.is_of_runs(name):
        label = figure.title_of(name)
        if label not in axes.get_legend_handles_labels()[1]:
            axes.plot(x, y, ":", color="#444444", label=label)
        return
    low = [point.spread(name)[0] / scale for point in curve]
    high = [point.spread(name)[1] / scale for point in curve]
    if figure.panels is None:  # these have many lines, and bands would hide them
        axes.fill_between(x, low, high, color=style["color"], alpha=0.25, linewidth=0)
    places = _places(curve[0], figure)
    if figure.panels is None:
        places = [label, *places, "simulated"]
    elif "cc" in figure.axes:
        places = [core.congestion_label(label), *places]
    elif not places:
        places = [figure.title_of(name)]
    axes.plot(x, y, markersize=4, label=", ".join(places), **style)


def _places(point: Point, figure: Figure) -> list[str]:
    """Return the values of the axes that tell curves apart, except the algorithms."""
    return [_spaced(core.congestion_label(point.axes[axis])) for axis in _others(figure)]


def _others(figure: Figure) -> list[str]:
    """Return the axes with one curve per value, except the algorithms."""
    return [axis for axis in figure.axes if axis not in (figure.x, figure.panels, "cc")]


def _rank(figure: Figure, point: Point, number: int) -> int:
    """Return the position of a curve, which is the ``number``-th, on the first of _others()."""
    others = _others(figure)
    if not others:
        return 0
    values = figure.axes[others[0]].values
    return list(values).index(point.axes[others[0]]) if values else number


def _look(
    point: Point, name: str, quantity: Quantity, figure: Figure, number: int
) -> tuple[dict[str, Any], str]:
    """Return the style and label of a curve.

    Colours and markers distinguish algorithms, and dashes the values of another axis. If there is
    only that axis, all three do.
    """
    label = figure.title_of(name)
    rank = _rank(figure, point, number)
    if "cc" in figure.axes:
        label = point.axes["cc"]
    elif _others(figure):
        value = point.axes[_others(figure)[0]]
        is_algorithm = figure.panels is not None and value in ALGORITHMS
        # Category 0 is black, as what is published.
        return algorithm_style(value) if is_algorithm else category_style(1 + rank), label
    flows = _flow_names(point)
    flow = min(quantity.flow or 0, len(flows) - 1)
    style = algorithm_style(flows[flow])
    same = [it for it, other in figure.quantities.items() if other.flow is not None and other.plot]
    if quantity.flow is not None and flows[flow] in flows[:flow] and len(same) > 1:
        style["color"] = _SECOND
    alike = [  # of one algorithm: dashes tell them apart in grey
        it
        for it, other in figure.quantities.items()
        if other.plot and figure.is_of_runs(it)
        and flows[min(other.flow or 0, len(flows) - 1)] == flows[flow]
    ]  # fmt: skip
    rank += alike.index(name) if name in alike else 0
    return {**style, "linestyle": _LINES[rank % len(_LINES)]}, label


def _plot_reading(
    axes: Axes,
    title: str,
    simulated: Simulated,
    shown: dict[str, Quantity],
    reproduction: Reproduction,
) -> None:
    """Draw another reading as thin lines where it differs from the scenario's."""
    figure = simulated.figure
    assert figure.x is not None
    base = curves(reproduction.simulated.points, figure.x)
    drawn = zip(curves(simulated.points, figure.x), base, strict=True)
    for number, (curve, reference) in enumerate(drawn):
        for name, quantity in shown.items():
            scale = UNITS[quantity.shown_in]
            y = [point.mean(name) / scale for point in curve]
            taken = [point.mean(name) / scale for point in reference]
            if not figure.is_of_runs(name) or np.allclose(y, taken, rtol=0.02):
                continue
            style, label = _look(curve[0], name, quantity, figure, number)
            x = [axis_number(point.axes[figure.x]) for point in curve]
            index = [it.title for _, it, _ in reproduction.readings].index(title)
            axes.plot(
                x, y, color=style["color"], lw=0.9, alpha=0.8, linestyle=_LINES[1 + index % 4],
                label=", ".join((label, *_places(curve[0], figure), title)),
            )  # fmt: skip


def _plot_published(
    axes: Axes, simulated: Simulated, shown: dict[str, Quantity], scale: float
) -> None:
    figure, drawn = simulated.figure, set()
    assert figure.x is not None
    for cell in simulated.cells:
        if cell.compared.quantity not in shown or cell.row.line in drawn:
            continue
        drawn.add(cell.row.line)
        value = cell.published / scale
        name = _title(shown[cell.compared.quantity], cell)
        if cell.row.columns.get(figure.x):
            x = axis_number(cell.row.columns[figure.x])
            label = f"{_STAR}{name}" if name else "published"
            label += "" if cell.compared.is_judged else _OPEN
            if label in axes.get_legend_handles_labels()[1]:
                label = "_"
            filled: Literal["full", "none"] = "full" if cell.compared.is_judged else "none"
            axes.plot(
                [x], [value], "*", color="black", markersize=9, fillstyle=filled, label=label,
                zorder=5,
            )  # fmt: skip
        elif cell.compared.is_judged:
            label = f"published: {name} {cell.row.published}"
            axes.axhline(value, color="black", linestyle="-.", linewidth=1, label=label)


def _plot_knees(axes: Axes, figure: Figure) -> None:
    for claim in figure.claims:
        if claim.kind == "knee" and claim.axis == figure.x:
            label = f"published: knee at {claim.at}"
            axes.axvline(axis_number(claim.at), color="black", ls="-.", lw=1, label=label)


def _title(quantity: Quantity, cell: Cell) -> str:
    places = [value for value in (cell.row.columns.get("cc"),) if value]
    return ", ".join((*places, quantity.title)) if quantity.title else ", ".join(places)


def _flow_names(point: Point) -> list[str]:
    return [flow.cc.name for flow in point.experiment.flows for _ in range(flow.count)]


def _drawn_as_bars(reproduction: Reproduction) -> list[Cell]:
    """Return the judged cells of quantities that are drawn."""
    quantities = reproduction.figure.quantities
    judged = reproduction.simulated.judged
    return [cell for cell in judged if quantities[cell.compared.quantity].plot]


def _bars(reproduction: Reproduction) -> Drawing:
    """Draw published values as bars, and simulated ones as points with spread and ratio.

    The axes in order: panels, series, horizontal axis.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure as Drawing

    simulated = reproduction.simulated
    cells = _drawn_as_bars(reproduction)
    panel, series, across = _layout(simulated.figure, cells)
    panels = _values(cells, panel)
    with mpl.rc_context(STYLE):
        columns = 1 if len(panels) < 3 else 2  # a phone shows no more beside each other
        lines = math.ceil(len(panels) / columns)
        drawing = Drawing(figsize=(5.4, 0.8 + (3.2 if lines == 1 else 2.6 * lines)))
        row = list(drawing.subplots(lines, columns, sharey=True, squeeze=False).flat)
        for unused in row[len(panels) :]:
            unused.remove()
        for axes, value in zip(row, panels, strict=False):
            inside = _select(cells, panel, value)
            _plot_panel(axes, inside, series, across)
            axes.set_title(_spaced(value))
        key = simulated.figure.axes[across].key or across
        for axes in row[len(panels) - columns : len(panels)]:
            axes.set_xlabel(scales.name_of_key(key, across, first=1))
        name = simulated.figure.title_of(cells[0].compared.quantity)
        unit = "" if cells[0].unit == "1" else f" ({cells[0].unit})"
        for axes in row[: len(panels) : columns]:
            axes.set_ylabel(fill(f"{name}{unit}", _MOST_LETTERS))
        row[0].set_ylim(0, 1.08 * row[0].get_ylim()[1])  # room for the ratios
        _add_legend(drawing, *row[: len(panels)])
        title = f"{_even_lines(simulated.figure.title, 62)}\nnumbers: simulated / published"
        drawing.suptitle(title, fontsize=10)
    return drawing


def _even_lines(text: str, most: int) -> str:
    """Return ``text`` in as few lines of ``most`` letters as it needs, about equally long."""
    count = len(wrap(text, most))
    return fill(
        text, next(width for width in range(1, most + 1) if len(wrap(text, width)) <= count)
    )


def _plot_panel(axes: Axes, cells: Sequence[Cell], series: str, across: str) -> None:
    names, positions = _values(cells, series), _values(cells, across)
    scale = UNITS[cells[0].unit]
    for index, name in enumerate(names):
        shift = (index - (len(names) - 1) / 2) * (_BAR + 0.04)
        members = {cell.point.axes[across]: cell for cell in _select(cells, series, name)}
        x = [place + shift for place, value in enumerate(positions) if value in members]
        row = [members[value] for value in positions if value in members]
        if series == "cc" or len(names) > 1:
            style, prefix = algorithm_style(name), f"{_spaced(name)}, "
        else:
            style, prefix = category_style(2), ""  # the panel's title says what they are of
        _plot_numbers(axes, x, row, style["color"], prefix)
        _points(axes, x, row, style, f"{prefix}simulated")
        for place, cell in zip(x, row, strict=True):
            top = max(cell.published, cell.spread[1]) / scale
            if not cell.row.published.is_number:
                continue
            axes.annotate(
                f"{cell.ratio:.2f}", (place, top), xytext=(0, 5), textcoords="offset points",
                ha="center", fontsize=9, color=style["color"],
            )  # fmt: skip
    turn = _turn(positions, 30)
    gap = " " if turn else "\n"
    ticks = [_tick(cells, across, name, gap) for name in positions]
    axes.set_xticks(range(len(ticks)), ticks, rotation=turn, rotation_mode="anchor")
    for text in axes.get_xticklabels() if turn else ():
        text.set(horizontalalignment="right")


def _plot_numbers(
    axes: Axes, x: Sequence[float], row: Sequence[Cell], colour: str, prefix: str
) -> None:
    """Draw published numbers and ranges as bars, bounds as a line with an arrow."""
    scale = UNITS[row[0].unit]
    bars = [(at, cell.row.published) for at, cell in zip(x, row, strict=True)]
    whole = [(at, it) for at, it in bars if math.isfinite(it.high) and not it.text.startswith("<")]
    if whole:
        bottoms = [0.0 if it.is_number else it.low / scale for _, it in whole]
        axes.bar(
            [at for at, _ in whole],
            [it.high / scale - low for (_, it), low in zip(whole, bottoms, strict=True)],
            _BAR, bottoms, facecolor=colour, alpha=0.25, edgecolor=colour,
            label=f"{prefix}published",
        )  # fmt: skip
    for at, it in bars:
        if (at, it) in whole:
            continue
        is_least, value = math.isinf(it.high), it.middle / scale
        axes.plot([at - _BAR / 2, at + _BAR / 2], [value] * 2, color=colour, lw=1.5)
        axes.annotate(
            it.text, (at, value), xytext=(0, -3 if is_least else 3), textcoords="offset points",
            ha="center", va="top" if is_least else "bottom", fontsize=9, color=colour,
        )  # fmt: skip
        axes.annotate(
            "", (at, value), xytext=(0, 12 if is_least else -12), textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": colour, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


def _tick(cells: Sequence[Cell], across: str, value: str, gap: str) -> str:
    calibrated = any(cell.is_calibrated for cell in _select(cells, across, value))
    return f"{_spaced(value)}{gap}(calibrated)" if calibrated else _spaced(value)


def _points(axes: Axes, x: Sequence[float], row: Sequence[Cell], style: Any, label: str) -> None:
    scale = UNITS[row[0].unit]
    y = [cell.mean / scale for cell in row]
    # The mean of equal numbers may be rounded to beyond them.
    low = [max(0.0, cell.mean - cell.spread[0]) / scale for cell in row]
    high = [max(0.0, cell.spread[1] - cell.mean) / scale for cell in row]
    axes.errorbar(
        x, y, yerr=[low, high], color=style["color"], marker=style["marker"], markersize=5,
        markeredgecolor="black", markeredgewidth=0.6, linestyle="none", capsize=3, label=label,
    )  # fmt: skip


def _layout(figure: Figure, cells: Sequence[Cell]) -> tuple[str, str, str]:
    """Return the axes for panels, series and the horizontal axis; "" means none.

    An axis with one value needs no place.
    """
    varied = [name for name in figure.axes if len(_values(cells, name)) > 1]
    names = varied or list(figure.axes)[-1:]
    return ("", "", names[0]) if len(names) == 1 else (names[0], names[-2], names[-1])


def _values(cells: Sequence[Cell], axis: str) -> list[str]:
    return list(dict.fromkeys(cell.point.axes.get(axis, "") for cell in cells))


def _select(cells: Sequence[Cell], axis: str, value: str) -> list[Cell]:
    """Return the cells with that value of the axis, or all without an axis."""
    return [cell for cell in cells if cell.point.axes.get(axis, "") == value]
