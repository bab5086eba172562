# SPDX-License-Identifier: GPL-2.0-only
"""A run over time next to a measurement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.plots.style import STYLE, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tunnelcc.formats.measurement import Measurement
    from tunnelcc.simulation.result import Result

_SIMULATED = {"color": "#0072B2", "linewidth": 1.3}
_MEASURED = {"color": "#D55E00", "linewidth": 1.0, "marker": ".", "markersize": 4, "alpha": 0.8}


def plot_beside(result: Result, measured: Measurement, file: Path | None = None) -> Figure:
    """Draw goodput of all flows, RTT and window of each over time, simulated and measured.

    Simulated rates are averaged over the interval between two measured samples.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 6.6))
        top, middle, bottom = figure.subplots(3, 1, sharex=True)
        time = result.raw.time
        total = np.sum([flow.goodput for flow in result.raw.flows], axis=0)
        width = float(np.median(np.diff(measured.time, prepend=0.0)))
        top.plot(*_averaged(time, total / 1e6, width), label="simulated", **_SIMULATED)
        top.plot(measured.time, measured.goodput / 1e6, label="measured", **_MEASURED)
        legs = [result.sender_leg(flow) for flow in range(len(result.raw.flows))]
        for axes, ours, theirs, factor in (
            (middle, "srtt", "rtt", 1e3),
            (bottom, "cwnd", "cwnd", 1),
        ):
            for leg in legs:
                values = np.array(getattr(leg, ours), dtype=float)
                axes.plot(time, factor * np.where(values > 0, values, np.nan), **_SIMULATED)
            for stream in measured.streams:
                axes.plot(stream.time, factor * getattr(stream, theirs), **_MEASURED)
        top.set_ylabel("goodput (Mbit/s)")
        middle.set_ylabel("smoothed RTT (ms)")
        bottom.set(ylabel="congestion window\n(segments)", xlabel="time (s)")
        for axes in (top, middle, bottom):
            axes.set_ylim(bottom=0)
        end = max(result.experiment.duration, float(measured.time[-1]))
        bottom.set_xlim(0, end)
        figure.legend(*top.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        title = result.heading
        figure.suptitle(f"{title}\nbeside {Path(measured.source).name}", fontsize=10)
        if file is not None:
            save(figure, file)
    return figure


def _averaged(time: Any, values: Any, width: float) -> tuple[Any, Any]:
    """Return means over about ``width`` seconds, and the ends of these intervals."""
    count = max(1, round(width / (time[1] - time[0]))) if len(time) > 1 else 1
    whole = len(time) // count * count
    return time[count - 1 : whole : count], values[:whole].reshape(-1, count).mean(axis=1)
