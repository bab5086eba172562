# SPDX-License-Identifier: GPL-2.0-only
"""QUIC against programs: rates and queues (tests/validation/quic.py), packets (quic-wire.csv)."""

from __future__ import annotations

import csv
from itertools import pairwise, takewhile
from statistics import fmean

import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import catalog
from validation import quic, suite
from validation.carriers import Cell, cells
from validation.check import Group, Verdict

WIRE = list(csv.DictReader((ROOT / "tests/reference/quic-wire.csv").read_text().splitlines()))


# All of them take 20 s.
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(it, marks=pytest.mark.slow) for it in (1, 2, 3))]
)
@pytest.mark.parametrize("checks", [quic.checks, quic.queue_checks], ids=["rates", "queues"])
def test_rates_and_queues_are_those_that_programs_had(checks, first):
    group = Group("programs", "programs", tuple(checks())[first::4])
    report = suite.validate([group])
    wrong = [
        f"{it.check.name}: {it.judgement.got}, expected {it.check.comparison.expected}"
        for it in report.outcomes
        if it.verdict is Verdict.FAIL
    ]
    assert not wrong


def _mean(cell: Cell, column: str) -> float:
    return fmean(float(row[column]) for row in cell.rows)


def _start_drops(cell: Cell) -> float:
    """Return the mean of what overflows the queue in the first two seconds of data."""
    end = quic.QUEUE_START + quic.QUEUE_WARMUP
    found = []
    for seed in (1, 2, 3):
        result = tc.run(quic.queue_experiment(cell, seed))
        drops = result.links["path"].forward.queue_drops_series
        found.append(drops[result["time"] < end + 0.01][-1])
    return fmean(found)


@pytest.mark.parametrize(
    "cell", [it for it in cells(quic.QUEUES) if "Mbit/s" not in it.setup], ids=lambda it: it.name
)
def test_start_up_drops_as_much_as_the_program(cell):
    # Its window is two BDP, which path and buffer just hold. Runs are few, and their drops vary.
    runs = [float(row["start_drops"]) for row in cell.rows]
    assert 0.8 * min(runs) <= _start_drops(cell) <= 1.2 * max(runs)


def _rises(series: list[tuple[float, float]], first: float, last: float) -> float:
    """Return by how much the queueing delay rises, ms/s: the slope of a line through it."""
    times, delays = zip(*(it for it in series if first <= it[0] <= last), strict=True)
    return float(np.polyfit(times, delays, 1)[0])


def test_the_queue_rises_between_two_probes_of_the_rtt_as_the_programs():
    # 40 ms, from 12 to 19 s. BBR paces at a maximum of noisy samples, without Linux's margin.
    rows = csv.DictReader((quic.QUEUES.parent / "quic-queues-series.csv").read_text().splitlines())
    runs: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if (row["setup"], row["rtt_ms"], row["loss"]) == ("hysteria2", "40", "0"):
            runs.setdefault(row["seed"], []).append((float(row["t"]), float(row["queue_ms"])))
    measured = fmean(_rises(run, 12, 19) for run in runs.values())
    (cell,) = (it for it in cells(quic.QUEUES) if it.name == "hysteria2/40ms/0%")
    found = []
    for seed in (1, 2, 3):
        result = tc.run(quic.queue_experiment(cell, seed))
        delays = result.links["path"].forward.queue_bytes * 8 / 100e6 * 1e3
        times = result["time"] - quic.QUEUE_START
        found.append(_rises(list(zip(times, delays, strict=True)), 12, 19))
    assert measured > 1
    assert fmean(found) == pytest.approx(measured, rel=0.2)


def _first(setup: str, direction: str, header: str) -> list[int]:
    """Return the first packets of a direction, until one that has another header."""
    rows = [it for it in WIRE if (it["setup"], it["part"]) == (setup, "first")]
    ways = [it for it in rows if it["direction"] == direction]
    packets = takewhile(lambda it: it["header"] == header, ways)
    return [int(it["bytes"]) for it in packets for _ in range(int(it["count"]))]


@pytest.mark.parametrize(
    ("setup", "entry"),
    [("gost relay+quic", "gost-quic"), ("hysteria2, 50 Mbit/s", "hysteria2")],
)
def test_packets_are_those_that_were_captured(setup, entry):
    found = catalog.load(entry).quic
    begin, *_ = found.handshake
    assert _first(setup, "out", "long")[: len(begin.client)] == list(begin.client)
    assert _first(setup, "back", "long") == pytest.approx(list(begin.server), abs=5)
    sizes = [
        int(it["bytes"])
        for it in WIRE
        if (it["setup"], it["part"], it["direction"]) == (setup, "sizes", "out")
    ]
    assert max(sizes) == found.full(is_up=True)


@pytest.mark.parametrize("setup", ["gost relay+quic", "quic-go"])
def test_the_search_takes_the_captured_steps(setup):
    steps, size = [], 1280
    while size < 1441:
        size = (size + 1452) // 2
        steps.append(size)
    rows = {int(it["bytes"]): it for it in WIRE if (it["setup"], it["part"]) == (setup, "sizes")}
    times = [float(rows[it]["time_ms"]) for it in steps]
    # Each after five round trips, and one until its ACK; the queue makes the later ones longer.
    assert all(600 <= later - sooner <= 1300 for sooner, later in pairwise(times))
