# SPDX-License-Identifier: GPL-2.0-only
"""A run over time next to a measurement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.plots.layout import set_title
from tunnelcc.plots.style import STYLE, save, take_literally
from tunnelcc.results import provenance
from tunnelcc.words.quantities import RATE, spaced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tunnelcc.formats.measurement import Measurement
    from tunnelcc.results.result import Result

_SIMULATED = {"color": "#0072B2", "linewidth": 1.3}
_MEASURED = {"color": "#D55E00", "linewidth": 1.0, "marker": ".", "markersize": 4, "alpha": 0.8}
_LABELS = (
    RATE.label("goodput"),
    "smoothed RTT (ms)",
    "congestion window\n(segments)",
    "retransmissions\n(segments so far)",
)
# What each flow has below the goodput: the series of its leg, that of the measurement, factor.
_OF_EACH = (
    ("srtt", "rtt", 1e3),
    ("cwnd", "cwnd", 1),
    ("retransmits_series", "retransmits", 1),
)


def plot_beside(result: Result, measured: Measurement, file: Path | None = None) -> Figure:
    """Draw goodput of all flows, RTT, window and retransmissions of each over time.

    Simulated and measured values are in the same panels.

    Simulated rates are averaged over the interval between two measured samples.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 8.2))
        panels = figure.subplots(4, 1, sharex=True)
        top, *others = panels
        time = result["time"]
        total = result["flow_goodput_series"].sum(axis=0)
        width = float(np.median(np.diff(measured.time, prepend=0.0)))
        top.plot(*_averaged(time, total / 1e6, width), label="simulated", **_SIMULATED)
        top.plot(measured.time, measured.goodput / 1e6, label="measured", **_MEASURED)
        legs = [result.sender_leg(flow) for flow in range(len(result.flows))]
        for axes, (ours, theirs, factor) in zip(others, _OF_EACH, strict=True):
            is_unknown_at_0 = ours != "retransmits_series"
            for leg in legs:
                values = np.array(getattr(leg, ours), dtype=float)
                known = np.where(values > 0, values, np.nan) if is_unknown_at_0 else values
                axes.plot(time, factor * known, **_SIMULATED)
            for stream in measured.streams:
                axes.plot(stream.time, factor * getattr(stream, theirs), **_MEASURED)
        for axes, label in zip(panels, _LABELS, strict=True):
            axes.set_ylabel(label)
            most = axes.dataLim.y1
            axes.set_ylim(0, 1.08 * most if most > 0 else 1)
        end = max(result.duration, float(measured.time[-1]))
        others[-1].set(xlabel="time (s)", xlim=(0, end))
        figure.legend(*top.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        title = result.experiment.title or spaced(result.heading)
        set_title(figure, f"{title}\nbeside {Path(measured.source).name}")
        take_literally(figure)
        if file is not None:
            save(figure, file, provenance.text(result.provenance))
    return figure


def _averaged(time: Any, values: Any, width: float) -> tuple[Any, Any]:
    """Return means over about ``width`` seconds, and the ends of these intervals."""
    count = max(1, round(width / (time[1] - time[0]))) if len(time) > 1 else 1
    whole = len(time) // count * count
    return time[count - 1 : whole : count], values[:whole].reshape(-1, count).mean(axis=1)
