# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 6: buffers and queue disciplines."""

from typing import Any

from tunnelcc.lessons import LARGE, PACKET, packets_waiting, tc


def run(
    flows: list[Any],
    queue: str = "drop-tail",
    buffer: str = "1bdp",
    ecn: bool = False,
    seed: int = 1,
    seconds: float = 40,
) -> tc.Result:
    """Run flows over 20 Mbit/s and 40 ms, and return the result."""
    experiment = tc.Experiment(
        path={"rate": "20Mbps", "rtt": "40ms", "buffer": buffer, "queue": queue},
        flows=flows,
        tcp={"nodelay": True, "ecn": ecn},
        hosts=LARGE,
        duration=f"{seconds}s",
        warmup="10s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def queue_of(result: tc.Result) -> Any:
    """Return the time that a packet waits in the queue, over time, in ms."""
    return 1e3 * packets_waiting(result) * PACKET * 8 / 20e6


def latency(result: tc.Result) -> float:
    """Return the time within which 95 % of the call's packets arrive, in ms."""
    return 1e3 * float(result.metric("flow_message_latency_p95", flow=1))
