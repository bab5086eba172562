# SPDX-License-Identifier: GPL-2.0-only
"""Figures of a validation: simulation and reference in one plot.

Lines and bands are simulated (mean, smallest and largest run). Markers with bars are measured on
Linux or Google's code. Dotted lines are theory. In rows, bars show what is expected and tolerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tunnelcc.metrics import mean
from tunnelcc.metrics.formulas import bbr_share_of_capacity, ware_share
from tunnelcc.plots import STYLE, algorithm_style
from tunnelcc.report.html import inline_svg
from validation import bbr, theory
from validation.check import Outcome
from validation.compare import MeanNear
from validation.measure import Measurement
from validation.reference import (
    ReferenceCell,
    bbr3_random_loss,
    cells,
    periodic_loss,
    series,
)
from validation.suite import Report

_ALGORITHMS = ("bbr", "cubic", "reno")
_RTTS = (10.0, 100.0)  # ms
# No loss has no place on a logarithmic axis; it stands to the left of the least.
_NO_LOSS = 3e-5
_SIZE = (4.8, 3.3)
_ROW = 0.16  # height of a row with a name
# Runs of the reference whose series are shown.
_SERIES = (
    ("a_bbr_rtt100_p0_s1", "bbr alone, 50 Mbit/s × 100 ms"),
    ("a_cubic_rtt100_p0_s1", "cubic alone, 50 Mbit/s × 100 ms"),
    ("a_cubic_rtt100_p0.001_s1", "cubic, 50 Mbit/s × 100 ms, loss 0.1 %"),
    ("b_1bbr1cubic_1bdp_s1", "bbr against cubic, 100 Mbit/s × 40 ms, 1 BDP"),
    ("b_1bbr1cubic_4bdp_s1", "bbr against cubic, 100 Mbit/s × 40 ms, 4 BDP"),
    ("d_bbr_rtt40_s1", "bbr joined by bbr after 5 s, 50 Mbit/s × 40 ms"),
    ("d_cubic_rtt40_s1", "cubic joined by cubic after 5 s, 50 Mbit/s × 40 ms"),
    ("e_udp_bbr_s1", "bbr, UDP of 50 Mbit/s from 5 to 15 s, 100 Mbit/s × 40 ms"),
    ("e_udp_cubic_s1", "cubic, UDP of 50 Mbit/s from 5 to 15 s, 100 Mbit/s × 40 ms"),
)


#: A title and SVG text.
_Picture = tuple[str, str]


def draw(report: Report) -> dict[str, str]:
    """Return the figures that the report has runs for: title → SVG text."""
    with mpl.rc_context({**STYLE, "svg.fonttype": "none", "font.family": "sans-serif"}):
        return dict(_draw(report))


def _draw(report: Report) -> Iterator[_Picture]:
    reference = {cell.name: cell for table in _TABLES for cell in cells(table)}
    has_linux = any(name in report.runs for name in reference)
    if has_linux:
        for rtt in _RTTS:
            yield _over_loss(report, rtt)
        yield _scatter(report, "queueing delay", 0.2, "ms")
        yield _scatter(report, "retransmission ratio", 0.2, "%")
        yield _scatter(report, "mean RTT", 0.1, "ms")
        yield _scatter(report, "95th percentile of the RTT", 0.1, "ms")
        yield _shares(report)
        yield _window_limits(report)
        for run, title in _SERIES:
            cell = reference[run.rpartition("_s")[0]]
            if cell.name in report.runs:
                yield _over_time(report.runs[cell.name][0], cell, run, title)
    if any(outcome.check.group == "theory" for outcome in report.outcomes):
        for rtt in _RTTS:
            yield _responses(report, rtt)
    if any(outcome.check.name.startswith("bbr/goodput") for outcome in report.outcomes):
        yield _bbr_under_loss(report)
        yield _bbr_over_buffer(report)
    if any(outcome.check.name.startswith("bbr3/google/") for outcome in report.outcomes):
        yield _bbr3_under_loss(report)
    for group in report.groups:
        if group.figure:
            yield _relative(group.figure, report.of_group(group))


_TABLES = (
    "loss_by_rtt",
    "buffer_shares",
    "late_joiner",
    "rtt_fairness",
    "variable_load",
    "window_limits",
)


def _picture(title: str, plot: Callable[[Axes], None], columns: int = 3, rows: int = 0) -> _Picture:
    width, height = _SIZE
    figure = Figure(figsize=(width, max(height, _ROW * rows)))
    axes = figure.subplots()
    plot(axes)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
    return title, inline_svg(figure)


def _over_loss(report: Report, rtt: float) -> _Picture:
    def plot(axes: Axes) -> None:
        for cc in _ALGORITHMS:
            chosen = [
                cell
                for cell in cells("loss_by_rtt")
                if cell.rtt == rtt and cell.runs[0].flows[0].cc == cc and cell.name in report.runs
            ]
            chosen.sort(key=lambda cell: cell.loss)
            style = algorithm_style(cc)
            x = [cell.loss or _NO_LOSS for cell in chosen]
            simulated = [[run.goodput for run in report.runs[cell.name]] for cell in chosen]
            measured = [[run.goodput for run in cell.runs] for cell in chosen]
            _band(axes, x, simulated, style["color"], f"{cc}, simulated")
            _bars(axes, x, measured, style, f"{cc}, Linux")
        axes.set(xscale="log", yscale="log", xlabel="loss", ylabel="goodput (Mbit/s)")
        ticks = (_NO_LOSS, 1e-4, 1e-3, 1e-2, 1e-1)
        axes.set_xticks(ticks, ("0", "0.01 %", "0.1 %", "1 %", "10 %"))
        axes.set_yticks((0.1, 1, 10, 50), ("0.1", "1", "10", "50"))

    return _picture(f"Goodput over loss, 50 Mbit/s × {rtt:g} ms, buffer 1 BDP", plot)


def _scatter(report: Report, metric: str, tolerance: float, unit: str) -> _Picture:
    def plot(axes: Axes) -> None:
        points = [
            (_near(outcome).target, outcome.judgement.value, outcome.judgement.passed)
            for outcome in _of_metric(report, metric)
        ]
        low = 0.8 * min(min(x, y) for x, y, _ in points)
        high = 1.25 * max(max(x, y) for x, y, _ in points)
        line = np.geomspace(low, high, 50)
        axes.fill_between(
            line, line * (1 - tolerance), line * (1 + tolerance), color="#DDDDDD", linewidth=0,
            label=f"±{100 * tolerance:g} %",
        )  # fmt: skip
        for passed, colour, label in ((True, "#009E73", "passes"), (False, "#D55E00", "misses")):
            chosen = [(x, y) for x, y, verdict in points if verdict is passed]
            if chosen:
                marker = "o" if passed else "X"
                x, y = zip(*chosen, strict=True)
                axes.scatter(x, y, s=18, c=colour, marker=marker, label=label)
        axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
        axes.set(xlabel=f"Linux ({unit})", ylabel=f"simulated ({unit})")

    return _picture(f"{metric[0].upper()}{metric[1:]}, each cell", plot)


def _shares(report: Report) -> _Picture:
    shares = _of_metric(report, "shares")

    def plot(axes: Axes) -> None:
        _rows(axes, shares, "linux/shares/", "Linux ±10 points")
        axes.set(xlim=(0, 100), xlabel="share of the goodput (%)")

    title = "Shares: BBR's, the larger of two alike, the joiner's, the longer RTT's"
    return _picture(title, plot, rows=len(shares))


def _window_limits(report: Report) -> _Picture:
    limited = [
        outcome
        for outcome in report.outcomes
        if outcome.check.name.startswith("linux/goodput/") and "/rmem" in outcome.check.name
    ]

    def plot(axes: Axes) -> None:
        _rows(axes, limited, "linux/goodput/", "Linux and tolerance")
        axes.set(xlim=(0, 220), xlabel="goodput (Mbit/s)")

    return _picture("Limits of tcp_rmem and tcp_wmem (MiB), 200 Mbit/s × 170 ms", plot)


def _relative(title: str, outcomes: Sequence[Outcome]) -> _Picture:
    def plot(axes: Axes) -> None:
        prefix = f"{outcomes[0].check.group}/"
        _rows(axes, outcomes, prefix, "expected and tolerated", relative=True)
        axes.set(xlabel="simulated (% of what is expected)")

    return _picture(title, plot)


def _rows(
    axes: Axes, outcomes: Sequence[Outcome], prefix: str, expected: str, *, relative: bool = False
) -> None:
    """One row per check: the bar is expected and tolerated, the dot is simulated.

    ``relative``: in per cent of the expected value.
    """
    for row, outcome in enumerate(outcomes):
        comparison, judgement = _near(outcome), outcome.judgement
        scale = 100 / comparison.target if relative else 1
        margin, target = scale * comparison.margin, scale * comparison.target
        axes.plot(
            (target - margin, target + margin), (row, row), color="#BBBBBB", lw=5,
            solid_capstyle="butt", label=None if row else expected,
        )  # fmt: skip
        label = None if row else "simulated"
        colour = "#009E73" if judgement.passed else "#D55E00"
        axes.plot(scale * judgement.value, row, "o", color=colour, markersize=5, label=label)
    names = [outcome.check.name.removeprefix(prefix) for outcome in outcomes]
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()


def _over_time(run: Measurement, cell: ReferenceCell, name: str, title: str) -> _Picture:
    def plot(axes: Axes) -> None:
        measured = series(name)
        for index, flow in enumerate(run.flows):
            style = algorithm_style(flow.cc)
            colour = style["color"] if index == 0 or flow.cc != run.flows[0].cc else "#CC79A7"
            label = flow.cc if len(run.flows) == 1 else f"{flow.cc} {index + 1}"
            time, goodput = flow.series.time, _smooth(flow.series.goodput, flow.series.time)
            axes.plot(time, goodput, color=colour, label=f"{label}, simulated")
            reference = measured[index]
            axes.plot(
                reference.time, _smooth(reference.goodput, reference.time),
                color=colour, linestyle=":", label=f"{label}, Linux",
            )  # fmt: skip
        axes.set(xlim=(0, cell.duration), ylim=(0, 1.15 * cell.rate))
        axes.set(xlabel="time (s)", ylabel="goodput (Mbit/s)")

    return _picture(f"{title}: one run each, means over 1 s", plot)


def _responses(report: Report, rtt: float) -> _Picture:
    def plot(axes: Axes) -> None:
        losses = np.geomspace(1e-7, 3e-2, 60)
        for cc in ("reno", "cubic"):
            style = algorithm_style(cc)
            line = [theory.window(cc, loss, rtt / 1e3) for loss in losses]
            axes.plot(losses, line, ":", color=style["color"], label=f"{cc}, RFC 9438")
            for pattern, fill in (("periodic", style["color"]), ("random", "none")):
                prefix = f"theory/{pattern}/{cc}/{rtt:g}ms/"
                points = [
                    (float(outcome.check.name.removeprefix(prefix)), outcome.judgement.value)
                    for outcome in report.outcomes
                    if outcome.check.name.startswith(prefix)
                ]
                axes.plot(
                    *zip(*points, strict=True), style["marker"], color=style["color"],
                    markerfacecolor=fill, markersize=5, label=f"{cc}, {pattern}",
                )  # fmt: skip
            measured = [
                (1 / period, mean([run.window for run in runs]))
                for (of, path_rtt, period), runs in periodic_loss().items()
                if (of, path_rtt) == (cc, rtt)
            ]
            axes.plot(
                *zip(*measured, strict=True), "x", color=style["color"], markersize=8,
                label=f"{cc}, periodic, Linux",
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="loss", ylabel="mean window (segments)")

    return _picture(f"Response functions at {rtt:g} ms", plot)


def _bbr_under_loss(report: Report) -> _Picture:
    def plot(axes: Axes) -> None:
        colours = {"after": "#0072B2", "before": "#E69F00"}
        for position, colour in colours.items():
            losses = [0, *(loss for loss in bbr.LOSSES if loss)]
            line = np.linspace(0, 0.1, 20)
            model = [bbr_share_of_capacity(p, position == "before") * bbr.CAPACITY for p in line]
            axes.plot(100 * line, model, ":", color=colour, label=f"model, loss {position}")
            known = [
                (100 * loss, [run.goodput for run in report.runs[f"bbr {position} {loss:g}"]])
                for loss in losses
                if f"bbr {position} {loss:g}" in report.runs
            ]
            x, values = zip(*known, strict=True)
            _band(axes, x, values, colour, f"simulated, loss {position}")
        axes.set(xlabel="loss (%)", ylabel="goodput (Mbit/s)")

    return _picture("BBRv1, 50 Mbit/s × 40 ms, loss before or after the bottleneck", plot)


def _bbr3_under_loss(report: Report) -> _Picture:
    values = {outcome.check.name: outcome.values for outcome in report.outcomes}

    def plot(axes: Axes) -> None:
        for rtt, colour, marker in ((0.04, "#0072B2", "o"), (0.1, "#E69F00", "s")):
            rows = [row for row in bbr3_random_loss() if row.rtt == rtt]
            path = f"{rows[0].rate:g} Mbit/s × {1e3 * rtt:g} ms"
            known = [
                (100 * row.loss, values[name])
                for row in rows
                if (name := f"bbr3/google/{1e3 * rtt:g}ms/{100 * row.loss:g}%") in values
            ]
            if known:
                x, simulated = zip(*known, strict=True)
                _band(axes, x, simulated, colour, f"{path}, simulated")
            axes.errorbar(
                [100 * row.loss for row in rows], [row.share for row in rows],
                [row.error for row in rows], fmt=marker, color=colour, markersize=4, elinewidth=1,
                markeredgecolor="black", markeredgewidth=0.5, label=f"{path}, Google's code",
            )  # fmt: skip
        axes.set(xlabel="loss (%)", ylabel="goodput / (1 − p) of the capacity", ylim=(0, 1))

    return _picture(
        "BBRv3 under random loss, and Google's code with losses judged as in the draft", plot, 2
    )


def _bbr_over_buffer(report: Report) -> _Picture:
    def plot(axes: Axes) -> None:
        rooms = [room for room in bbr.ROOMS if bbr.against_cubic("bbr", room).key in report.runs]
        shares = [
            [bbr.first_share(run) for run in report.runs[bbr.against_cubic("bbr", room).key]]
            for room in rooms
        ]
        _band(axes, rooms, shares, algorithm_style("bbr")["color"], "bbr's share, simulated")
        deep = np.geomspace(1, 16, 40)
        bound = [100 * ware_share(room, bbr.SHARED_RATE, bbr.SHARED_RTT) for room in deep]
        axes.plot(deep, bound, ":", color="black", label="Ware et al.")
        measured = [cell for cell in cells("buffer_shares") if cell.variant == "1bbr1cubic"]
        _bars(
            axes,
            [float(cell.buffer_bdp) for cell in measured],
            [
                [
                    100 * sum(flow.goodput for flow in run.flows if flow.cc == "bbr") / run.goodput
                    for run in cell.runs
                ]
                for cell in measured
            ],
            algorithm_style("bbr"),
            "bbr's share, Linux",
        )
        axes.set(xscale="log", xlabel="buffer (BDP)", ylabel="share (%)", ylim=(0, 100))
        axes.set_xticks((0.25, 0.5, 1, 2, 4, 8, 16), ("¼", "½", "1", "2", "4", "8", "16"))

    return _picture("BBRv1 against CUBIC, 100 Mbit/s × 40 ms", plot)


def _of_metric(report: Report, metric: str) -> list[Outcome]:
    return [outcome for outcome in report.outcomes if outcome.check.metric == metric]


def _near(outcome: Outcome) -> MeanNear:
    """Return the expected values of outcomes of checks that compare means."""
    comparison = outcome.check.comparison
    assert isinstance(comparison, MeanNear)
    return comparison


def _band(
    axes: Axes, x: Sequence[float], values: Sequence[Sequence[float]], colour: str, label: str
) -> None:
    low, high = ([pick(runs) for runs in values] for pick in (min, max))
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, [mean(runs) for runs in values], color=colour, label=label)


def _bars(
    axes: Axes,
    x: Sequence[float],
    values: Sequence[Sequence[float]],
    style: dict[str, str],
    label: str,
) -> None:
    means = np.array([mean(runs) for runs in values])
    low = means - [min(runs) for runs in values]
    high = [max(runs) for runs in values] - means
    axes.errorbar(
        x, means, (low, high), fmt=style["marker"], color=style["color"], markersize=4,
        elinewidth=1, markeredgecolor="black", markeredgewidth=0.5, label=label,
    )  # fmt: skip


def _smooth(values: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Mean over one second."""
    width = max(1, round(1 / float(np.median(np.diff(time)))))
    window = np.ones(min(width, len(values)))
    weights = np.convolve(np.ones(len(values)), window, "same")
    smoothed: np.ndarray = np.convolve(values, window, "same") / weights
    return smoothed
