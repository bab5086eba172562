# SPDX-License-Identifier: GPL-2.0-only
"""Draw a path that changes every 15 s, and what TCP makes of it.

``.venv/bin/python results/paths/draw.py`` runs both experiments and writes the SVG file beside this
one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import algorithm_style, gallery

HERE = Path(__file__).parent
SCENARIO = HERE.parents[1] / "scenarios/examples/starlink-like.toml"
# Dashes tell them apart in grey.
LINES = {"bbr": "-", "cubic": "--", "cubic without loss": ":"}


def starlink_like(results: dict[str, tc.Result]) -> Figure:
    """Rate and goodput, and RTT, of BBR and CUBIC, with loss between hand-overs and without."""
    experiment = results["bbr"].experiment
    figure = Figure(figsize=(4.2, 5.6))
    rates, rtts = figure.subplots(2, 1, sharex=True)
    path, end = experiment.path, experiment.duration
    for axes, key, unit in ((rates, "rate", 1e-6), (rtts, "rtt", 1e3)):
        moments, values = np.array([*path.over_time(key), (end, path.over_time(key)[-1][1])]).T
        label = "rate of the path" if key == "rate" else "RTT without queue and jitter"
        axes.step(moments, values * unit, where="post", color="#222222", lw=1.2, label=label)
    for cc, line in LINES.items():
        colour = algorithm_style(cc.partition(" ")[0])["color"]
        result = results[cc]
        time = result["time"]
        series = result.dataset["flow_goodput_series"].isel(flow=0).values * 1e-6
        second = np.floor(time - 1e-9).astype(int)  # means of seconds
        goodput = np.bincount(second, series) / np.bincount(second)
        name = cc.replace("cubic", "CUBIC").replace("bbr", "BBR")
        label = f"goodput, {name}"
        rates.step(
            range(len(goodput)),
            goodput,
            where="post",
            color=colour,
            linestyle=line,
            lw=1.2,
            label=label,
        )
        rtts.plot(
            time, 1e3 * result.path_leg(0).srtt, color=colour, linestyle=line, lw=0.8,
            label=f"srtt, {name}",
        )  # fmt: skip
    rates.set_ylabel("Mbit/s")
    rates.set_ylim(0, 290)
    rtts.set_ylabel("ms")
    rtts.set_ylim(0, 360)
    rtts.set_xlabel("time (s)")
    rtts.set_xlim(0, end)
    rtts.set_xticks(np.arange(0, end + 1, 15))
    for axes in (rates, rtts):
        axes.legend(loc="upper center", ncols=1, fontsize=8)
        axes.grid(alpha=0.3)
    return figure


def _results(_: Path) -> dict[str, tc.Result]:
    experiment = tc.load(SCENARIO)
    found = {}
    for name in LINES:
        cc, _, rest = name.partition(" ")
        changes = {"cc": cc, **({"path.loss": "0%"} if rest else {})}
        found[name] = tc.run(experiment.with_(changes), progress=False)
    return found


if __name__ == "__main__":
    gallery.main({"starlink-like": starlink_like}, _results, HERE, __doc__ or "")
