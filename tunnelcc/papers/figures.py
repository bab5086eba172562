# SPDX-License-Identifier: GPL-2.0-only
"""Figures of a reproduction: published and simulated side by side, causes, calibration.

The comparison's axes in order: panels, series, horizontal axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tunnelcc.papers.compare import Cell, match, misfit
from tunnelcc.papers.format import Comparison
from tunnelcc.papers.published import UNITS
from tunnelcc.papers.simulate import NS3, Simulated
from tunnelcc.plots import STYLE, algorithm_style, save

_BAR = 0.34  # width of a bar; the horizontal positions are 1 apart


def plot_comparison(simulated: Simulated, file: Path) -> None:
    """Draw published values as bars, simulated ones as points with their spread and their ratio."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panel, series, across = _axes(simulated.comparison)
    panels = _values(simulated.cells, panel)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6 * max(len(panels), 1), 3.4))
        row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, value in zip(row, panels, strict=True):
            cells = match(simulated.cells, {panel: value})
            others = match(simulated.ns3, {panel: value})
            _plot_panel(axes, cells, others, series, across)
            axes.set_title(value)
            axes.set_xlabel(across)
        unit = simulated.cells[0].unit
        row[0].set_ylabel(f"{simulated.comparison.simulated} ({unit})")
        row[0].set_ylim(0, 1.08 * row[0].get_ylim()[1])  # room for the ratios
        handles, labels = row[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
        title = f"{simulated.comparison.title}\nnumbers: simulated / published"
        figure.suptitle(title, fontsize=10)
        save(figure, file)


def _plot_panel(
    axes: Any, cells: Sequence[Cell], others: Sequence[Cell], series: str, across: str
) -> None:
    names, positions = _values(cells, series), _values(cells, across)
    scale = UNITS[cells[0].unit]
    for index, name in enumerate(names):
        shift = (index - (len(names) - 1) / 2) * (_BAR + 0.04)
        members = {cell.columns[across]: cell for cell in match(cells, {series: name})}
        x = [place + shift for place, value in enumerate(positions) if value in members]
        row = [members[value] for value in positions if value in members]
        style = algorithm_style(name)
        axes.bar(
            x, [cell.published / scale for cell in row], _BAR,
            facecolor=style["color"], alpha=0.25, edgecolor=style["color"],
            label=f"{name}, published",
        )  # fmt: skip
        _points(axes, x, row, style, f"{name}, simulated")
        if others:
            twins = {cell.columns[across]: cell for cell in match(others, {series: name})}
            beside = [twins[cell.columns[across]] for cell in row]
            label = NS3.get(name, name)
            _points(axes, [it + _BAR / 4 for it in x], beside, algorithm_style(label), label)
        for place, cell in zip(x, row, strict=True):
            top = max(cell.published, cell.spread()[1]) / scale
            axes.annotate(
                f"{cell.ratio:.2f}", (place, top), xytext=(0, 5), textcoords="offset points",
                ha="center", fontsize=7, color=style["color"],
            )  # fmt: skip
    axes.set_xticks(range(len(positions)), [_tick(cells, across, name) for name in positions])


def _tick(cells: Sequence[Cell], across: str, value: str) -> str:
    calibrated = any(cell.is_calibrated for cell in match(cells, {across: value}))
    return f"{value}\n(calibrated)" if calibrated else value


def _points(axes: Any, x: Sequence[float], row: Sequence[Cell], style: Any, label: str) -> None:
    scale = UNITS[row[0].unit]
    y = [cell.mean() / scale for cell in row]
    low = [mean - cell.spread()[0] / scale for mean, cell in zip(y, row, strict=True)]
    high = [cell.spread()[1] / scale - mean for mean, cell in zip(y, row, strict=True)]
    axes.errorbar(
        x, y, yerr=[low, high], color=style["color"], marker=style["marker"], markersize=5,
        markeredgecolor="black", markeredgewidth=0.6, linestyle="none", capsize=3, label=label,
    )  # fmt: skip


def plot_causes(simulated: Simulated, file: Path) -> None:
    """Draw what each candidate cause alone leaves of the baseline, and the published values.

    Only in the first panel of which all of them have rows.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panel, series, _ = _axes(simulated.comparison)
    rows = [(it, cells) for it, cells in simulated.variants if it.role in ("baseline", "cause")]
    panels = _values(rows[0][1], panel)
    first = next(
        (name for name in panels if all(match(cells, {panel: name}) for _, cells in rows)), None
    )
    if first is None:
        return
    unit = rows[0][1][0].unit
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 1.2 + 0.4 * len(rows)))
        axes = figure.subplots()
        names = _values(match(rows[0][1], {panel: first}), series)
        for index, name in enumerate(names):
            style = algorithm_style(name)
            bars = [match(cells, {panel: first, series: name}) for _, cells in rows]
            places = [place for place, cells in enumerate(bars) if cells]
            widths = [cells[0].mean() / UNITS[unit] for cells in bars if cells]
            shift = (index - (len(names) - 1) / 2) * 0.36
            axes.barh(
                [place + shift for place in places], widths, 0.32, color=style["color"],
                label=f"{name}, simulated",
            )  # fmt: skip
            axes.axvline(
                bars[places[0]][0].published / UNITS[unit], color=style["color"], linestyle=":",
                label=f"{name}, published",
            )  # fmt: skip
        axes.set_yticks(range(len(rows)), [it.title for it, _ in rows])
        axes.invert_yaxis()
        axes.set_xlabel(f"{simulated.comparison.simulated} ({unit})")
        axes.set_title(f"{first}: each candidate cause alone")
        figure.legend(loc="outside lower center", ncols=4, fontsize=8)
        save(figure, file)


def plot_sweep(
    comparison: Comparison, candidates: Sequence[tuple[str, list[Cell]]], file: Path
) -> None:
    """Draw simulated / published of each calibrated row, and the misfit, over the candidates."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    assert comparison.calibration is not None
    panel, series, _ = _axes(comparison)
    panels = _values(candidates[0][1], panel)
    x = range(len(candidates))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 5.0))
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        for index, cell in enumerate(candidates[0][1]):
            style = algorithm_style(cell.columns[series])
            style["linestyle"] = ("-", "--")[panels.index(cell.columns[panel]) % 2]
            ratios = [cells[index].ratio for _, cells in candidates]
            label = f"{cell.columns[panel]}, {cell.columns[series]}"
            top.plot(x, ratios, label=label, markersize=4, **style)
        top.axhline(1, color="black", linewidth=0.8)
        top.set_ylabel("simulated / published")
        top.set_ylim(bottom=0)
        top.legend(fontsize=8, ncols=2)
        top.set_title("Rows that the calibration is fitted to")
        bottom.semilogy(
            x, [misfit(cell.ratio for cell in cells) for _, cells in candidates],
            color="black", marker="o", markersize=4,
        )  # fmt: skip
        bottom.set_ylabel("misfit Σ ln²")
        bottom.set_xlabel(comparison.calibration.key)
        bottom.set_xticks(list(x), [name for name, _ in candidates], rotation=45, ha="right")
        save(figure, file)


def _axes(comparison: Comparison) -> tuple[str, str, str]:
    """Return panel, series and horizontal axis; the last one is always there."""
    names = list(comparison.axes)
    return (names * 3)[:3] if len(names) == 1 else (names[0], names[-2], names[-1])  # type: ignore[return-value]


def _values(cells: Sequence[Cell], column: str) -> list[str]:
    return list(dict.fromkeys(cell.columns[column] for cell in cells))
