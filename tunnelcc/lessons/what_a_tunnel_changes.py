# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 7: what a tunnel changes."""

from typing import Any

from tunnelcc.lessons import np, run_sweep, tc

PATH = {"rate": "50Mbps", "rtt": "40ms"}
SPLIT, NESTED = "gost-relay-wss", "openvpn-2.6-tcp"
NAMES = {"none": "no tunnel", SPLIT: "split", NESTED: "TCP over TCP"}
LOOKS = {"none": "k-", SPLIT: "C0--", NESTED: "C1-."}


def sweep(name: str, axes: dict[str, Any], flows: list[Any], seeds: int = 3) -> Any:
    """Run a sweep of the path above and return its results."""
    base = {"path": PATH, "flows": flows, "duration": "25s", "warmup": "5s"}
    return run_sweep(name, base, axes, seeds)


def run(
    tunnel: str | dict[str, Any],
    loss: float = 0.0,
    count: int = 4,
    seed: int = 1,
    cc: str = "cubic",
) -> tc.Result:
    """Run `count` applications through a tunnel."""
    experiment = tc.Experiment(
        path={**PATH, "loss": loss},
        flows=[{"cc": cc, "count": count}],
        tunnel=tunnel,
        duration="25s",
        warmup="5s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def rtt(leg: Any) -> float:
    """Return the mean smoothed RTT of a connection in ms."""
    return 1e3 * float(np.mean([sample for sample in leg.srtt if sample > 0]))
