# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 2: slow start and CUBIC."""

from typing import Any

from tunnelcc.lessons import LARGE, PACKET, np, tc

NO_HYSTART = {"name": "cubic", "hystart": False}
#: Of 20 Mbit/s and 100 ms, packets.
BDP = 20e6 * 0.1 / 8 / PACKET


def run(
    cc: Any = "cubic",
    rate: str = "20Mbps",
    rtt: str = "100ms",
    buffer: str = "1bdp",
    seconds: float = 5,
    probe: str = "20ms",
    seed: int = 1,
    **flow: Any,
) -> tc.Result:
    """Run one flow from its first packet on, and return the result."""
    experiment = tc.Experiment(
        path={"rate": rate, "rtt": rtt, "buffer": buffer},
        flows=[{"cc": cc, **flow}],
        hosts=LARGE,
        duration=f"{seconds}s",
        warmup="0s",
        probe_interval=probe,
        start_jitter="0s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def window_of(result: tc.Result) -> Any:
    """Return the congestion window over time, in packets."""
    return np.array(result.legs[0][0].cwnd)


def drops_of(result: tc.Result) -> int:
    """Return how many packets the queue dropped."""
    return int(result.links["path"].forward.queue_drops or 0)
