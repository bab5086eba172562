# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 4: fairness and its measures."""

from typing import Any

from tunnelcc.lessons import LARGE, run_sweep

RATE, RTT = 50e6, 0.04  # bit/s, s
PATH = {"rate": "50Mbps", "rtt": "40ms"}
DEPTHS = ["0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp"]


def sweep(
    name: str,
    flows: list[Any],
    axes: dict[str, Any],
    seeds: int = 3,
    duration: str = "300s",
    warmup: str = "150s",
) -> Any:
    """Run a sweep of the path above and return its results, by default when shares have settled."""
    base = {"path": PATH, "hosts": LARGE, "flows": flows, "duration": duration, "warmup": warmup}
    return run_sweep(name, base, axes, seeds)


def over_buffer(axes: Any, results: Any) -> None:
    """Label a logarithmic axis of buffers."""
    depths = results["path.buffer"].values
    axes.set(xscale="log", xlabel="buffer (BDP)")
    axes.set_xticks(depths, [f"{depth:g}" for depth in depths])
    axes.minorticks_off()
