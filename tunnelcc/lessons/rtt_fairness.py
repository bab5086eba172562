# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 5: RTT fairness."""

from typing import Any

from tunnelcc.lessons import LARGE, run_sweep

RTTS = ["20ms", "40ms", "80ms", "160ms"]


def sweep(
    name: str,
    axes: dict[str, Any],
    path: dict[str, Any],
    flows: list[Any] | None = None,
    seeds: int = 8,
    duration: str = "200s",
    warmup: str = "50s",
) -> Any:
    """Run a sweep of two flows, the first with 20 ms, and return its results."""
    base = {
        "path": {"rate": "50Mbps", "rtt": "20ms", **path},
        "hosts": LARGE,
        "flows": flows or [{"rtt": "20ms"}, {"rtt": "20ms"}],
        "duration": duration,
        "warmup": warmup,
    }
    return run_sweep(name, base, axes, seeds)


def ratio(results: Any) -> Any:
    """Return the goodput of the second flow per goodput of the first, mean over seeds."""
    goodput = results.flow_goodput.mean("seed")
    return goodput.isel(flow=1) / goodput.isel(flow=0)
