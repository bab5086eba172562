# SPDX-License-Identifier: GPL-2.0-only
"""Goodput under random loss, where theory and measured Linux say what to expect.

100 Mbit/s x 100 ms, buffer of one BDP, buffers of the hosts out of the way.
"""

from __future__ import annotations

import statistics

import pytest

import tunnelcc as tc

CAPACITY = 100e6 * 1448 / 1500


def goodput(cc: str, loss: str, seed: int, duration: str = "60s") -> float:
    experiment = tc.Experiment(
        path=tc.Path(rate="100Mbps", rtt="100ms", loss=loss, buffer="1bdp"),
        hosts=tc.Hosts(tcp_rmem="64MiB", tcp_wmem="64MiB"),
        flows=[tc.Flow(cc=cc)],
        duration=duration,
        warmup="5s",
        seed=seed,
    )
    return tc.run(experiment, progress=False).goodput


@pytest.mark.parametrize("seed", range(1, 6))
def test_bbr_hardly_notices_one_percent(seed):
    assert 90e6 <= goodput("bbr", "1%", seed) <= 93e6


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.05])
def test_bbr_cruises_at_what_is_delivered(loss):
    # Pacing stays 1 % below the bandwidth that loss has left of the capacity, and loses again.
    expected = 0.99 * (1 - loss) ** 2 * CAPACITY
    mean = statistics.mean(goodput("bbr", str(loss), seed) for seed in range(1, 6))
    assert mean == pytest.approx(expected, rel=0.04)


def test_bbr_at_ten_percent():
    # One seed in a few falls to a lower branch, as real Linux does: hence the median.
    goodputs = [goodput("bbr", "10%", seed) for seed in range(1, 8)]
    assert 70e6 <= statistics.median(goodputs) <= 80e6


def test_cubic_at_one_percent():
    mean = statistics.mean(goodput("cubic", "1%", seed, "125s") for seed in range(1, 7))
    assert 1.25e6 <= mean <= 1.75e6
