# SPDX-License-Identifier: GPL-2.0-only
"""QUIC against programs: rates (tests/validation/quic.py) and packets (quic-wire.csv)."""

from __future__ import annotations

import csv
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from tunnelcc import catalog
from tunnelcc.validation import suite
from tunnelcc.validation.check import Group, Verdict
from validation import quic

WIRE = list(
    csv.DictReader(
        (Path(__file__).parents[1] / "reference" / "quic-wire.csv").read_text().splitlines()
    )
)


def test_rates_are_those_that_programs_had():
    group = Group("programs", "programs", tuple(quic.checks()))
    report = suite.validate([group])
    wrong = [
        f"{it.check.name}: {it.judgement.got}, expected {it.check.comparison.expected}"
        for it in report.outcomes
        if it.verdict is Verdict.FAIL
    ]
    assert not wrong


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
