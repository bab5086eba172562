# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 10: reproduce a paper, and judge it."""

from typing import Any

from tunnelcc.lessons import tc


def run(
    *flows: Any,
    loss: float = 0,
    window: str = "2500kB",
    buffer: str = "1bdp",
    seconds: float = 30,
    seed: int = 1,
) -> list[float]:
    """Run flows on the paper's path, and return the goodput of each in Mbit/s."""
    experiment = tc.Experiment(
        path={
            "rate": "1Gbps",
            "rtt": "10ms",
            "loss": loss,
            "buffer": buffer,
            "framing": "ethernet",
        },
        flows=list(flows),
        hosts={
            "kernel": "5.10",
            "tcp_rmem": window,
            "tcp_adv_win_scale": 0,  # all of the buffer is window
            "tcp_wmem": "80MB",
        },
        duration=f"{seconds}s",
        warmup="5s",
        seed=seed,
    )
    result = tc.run(experiment, progress=False)
    return [float(result.metric("goodput", flow=flow)) / 1e6 for flow in range(len(flows))]
