# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 8: one carrier or many."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunnelcc.lessons import LARGE, Figure, np, tc

WAYS = {
    "none": "no tunnel",
    "wireguard": "datagrams",
    "gost-relay-wss": "relay,\nmany carriers",
    "gost-relay-mwss": "relay,\none carrier",
    "openvpn-tcp": "TCP\nover TCP",
}


def run(
    tunnel: str,
    mine: int = 8,
    yours: int = 1,
    queue: str = "drop-tail",
    buffer: str = "1bdp",
    carrier: str = "cubic",
    seed: int = 1,
) -> tc.Result:
    """Run my flows through a tunnel beside yours without one, and return the result."""
    # A tunnel of datagrams has no carrier with a congestion control.
    has_carrier = tunnel not in ("none", "wireguard")
    experiment = tc.Experiment(
        path={"rate": "50Mbps", "rtt": "40ms", "buffer": buffer, "queue": queue},
        tunnel={"name": tunnel, "cc": carrier} if has_carrier else tunnel,
        flows=[{"cc": "cubic", "count": mine}, {"cc": "cubic", "count": yours, "tunnel": "none"}],
        hosts=LARGE,
        duration="240s",  # two loops need minutes to become equal
        warmup="40s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def my_share(result: tc.Result, mine: int = 8) -> float:
    """Return what the first flows have of the goodput of all."""
    return float(sum(result.metric("goodput", flow=flow) for flow in range(mine)) / result.goodput)


def mean_share(tunnel: str, mine: int = 8, seeds: Sequence[int] = (1, 2, 3), **keys: Any) -> float:
    """Return my share as the mean of some seeds."""
    return float(np.mean([my_share(run(tunnel, mine, seed=seed, **keys), mine) for seed in seeds]))


def draw(shares: Mapping[str, float], fair: float) -> Figure:
    """Draw my share for each way."""
    figure = Figure(figsize=(5.6, 3.8))
    axes = figure.subplots()
    bars = axes.barh(list(WAYS.values()), list(shares.values()), color="#56B4E9", edgecolor="black")
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.axvline(fair, color="black", linestyle=":")
    axes.set(xlabel="my share of the link", xlim=(0, 1.1))
    axes.invert_yaxis()
    return figure
