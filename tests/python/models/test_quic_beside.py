# SPDX-License-Identifier: GPL-2.0-only
"""Flows over QUIC beside TCP's, against quic-go beside Linux (tests/reference/quic-beside.csv).

A share is compared with the range of the measured runs, widened on both sides by two standard
errors of the simulated mean: shares of single runs have a standard deviation of at most 12 points.
Start times are those of the runs. The link's lateness is simulated as jitter.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from statistics import fmean
from typing import Any

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.catalog.quic import transport
from validation.linux import lateness

REFERENCE = ROOT / "tests" / "reference"
SEEDS = 20
TOLERANCE = 6  # points
BIAS = 4  # points: twice the standard error of 11 conditions, if three runs vary by 10 each
WARMUP, DURATION = 5, 30  # s, as quic_beside.py has them

Key = tuple[str, ...]  # rate, RTT, buffer, flows
Rows = list[dict[str, str]]


def _rows(name: str) -> Rows:
    with (REFERENCE / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _conditions() -> dict[Key, Rows]:
    found: dict[Key, Rows] = {}
    for row in _rows("quic-beside.csv"):
        names = ("rate_mbps", "rtt_ms", "buffer_bdp", "first", "second")
        found.setdefault(tuple(row[it] for it in names), []).append(row)
    return found


CONDITIONS = _conditions()


def _flow(cc: str, start: str) -> dict[str, Any]:
    own = {"transport": "quic", "cc": "reno"} if cc == "quic" else {"cc": cc}
    return {**own, "start": f"{start}s"}


def _shares(rows: Rows) -> Iterator[float]:
    """Yield the first flow's share of each of the seeds, %."""
    for seed in range(SEEDS):
        row = rows[seed % len(rows)]
        experiment = tc.Experiment.parse(
            {
                "path": {
                    "rate": f"{row['rate_mbps']}Mbps",
                    "rtt": f"{row['rtt_ms']}ms",
                    "buffer": f"{row['buffer_packets']}p",
                    **lateness(float(row["late_p99_ms"])),
                },
                "flows": [_flow(row[it], row[f"{it}_start_s"]) for it in ("first", "second")],
                "warmup": f"{WARMUP}s",
                "duration": f"{DURATION}s",
                "seed": seed + 1,
            }
        )
        first, second = (
            it["flow_goodput"] for it in tc.run(experiment, progress=False).to_dict()["flows"]
        )
        yield 100 * first / (first + second)


FILLING = [key for key in CONDITIONS if key[3] == "quic" and key[4] in ("cubic", "reno")]


def _off(key: Key) -> float:
    """Check that the share is as measured; return by how much it is larger than the mean."""
    measured = [float(row["first_share_percent"]) for row in CONDITIONS[key]]
    share = fmean(_shares(CONDITIONS[key]))
    assert min(measured) - TOLERANCE <= share <= max(measured) + TOLERANCE, key
    return share - fmean(measured)


@pytest.mark.parametrize("key", [it for it in CONDITIONS if it not in FILLING], ids="-".join)
def test_a_flow_has_the_share_that_was_measured(key):
    _off(key)


def test_shares_beside_algorithms_that_fill_the_queue_are_as_measured_and_not_biased():
    # Without the threads' delay, QUIC would have 9 points too little.
    assert fmean(map(_off, FILLING)) == pytest.approx(0, abs=BIAS)


def test_threads_wake_up_as_late_as_was_measured():
    # QUIC's answers less TCP's, which the simulator sends at once: means of medians, and of tenths.
    rows = {
        (row["rate_mbps"], row["rtt_ms"], row["end"], row["transport"]): row
        for row in _rows("quic-beside-answers.csv")
    }
    later = {
        column: fmean(
            float(row[column]) - float(rows[(*key[:3], "tcp")][column])
            for key, row in rows.items()
            if key[3] == "quic"
        )
        for column in ("p10_us", "p50_us")
    }
    threads = transport().threads
    spread = threads.wake_delay - threads.wake_least
    for column, of_spread in (("p10_us", 0.105), ("p50_us", 0.693)):  # of an exponential
        assert 1e6 * (threads.wake_least + of_spread * spread) == pytest.approx(
            later[column], rel=0.15
        )
