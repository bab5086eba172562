# SPDX-License-Identifier: GPL-2.0-only
"""Draw a fail-over between two uplinks, as a flow sees it.

``.venv/bin/python results/sites/draw.py`` runs the experiment and writes the SVG file beside this
one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import algorithm_style, gallery

HERE = Path(__file__).parent
SCENARIO = HERE.parents[1] / "scenarios/examples/two-uplinks.toml"


def fail_over(result: tc.Result) -> Figure:
    """Goodput and RTT while the first uplink is cut and comes back."""
    figure = Figure(figsize=(4.2, 4.6))
    rates, rtts = figure.subplots(2, 1, sharex=True)
    first = result.network.topology.links["uplink-1"].path
    ((cut, back),) = first.outages
    colour = algorithm_style("cubic")["color"]
    goodput = result["flow_goodput_series"][0] * 1e-6
    rates.plot(result["time"], goodput, color=colour, lw=1.2)
    rtts.plot(result["time"], 1e3 * result.path_leg(0).srtt, color=colour, lw=1.2)
    arrives = np.flatnonzero((goodput > 1) & (result["time"] > cut + 1))
    again = float(result["time"][arrives[0]])
    for axes in (rates, rtts):
        axes.axvspan(cut, back, color="#222222", alpha=0.08, lw=0)
        axes.grid(alpha=0.3)
    parts = (
        (cut, again, f"nothing for {again - cut:.1f} s"),
        (again, back, "the second uplink: 20 Mbit/s, RTT 62 ms"),
        (back, result.experiment.duration, "the first uplink again: 50 Mbit/s, RTT 32 ms"),
    )
    for number, (begin, end, _) in enumerate(parts, 1):
        rates.text((begin + end) / 2, 74, str(number), ha="center", va="top")
    lines = (f"{number}: {text}" for number, (*_, text) in enumerate(parts, 1))
    rates.set_title("\n".join(lines), fontsize=9)
    rates.set_ylabel("goodput (Mbit/s)")
    rates.set_ylim(0, 78)
    rtts.set_ylabel("smoothed RTT (ms)")
    rtts.set_ylim(0, None)
    rtts.set_xlabel("time (s); grey: the first uplink is cut")
    rtts.set_xlim(0, result.experiment.duration)
    return figure


def _results(_: Path) -> tc.Result:
    return tc.run(tc.load(SCENARIO), progress=False)


if __name__ == "__main__":
    gallery.main({"fail-over": fail_over}, _results, HERE, __doc__ or "")
