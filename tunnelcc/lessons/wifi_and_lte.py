# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 11: when ACKs come in bursts."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tunnelcc.lessons import plots, plt, tc

STATIONS = [1, 2, 4, 8]
#: Of results/wireless/settled.csv, a study with the radios of ns-3: mean time of a packet from the
#: server to a station (ms), 20 of which are a cable. A column for each of STATIONS.
STUDY = {
    ("wifi", "bbr", "no tunnel"): [79.11, 104.1, 112.9, 119.2],
    ("wifi", "bbr", "no allowance for bursts"): [52.74, 50.98, 50.31, 50.53],
    ("wifi", "bbr", "wireguard"): [76.46, 102, 116.8, 120],
    ("wifi", "bbr", "gost-relay-wss"): [78.62, 102.1, 118.4, 118.9],
    ("wifi", "cubic", "no tunnel"): [98.72, 104.2, 112.9, 121],
    ("wifi", "cubic", "wireguard"): [100.8, 92.66, 114.1, 121.3],
    ("wifi", "cubic", "gost-relay-wss"): [100.2, 105.9, 110.1, 122.3],
    ("lte", "bbr", "no tunnel"): [38.6, 67.45, 71.82, 118.4],
    ("lte", "bbr", "no allowance for bursts"): [38.46, 67.02, 75.7, 103.9],
    ("lte", "cubic", "no tunnel"): [311.8, 515.4, 1240, 2461],
}
#: Names of BBR with its allowance for bursts, and without it.
SENDERS: dict[str, Any] = {
    "BBR": "bbr",
    "no allowance": {"name": "bbr", "extra_acked_gain": 0},
    "CUBIC": "cubic",
}

_FOLDER = tempfile.TemporaryDirectory(prefix="lesson-")  # of traces


def bursts(interval: int) -> str:
    """Write a trace of a link that delivers once in an interval (ms), and return its name."""
    file = Path(_FOLDER.name) / f"{interval}.trace"
    file.write_text(f"{interval}\n" * (5 * interval))  # 5 packets of 1500 bytes for each ms
    return str(file)


def _run(
    path: Mapping[str, Any],
    cc: Any,
    count: int,
    tunnel: str,
    seconds: tuple[float, float],
    seed: int,
) -> tc.Result:
    experiment = tc.Experiment(
        path={"buffer": "500p", **path},
        flows=[{"cc": cc, "count": count}],
        tunnel=tunnel,
        duration=f"{seconds[1]}s",
        warmup=f"{seconds[0]}s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def radio(
    cc: Any,
    stations: int = 1,
    turn: int = 12,
    tunnel: Any = "none",
    seconds: tuple[float, float] = (20, 60),
    seed: int = 1,
) -> tc.Result:
    """Run a download to each station over a radio of plain parts.

    The link delivers once in a turn (ms) what 60 Mbit/s have, in both directions. The stations
    share the queue of their access point. The RTT without it is 40 ms.
    """
    trace = bursts(turn)
    path = {"trace": trace, "rtt": "40ms", "reverse": {"trace": trace}}
    return _run(path, cc, stations, tunnel, seconds, seed)


def run(
    cc: Any,
    interval: int = 0,
    rtt: str = "40ms",
    seed: int = 1,
    tunnel: Any = "none",
    seconds: tuple[float, float] = (3, 9),
) -> tc.Result:
    """Run a flow on 60 Mbit/s. Its ACKs come once in an interval (ms), or at once."""
    reverse = {"reverse": {"trace": bursts(interval)}} if interval else {}
    return _run({"rate": "60Mbps", "rtt": rtt, **reverse}, cc, 1, tunnel, seconds, seed)


def wait(result: tc.Result) -> float:
    """Return how long packets wait in the queue, ms."""
    return 1e3 * float(result.metric("queue_delay_mean"))


def draw(
    lines: Mapping[str, Sequence[float]], x: Sequence[float], xlabel: str, ylabel: str
) -> None:
    """Draw a line for each name over x."""
    _, axes = plt.subplots(figsize=(5.6, 4))
    for index, (name, values) in enumerate(lines.items()):
        axes.plot(x, values, label=name, **plots.category_style(index))
    axes.set(xlabel=xlabel, ylabel=ylabel, xticks=x)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    plt.show()
