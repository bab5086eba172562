# SPDX-License-Identifier: GPL-2.0-only
"""Draw the figures of the questions, and write the numbers behind them.

``.venv/bin/python results/questions/draw.py [NAME …]`` simulates, and writes NAME.svg and NAME.csv
beside this file. A row of a table is a point of the figure: its line, x, and the mean, least and
most of SEEDS.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc.plots import STYLE, category_style, save

HERE = Path(__file__).parent
SEEDS = range(1, 6)
#: Windows that never limit a flow.
HOSTS = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}


@dataclass(frozen=True)
class Point:
    """Goodput (Mbit/s) of some flows of an experiment. ``flows``: which count; None: all."""

    line: str
    x: float | str
    experiment: dict[str, Any]
    flows: slice | None = None


@dataclass(frozen=True)
class Row:
    """What the seeds gave at a point, Mbit/s, and whether half of its runs have not settled."""

    line: str
    x: str
    mean: float
    least: float
    most: float
    drifts: bool


def _experiment(path: dict[str, Any], flows: list[dict[str, Any]], **keys: Any) -> dict[str, Any]:
    times = {"duration": "60s", "warmup": "15s"}
    return {"path": path, "flows": flows, "hosts": HOSTS, **times, **keys}


#: Shares of a queue settle in minutes.
_LONG = {"duration": "300s", "warmup": "150s"}


def vpn() -> list[Point]:
    """Return points: four downloads over loss, through three ways."""
    ways = {
        "no VPN": "none",
        "WireGuard": "wireguard",
        "OpenVPN over UDP": "openvpn-udp",
        "OpenVPN over TCP": "openvpn-2.6-tcp",
    }
    path = {"rate": "50Mbps", "rtt": "40ms"}
    return [
        Point(name, loss, _experiment({**path, "loss": f"{loss}%"}, [{"count": 4}], tunnel=way))
        for name, way in ways.items()
        for loss in (0.01, 0.03, 0.1, 0.3, 1, 3)
    ]


def server() -> list[Point]:
    """Return points: one flow of each algorithm alone, and BBR beside CUBIC."""
    path = {"rate": "50Mbps", "rtt": "40ms"}
    alone = [
        Point(cc.upper(), loss, _experiment({**path, "loss": f"{loss}%"}, [{"cc": cc}]))
        for cc in ("bbr", "cubic")
        for loss in (0.01, 0.03, 0.1, 0.3, 1, 3)
    ]
    pair = [{"cc": "bbr"}, {"cc": "cubic"}]
    beside = [
        Point(
            f"{name} beside the other",
            buffer,
            _experiment({**path, "buffer": f"{buffer}bdp"}, pair, **_LONG),
            which,
        )
        for name, which in (("BBR", slice(0, 1)), ("CUBIC", slice(1, 2)))
        for buffer in (0.25, 0.5, 1, 2, 4, 8)
    ]
    return alone + beside


def connections() -> list[Point]:
    """Return points: one user's parallel connections, alone and beside one flow."""
    path = {"rate": "50Mbps", "rtt": "100ms"}
    counts = (1, 2, 4, 8, 16)
    alone = [
        Point(
            f"{loss} loss", count, _experiment({**path, "loss": loss}, [{"count": count}], **_LONG)
        )
        for loss in ("0.1 %", "0.01 %")
        for count in counts
    ]
    beside = [
        Point(name, count, _experiment(path, [{"cc": "cubic"}, {"count": count}], **_LONG), which)
        for name, which in (("yours", slice(1, None)), ("one flow of a neighbour", slice(0, 1)))
        for count in counts
    ]
    return alone + beside


def fec() -> list[Point]:
    """Return points: four ways against loss."""
    path = {"rate": "20Mbps", "rtt": "100ms", "buffer": "200p"}

    def ways(loss: float, model: dict[str, Any]) -> list[tuple[str, str, str, dict[str, Any]]]:
        return [
            ("CUBIC", "cubic", "none", {"loss": f"{loss}%"}),
            ("BBR", "bbr", "none", {"loss": f"{loss}%"}),
            ("CUBIC in FEC", "cubic", "udpspeeder", {"loss": f"{loss}%"}),
            ("CUBIC in FEC, losses in bursts", "cubic", "udpspeeder", model),
        ]

    return [
        Point(name, loss, _experiment({**path, **lossy}, [{"cc": cc}], tunnel=tunnel))
        for loss in (0.1, 0.3, 1, 3, 5, 10)
        # Bursts of four packets in the mean.
        for name, cc, tunnel, lossy in ways(
            loss, {"gilbert_elliott": {"p": loss / (100 - loss) / 4, "r": 1 / 4}}
        )
    ]


def others() -> list[Point]:
    """Return points: one plain CUBIC flow beside four flows through a tunnel."""
    ways: dict[str, tuple[str, Any]] = {
        "no tunnel": ("cubic", "none"),
        "WireGuard": ("cubic", "wireguard"),
        "GOST, a carrier for each": ("cubic", "gost-relay-wss"),
        "GOST, one carrier": ("cubic", "gost-relay-mwss"),
        "OpenVPN over TCP": ("cubic", "openvpn-2.6-tcp"),
        "GOST, a BBR carrier for each": ("cubic", {"name": "gost-relay-wss", "cc": "bbr"}),
    }
    path = {"rate": "50Mbps", "rtt": "40ms"}
    return [
        Point(
            "neighbour",
            name,
            _experiment(
                path,
                [{"cc": "cubic", "tunnel": "none"}, {"cc": cc, "count": 4}],
                tunnel=tunnel,
                **_LONG,
            ),
            slice(0, 1),
        )
        for name, (cc, tunnel) in ways.items()
    ]


def simulate(points: Sequence[Point], seeds: Sequence[int] = SEEDS) -> list[Row]:
    """Run each point with each seed."""
    experiments = [tc.Experiment(**it.experiment, seed=seed) for it in points for seed in seeds]
    values, drifts = [], []
    for number, result in enumerate(tc.run_many(experiments)):
        which = points[number // len(seeds)].flows
        goodputs = tc.metrics.METRICS["flow_goodput"](result)
        values.append(float(goodputs[which or slice(None)].sum()) / 1e6)
        changes = tc.metrics.METRICS["flow_drift"](result)
        drifts.append(bool((abs(changes) > 0).any()))
    rows = []
    for index, it in enumerate(points):
        of = slice(index * len(seeds), (index + 1) * len(seeds))
        found = values[of]
        drifting = 2 * sum(drifts[of]) >= len(seeds)
        mean, least, most = (
            round(value, 2) for value in (sum(found) / len(found), min(found), max(found))
        )
        rows.append(Row(it.line, str(it.x), mean, least, most, drifting))
    return rows


def draw(name: str, rows: Sequence[Row]) -> Figure:
    """Draw the figure of a question from its rows."""
    panels = QUESTIONS[name].panels
    width = 3.9 if len(panels) == 1 else 7.6  # a panel fits on a phone
    figure = Figure(figsize=(width, 3.9 if len(panels) == 1 else 3.4), layout="constrained")
    for axes, (lines, title, xlabel) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        for index, line in enumerate(lines):
            of = [row for row in rows if row.line == line]
            if name == "others":
                places = range(len(of))
                ends = [[it.mean - it.least for it in of], [it.most - it.mean for it in of]]
                axes.barh(places, [it.mean for it in of], xerr=ends, color="#56B4E9")
                axes.set_yticks(places, [it.x for it in of])
                axes.invert_yaxis()
                axes.axvline(10, color="black", linestyle=":")
                axes.text(10.4, len(of) - 1, "fair: 10", va="center")
                continue
            x = [float(it.x) for it in of]
            style = category_style(index)
            axes.plot(
                x, [it.mean for it in of], label=line.replace(" beside the other", ""), **style
            )
            axes.fill_between(
                x, [it.least for it in of], [it.most for it in of], color=style["color"], alpha=0.2
            )
        if name == "others":
            axes.set(xlabel="a plain flow beside it (Mbit/s)", title=title)
            continue
        axes.set(xscale="log", xlabel=xlabel, ylabel="goodput (Mbit/s)", title=title)
        axes.set_xticks(x, [f"{it:g}" for it in x])
        axes.minorticks_off()
        axes.set_ylim(0, 1.35 * max(it.most for it in rows if it.line in lines))
        if len(lines) < 4:
            axes.legend(fontsize=8, loc="upper right")
        else:
            axes.set_ylim(bottom=0, top=1.05 * max(it.most for it in rows if it.line in lines))
            columns = 1 if max(map(len, lines)) > 20 else 2
            figure.legend(fontsize=8, loc="outside lower center", ncols=columns)
    return figure


@dataclass(frozen=True)
class Question:
    """Where the points come from, and panels: the lines of each, its title, and what x is."""

    points: Callable[[], list[Point]]
    panels: Sequence[tuple[Sequence[str], str, str]]


_LOSS = "random loss (%)"
QUESTIONS = {
    "vpn": Question(
        vpn,
        [
            (
                ("no VPN", "WireGuard", "OpenVPN over UDP", "OpenVPN over TCP"),
                "four downloads",
                _LOSS,
            )
        ],
    ),
    "server": Question(
        server,
        [
            (("BBR", "CUBIC"), "alone", _LOSS),
            (("BBR beside the other", "CUBIC beside the other"), "together", "buffer (BDP)"),
        ],
    ),
    "connections": Question(
        connections,
        [
            (("0.01 % loss", "0.1 % loss"), "alone, by random loss", "your connections"),
            (("yours", "one flow of a neighbour"), "together, no random loss", "your connections"),
        ],
    ),
    "fec": Question(
        fec,
        [
            (
                ("CUBIC", "BBR", "CUBIC in FEC", "CUBIC in FEC, losses in bursts"),
                "one download",
                "loss (%)",
            )
        ],
    ),
    "others": Question(others, [(("neighbour",), "", "")]),
}


def load(name: str) -> list[Row]:
    """Return the rows of a question from its table."""
    with (HERE / f"{name}.csv").open(newline="") as file:
        return [
            Row(line, x, float(mean), float(least), float(most), drifts == "1")
            for line, x, _, mean, least, most, drifts in list(csv.reader(file))[1:]
        ]


def main(names: Sequence[str]) -> None:
    """Write the figures and tables of these questions, or of all."""
    for name in names or QUESTIONS:
        rows = simulate(QUESTIONS[name].points())
        with (HERE / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["line", "x", "unit", "mean", "least", "most", "drifts"])
            for it in rows:
                numbers = [f"{value:.2f}" for value in (it.mean, it.least, it.most)]
                table.writerow([it.line, it.x, "Mbit/s", *numbers, int(it.drifts)])
        with mpl.rc_context(STYLE):
            save(draw(name, rows), HERE / f"{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
