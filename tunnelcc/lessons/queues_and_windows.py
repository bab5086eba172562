# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 1: queues and windows."""

from typing import Any

from tunnelcc.lessons import LARGE, PACKET, Figure, tc

RATE, RTT = 10e6, 0.1  # bit/s, s
BDP = RATE * RTT / 8 / PACKET  # packets


def run(
    cc: str = "reno",
    buffer: str = "1bdp",
    seconds: float = 100,
    warmup: float = 20,
    count: int = 1,
    hosts: dict[str, Any] = LARGE,
    rate: str = "10Mbps",
) -> tc.Result:
    """Run flows on a link of 10 Mbit/s with an RTT of 100 ms, and return the result."""
    experiment = tc.Experiment(
        path={"rate": rate, "rtt": "100ms", "buffer": buffer},
        flows=[{"cc": cc, "count": count}],
        hosts=hosts,
        duration=f"{seconds}s",
        warmup=f"{warmup}s",
    )
    return tc.run(experiment, progress=False)


def draw_teeth(
    time: Any, window: Any, queue: Any, buffer: float = BDP, seconds: float = 60
) -> Figure:
    """Draw a window and the queue over time, in packets."""
    figure = Figure(figsize=(5.6, 5.2))
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.plot(time, window)
    for packets, name, where in ((BDP, "one BDP", "top"), (BDP + buffer, "BDP + buffer", "bottom")):
        top.axhline(packets, color="black", linestyle=":", linewidth=1)
        top.text(seconds, packets, name, ha="right", va=where)
    top.set(ylabel="window (packets)", ylim=(0, 1.3 * (BDP + buffer)))
    bottom.plot(time, queue, color="black")
    bottom.set(xlabel="time (s)", ylabel="queue (packets)", xlim=(0, seconds), ylim=(0, None))
    return figure
