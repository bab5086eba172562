# SPDX-License-Identifier: GPL-2.0-only
"""Draw the catalogue's tunnels beside the programs.

``PYTHONPATH=tests .venv/bin/python results/programs/draw.py`` writes the SVG files beside this one.

- ``measured`` simulates the cells of tests/validation/programs.py: simulated against measured, a
  mark a cell. Bands are what is tolerated. Pale marks are of cells where the program's own runs lie
  further apart than that.
- ``trace``: eight CUBIC flows in OpenVPN over TCP, 50 Mbit/s × 40 ms with a buffer of 4 BDP, second
  by second. ``trace.csv`` has three runs of the program, measured by tests/reference/tunnels.py:
  window (segments) and smoothed RTT of its connection, and of the flows inside the mean smoothed
  RTT and all segments sent again.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

import tunnelcc as tc
from tunnelcc.plots import gallery
from validation import programs, suite
from validation.check import Kind, Outcome
from validation.compare import MeanNear
from validation.reference import program_cells

HERE = Path(__file__).parent
#: Tunnel → colour and marker. Round ones carry datagrams, angular ones packets over TCP, triangles
#: and the thin diamond relay.
TUNNELS = {
    "none": ("#000000", "*"),
    "wireguard": ("#56B4E9", "o"),
    "openvpn-udp": ("#0072B2", "p"),
    "tinc": ("#332288", "8"),
    "openvpn-2.6-tcp": ("#D55E00", "s"),
    "vtun": ("#E69F00", "X"),
    "ssh-forward": ("#CC79A7", "^"),
    "gost-relay-ws": ("#44AA99", "<"),
    "gost-relay-wss": ("#009E73", "v"),
    "gost-relay-mwss": ("#117733", "d"),
}
#: Title → keys of quantities, and the unit.
PANELS = {
    "Goodput": (("goodput",), "Mbit/s"),
    "Latency of messages inside": (("latency",), "ms"),
    "Mean RTT, inside and outside": (("inner-rtt", "outer-rtt"), "ms"),
    "Queueing delay of the link": (("queue",), "ms"),
    "Retransmissions, inside and outside": (
        ("inner-retransmissions", "outer-retransmissions"), "%",
    ),
    "Largest share, or beside a plain flow": (("share",), "%"),
}  # fmt: skip
_DECADES = range(-3, 5)  # of ticks, powers of ten
_MOST_TICKS = 8


def measured(report: suite.Report) -> Figure:
    """Return the figure of a report that has the group."""
    figure = Figure(figsize=(7.1, 9.2))
    for axes, (title, (keys, unit)) in zip(figure.subplots(3, 2).flat, PANELS.items(), strict=True):
        chosen = [it for it in report.outcomes if it.check.name.split("/")[1] in keys]
        _panel(axes, chosen, unit)
        axes.set_title(title)
    names = {it.check.name.split("/")[2] for it in report.outcomes}
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=_label(name))
        for name, (colour, marker) in TUNNELS.items()
        if name in names
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _label(name: str) -> str:
    return "no tunnel" if name == "none" else name


def _panel(axes: Axes, outcomes: Sequence[Outcome], unit: str) -> None:
    points = []
    for outcome in outcomes:
        comparison = outcome.check.comparison
        assert isinstance(comparison, MeanNear)
        colour, marker = TUNNELS[outcome.check.name.split("/")[2]]
        alpha = 0.9 if outcome.check.kind is Kind.CELL else 0.3
        x, y = comparison.target, outcome.judgement.value
        points += [x, y]
        axes.plot(x, y, marker, color=colour, alpha=alpha, markersize=5, markeredgewidth=0)
    if {it.check.name.split("/")[1] for it in outcomes} == {"share"}:
        low, high, scale = 0.0, 100.0, "linear"
        ticks = [0, 25, 50, 75, 100]
    else:
        low, high, scale = 0.85 * min(points), 1.18 * max(points), "log"
        ticks = _ticks(low, high)
    line = np.linspace(low, high, 50) if scale == "linear" else np.geomspace(low, high, 50)
    below, above = (
        [x + sign * _margin(outcomes, x) for x in line] for sign in (-1, 1)
    )  # fmt: skip
    axes.fill_between(line, below, above, color="#DDDDDD", linewidth=0, zorder=0)
    axes.plot(line, line, color="#999999", linewidth=0.8, zorder=0.5)
    axes.set(xscale=scale, yscale=scale, xlim=(low, high), ylim=(low, high))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_minor_locator(NullLocator())
    axes.set(xlabel=f"measured ({unit})", ylabel=f"simulated ({unit})")


def _ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 of each decade, or only its first where there are many decades."""
    for steps in ((1, 2, 5), (1,)):
        ticks = [step * 10.0**decade for decade in _DECADES for step in steps]
        shown = [tick for tick in ticks if low <= tick <= high]
        if len(shown) <= _MOST_TICKS:
            break
    return shown


def _margin(outcomes: Sequence[Outcome], value: float) -> float:
    """Return what is tolerated about a value."""
    comparison = outcomes[0].check.comparison
    assert isinstance(comparison, MeanNear)
    return max(comparison.relative * value, comparison.absolute)


@cache
def _report() -> suite.Report:
    return suite.validate([programs.group()])


def trace() -> Figure:
    """Return the figure of one condition over time, of the program and of the simulator."""
    which = ("openvpn-2.6-tcp", 8, "cubic")
    (cell,) = (it for it in program_cells() if (it.tunnel, it.flows, it.cc) == which)
    simulated = tc.run(programs.experiment(cell), progress=False).dataset
    time = simulated.time - programs.LEAD
    inside = simulated.sel(leg="app", flow=slice(0, cell.flows - 1))
    outside = simulated.sel(leg="carrier", flow=0)
    again = inside.retransmits_series.sum("flow")
    panels = {
        ("carrier_cwnd", "OpenVPN's own window (segments)"): outside.cwnd,
        ("flows_rtt_ms", "RTT inside, mean of eight flows (ms)"): 1e3 * inside.srtt.mean("flow"),
        ("carrier_rtt_ms", "RTT outside (ms)"): 1e3 * outside.srtt,
        ("flows_retransmitted", "Segments sent again inside"): again,
    }
    with (HERE / "trace.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(7.1, 5.2))
    for axes, ((column, title), values) in zip(
        figure.subplots(2, 2, sharex=True).flat, panels.items(), strict=True
    ):
        for run in sorted({row["run"] for row in rows}):
            chosen = [row for row in rows if row["run"] == run]
            times, measured = ([float(row[it]) for row in chosen] for it in ("time_s", column))
            label = "OpenVPN on Linux, three runs" if run == "1" else None
            axes.plot(times, measured, color="#0072B2", linewidth=0.9, alpha=0.7, label=label)
        axes.plot(time, values, color="#000000", linewidth=1.5, label="simulated")
        axes.set_title(title)
        axes.set(xlim=(0, 20), ylim=(0, None))
    for axes in figure.axes[2:]:
        axes.set_xlabel("time (s)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


FIGURES: dict[str, Callable[[Path], Figure]] = {
    "measured": lambda _: measured(_report()),
    "trace": lambda _: trace(),
}

if __name__ == "__main__":
    gallery.main(FIGURES, lambda store: store, HERE, __doc__ or "")
