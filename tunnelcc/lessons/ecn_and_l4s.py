# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 15: ECN and L4S."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunnelcc.lessons import Figure, tc


def run(
    *flows: str | Mapping[str, Any],
    queue: str = "codel",
    ecn: bool = True,
    tunnel: str = "none",
    seconds: tuple[float, float] = (10, 60),
    seed: int = 1,
    **path: Any,
) -> tc.Result:
    """Run flows, or congestion controls, over 50 Mbit/s, 20 ms and a buffer of four BDP.

    ``seconds``: begin and end of the measurement.
    """
    experiment = tc.Experiment(
        path={"rate": "50Mbps", "rtt": "20ms", "buffer": "4bdp", "queue": queue, **path},
        flows=[{"cc": it} if isinstance(it, str) else dict(it) for it in flows],
        tcp={"ecn": ecn, "nodelay": True},
        tunnel=tunnel,
        duration=f"{seconds[1]}s",
        warmup=f"{seconds[0]}s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def signals(result: tc.Result) -> tuple[int, int, int]:
    """Return the packets that the queue marked and dropped, and those sent again."""
    link = result.links["path"].forward
    again = sum(int(leg.retransmits or 0) for legs in result.legs for leg in legs[:1])
    return int(link.marks or 0), int(link.queue_drops or 0), again


def wait(result: tc.Result) -> float:
    """Return how long packets wait in the queue, mean, ms."""
    return 1e3 * float(result.metric("queue_delay_mean"))


def rates(result: tc.Result) -> list[float]:
    """Return the goodput of each flow, Mbit/s."""
    return [float(result.metric("goodput", flow=it)) / 1e6 for it in range(len(result.flows))]


def latency(result: tc.Result, flow: int = -1) -> float:
    """Return within what time 99 % of a flow's messages arrive, ms; of the last flow by default."""
    place = flow % len(result.flows)
    return 1e3 * float(result.metric("flow_message_latency_p99", flow=place))


def draw_bars(names: Sequence[str], bars: Mapping[str, Sequence[float]]) -> Figure:
    """Draw a panel of bars for each quantity, with a bar for each name."""
    figure = Figure(figsize=(5.6, 1.2 + 0.42 * len(names)), layout="constrained")
    for axes, (label, values) in zip(
        figure.subplots(1, len(bars), sharey=True, squeeze=False)[0], bars.items(), strict=True
    ):
        drawn = axes.barh(names, values, color="#56B4E9", edgecolor="black")
        axes.bar_label(drawn, fmt="%.2g", padding=3)
        axes.set(xlabel=label, xlim=(0, 1.45 * max(values)))
    figure.axes[0].invert_yaxis()
    return figure
