# SPDX-License-Identifier: GPL-2.0-only
"""TCP over pairs of paths that MLVPN or Linux's bonding driver joins, beside the simulation.

``tests/reference/bonding.py`` measured them, over links that share nothing with the models. Goodput
agrees within 10 %, the share of the packets over the first path within 2 points, as means of the
seeds; but for the pairs that KNOWN has.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import tunnelcc as tc

_FILE = Path(__file__).parents[2] / "validation/data/bonding/answers.jsonl"
_FAR = {"rate": "10Gbps", "rtt": "10us", "buffer": "10000p"}
_SEEDS = 4

#: Pairs whose goodput misses by more than 10 %, and by how much (%). Without a buffer, and where
#: packets of the second path are very late, RACK takes too many of them for lost; why Linux does
#: not is not known. With 2 % of loss, the two runs of MLVPN itself differ by a third.
KNOWN = {
    "slow-20-1/no-buffer": -72.9, "far-20-5/no-buffer": -73.3, "far-20-5": 22.6, "loss-2": 15.0,
}  # fmt: skip


def _read() -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for line in _FILE.read_text().splitlines():
        told = json.loads(line)
        found[told["name"]].append(told)
    return dict(found)


ANSWERS = _read()


def experiment(pair: dict[str, Any], seed: int) -> tc.Experiment:
    """Return the experiment that does what was measured."""
    links: dict[str, Any] = {}
    for name, router, rate, rtt in zip("ab", "xy", pair["rates"], pair["rtts"], strict=True):
        queue = max(4, round(rate * 1e3 * rtt / 8 / 1500))
        links[name] = {
            "between": ["client", router], "rate": f"{rate}Mbps", "rtt": f"{rtt}ms",
            "buffer": f"{queue}p",
        }  # fmt: skip
        links[f"{name}-far"] = {"between": [router, "server"], **_FAR}
    links["b"]["loss"] = f"{pair['loss']}%"
    uplinks: dict[str, Any] = {"routes": [["client", "y", "server"]]}
    flow = {"cc": pair["cc"], "from": "client", "to": "server", "route": ["client", "x", "server"]}
    if pair["program"] == "mlvpn":
        tunnel: dict[str, Any] = {"name": "mlvpn", "mode": "cleartext"}
        # The first turn is of the path that its file has last.
        flow["route"], uplinks["routes"] = uplinks["routes"][0], [flow["route"]]
        weights = (pair["weights"] or [1, 1])[::-1]
        uplinks |= {"use": "weights", "weights": weights, "reorder_size": pair["reorder"]}
    else:
        tunnel = {"name": "vxlan", "mtu": 1450}
        uplinks |= {"use": "packets"}
    tunnel |= {"between": ["client", "server"], "uplinks": uplinks}
    hosts = {"tcp_rmem": "32MiB", "tcp_wmem": "32MiB"}
    table = {"network": {"links": links}, "tunnel": tunnel, "flows": flow, "hosts": hosts}
    return tc.Experiment.parse({**table, "duration": "25s", "warmup": "5s", "seed": seed})


def _simulated(pair: dict[str, Any]) -> tuple[float, float]:
    """Goodput (Mbit/s), and the share (%) of packets that took the first path."""
    goodputs, shares = [], []
    for seed in range(1, _SEEDS + 1):
        result = tc.run(experiment(pair, seed), progress=False)
        first, other = (float(result["link_packets"][number][0]) for number in (0, 2))
        goodputs.append(result.goodput / 1e6)
        shares.append(100 * first / (first + other))
    return sum(goodputs) / _SEEDS, sum(shares) / _SEEDS


def test_there_are_two_runs_of_each():
    assert len(ANSWERS) == 26
    assert {len(it) for it in ANSWERS.values()} == {2}
    assert set(KNOWN) < set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_as_measured(name):
    told = ANSWERS[name]
    goodput, share = _simulated(told[0]["pair"])
    assert share == pytest.approx(sum(it["share"] for it in told) / len(told), abs=2)
    measured = sum(it["goodput"] for it in told) / len(told)
    miss = 100 * (goodput / measured - 1)
    if name in KNOWN:
        assert miss == pytest.approx(KNOWN[name], abs=5)
        assert abs(miss) > 10, "it no longer misses"
    else:
        assert abs(miss) <= 10
