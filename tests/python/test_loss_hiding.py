# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls that hide losses rather than yield to them, end to end."""

from __future__ import annotations

import statistics

import tunnelcc as tc

CAPACITY = 50e6 * 1448 / 1500
SEEDS = (1, 2, 3)


def run(
    *flows: object, duration: str = "40s", warmup: str = "10s", seed: int = 1, **path: object
) -> tc.Result:
    path = {"rate": "50Mbps", "rtt": "40ms", "buffer": "1bdp"} | path
    experiment = tc.Experiment.parse({
        "path": path,
        "flows": [{"cc": cc} for cc in flows],
        "duration": duration,
        "warmup": warmup,
        "seed": seed,
    })  # fmt: skip
    return tc.run(experiment, progress=False)


def mean_goodput(cc: object, **keys: object) -> float:
    return statistics.mean(run(cc, seed=seed, **keys).goodput for seed in SEEDS)


# Unlimited --------------------------------------------------------------------------------------


def test_unlimited_fills_a_lossy_link_whose_buffer_holds_all_that_it_sends():
    # Each loss costs a recovery in which no more is sent than arrives.
    for loss, part in (("0%", 0.99), ("1%", 0.9), ("5%", 0.75)):
        assert mean_goodput("unlimited", loss=loss, buffer="5MB") > part * CAPACITY
    assert mean_goodput("cubic", loss="1%", buffer="5MB") < 0.2 * CAPACITY
