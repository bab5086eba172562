# SPDX-License-Identifier: GPL-2.0-only
"""MPTCP of Linux 7.3 on a virtual clock over 40 pairs of paths, beside the simulation.

``tests/reference/multipath.py`` measured them. Goodput agrees within 10 %, the share of the packets
that took the first path within 10 points, as means of four seeds; but for the pairs that KNOWN has.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tunnelcc as tc

_FILE = Path(__file__).parents[2] / "validation/data/multipath/answers.jsonl"
ANSWERS = {it["name"]: it for it in map(json.loads, _FILE.read_text().splitlines())}
_SEEDS = 4

#: Pairs whose goodput misses by more than 10 %, and by how much (%). One path has a quarter of the
#: other one's rate, and the algorithm is CUBIC; why Linux then gets more is not known.
KNOWN = {"rate-1": -18.9, "down-2": -10.6}


def _simulated(table: dict[str, Any]) -> tuple[float, float]:
    """Goodput (Mbit/s), and the share (%) of packets that took the first path."""
    goodputs, shares = [], []
    for seed in range(1, _SEEDS + 1):
        experiment = tc.Experiment.parse({**table, "seed": seed})
        result = tc.run(experiment)
        names = [*experiment.resolved.topology.links]
        way = int(experiment.direction == "down")
        packets = [float(result["link_packets"][names.index(it)][way]) for it in "ab"]
        time = experiment.duration - experiment.warmup
        goodputs.append(8e-6 * float(result["flow_delivered_bytes"][0]) / time)
        shares.append(100 * packets[0] / sum(packets))
    return sum(goodputs) / _SEEDS, sum(shares) / _SEEDS


def test_there_are_forty():
    assert len(ANSWERS) == 40
    assert set(KNOWN) < set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_as_linux(name):
    told = ANSWERS[name]
    goodput, share = _simulated(told["experiment"])
    assert share == pytest.approx(told["share"], abs=10)
    miss = 100 * (goodput / told["goodput"] - 1)
    if name in KNOWN:
        assert miss == pytest.approx(KNOWN[name], abs=3)
        assert abs(miss) > 10, "it no longer misses"
    else:
        assert abs(miss) <= 10
