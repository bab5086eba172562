# SPDX-License-Identifier: GPL-2.0-only
"""GOST where the CPU is the limit: time per byte at both relays, and throughput.

Reference: tests/reference/gost-cpu.json, iperf3 through GOST between two namespaces of one machine
with two cores, which others used, too; where it is recorded how much, that is taken from the cores.
"""

from __future__ import annotations

import json
from functools import cache
from statistics import mean
from typing import Any

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.hosts import costs

MEASURED = json.loads((ROOT / "tests" / "reference" / "gost-cpu.json").read_text())
ROWS = [
    pytest.param(row, id=f"{row['tunnel']}-{row['direction']}-{row['streams']}") for row in MEASURED
]
_SHARES = [row["others_share_of_best_cpu"] for row in MEASURED]
#: Share of the machine that others used in those runs that recorded any.
TYPICAL_SHARE = mean(share for share in _SHARES if share and share > 0)


@cache
def _run(tunnel: str, direction: str, streams: int, others: float, iperf: bool) -> tc.Result:
    hosts: dict[str, Any] = {"one_machine": True, "speed": 1 - others, "switch_cost": 0}
    if iperf:
        hosts["profile"] = costs.REFERENCE
    return tc.run(
        tc.Experiment(
            path={"rate": "100Gbps", "rtt": "100us", "buffer": "16MB"},
            tunnel={"name": tunnel, "cc": "cubic"},
            flows={"count": streams},
            direction=direction,
            hosts=hosts,
            duration="400ms",
            warmup="200ms",
            probe_interval="50ms",
        )
    )


def _throughput(row: dict[str, Any], others: float) -> float:
    """Mbit/s with iperf3's own system calls, its two processes single-threaded."""
    result = _run(row["tunnel"], row["direction"], row["streams"], others, True)
    return result.goodput / 1e6


@pytest.mark.parametrize("row", ROWS)
def test_cpu_time_per_byte_of_each_relay(row):
    result = _run(row["tunnel"], row["direction"], row["streams"], 0.0, False)
    carried = sum(flow.delivered_bytes for flow in result.flows) * 1.038 / 1e9  # GB of IP
    for side in ("client", "server"):
        seconds = result.to_dict()["hosts"][side]["host_cpu_time"]
        assert seconds / carried == pytest.approx(row[f"{side}_s_per_gb"], rel=0.25), side


@pytest.mark.parametrize(
    "row",
    [it for it in ROWS if it.values[0]["others_share_of_best_cpu"] is not None],
)
def test_throughput_with_what_others_left(row):
    simulated = _throughput(row, max(0.0, row["others_share_of_best_cpu"]))
    assert simulated == pytest.approx(row["goodput_of_best_cpu_mbps"], rel=0.4)


@pytest.mark.parametrize(
    "row", [it for it in ROWS if it.values[0]["others_share_of_best_cpu"] is None]
)
def test_throughput_where_it_is_not_known_what_others_left(row):
    # Either the machine was idle, or as busy as in the runs that recorded it.
    idle, busy = _throughput(row, 0.0), _throughput(row, TYPICAL_SHARE)
    best = row["goodput_mbps"]
    assert min(abs(idle / best - 1), abs(busy / best - 1)) < 0.4


@pytest.mark.parametrize("tunnel", ["gost-relay-ws", "gost-relay-wss"])
def test_no_collapse_with_128_streams(tunnel):
    rows = {row["streams"]: row for row in MEASURED if row["tunnel"] == tunnel}
    few, many = (_throughput({**rows[1], "direction": "up", "streams": n}, 0.0) for n in (4, 128))
    assert many > 0.9 * few
