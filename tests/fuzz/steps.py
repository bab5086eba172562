# SPDX-License-Identifier: GPL-2.0-only
"""Runs random experiments, and again with steps to the values that their links have by then.

Rates, losses, buffers and RTTs of both directions, and of all links, get steps in random numbers
and at random times. None of them changes a value, so none may change a result: nothing begins anew,
neither queues and shapers, nor policers, counters of periodic loss, and streams of random numbers.
Where a hand-over loses packets, a step of the RTT is a hand-over whatever its value is.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tunnelcc as tc
from tests.fuzz.tables import Draw, make_files
from tunnelcc.schema.units import parse_time

#: Numbers that count what the simulator does, and not what the network does.
_NOT_COMPARED = {"events"}
_KEYS = ("rate", "loss", "buffer")


class Fuzzer:
    """The traces that experiments name."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        make_files(directory)

    def attempt(self, draw: random.Random) -> str:
        """Return what became of one experiment."""
        table = Draw(draw, self._directory).table()
        if draw.random() < 0.3:
            table["path"]["loss_pattern"] = "periodic"
            table["path"].setdefault("loss", draw.choice(("1%", "5%")))
        if "gilbert_elliott" not in table["path"]:
            table["path"].setdefault("loss", "0%")
        for link in _directions(table):
            # A line whose delay changes may take packets of one moment in another order.
            if "rtt" in link and "trace" not in link and draw.random() < 0.7:
                link.setdefault("rtt_steps", [["1ns", link["rtt"]]])
        stepped = copy.deepcopy(table)
        duration = parse_time(table["duration"])
        added = [
            _add_steps(link, key, duration, draw)
            for link in _directions(stepped)
            for key in ("rtt", *_KEYS)
            if draw.random() < 0.7 and (key != "rtt" or "rtt_steps" in link)
            if key != "rtt" or table["path"].get("handover") != "lost"
        ]
        if not any(added):
            return "no place for a step"
        try:
            plain = tc.run(table, progress=False)
            again = tc.run(stepped, progress=False)
        except tc.ConfigError:
            return "refused"
        try:
            _compare(plain, again)
        except AssertionError:
            print(f"experiment: {json.dumps(table)}", file=sys.stderr)
            raise
        return "the same"


def _directions(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the tables of all directions of links."""
    network = table.get("network", {})
    for link in (table["path"], network.get("access", {}), *network.get("links", {}).values()):
        yield link
        if isinstance(link.get("reverse"), dict):
            yield link["reverse"]


def _add_steps(link: dict[str, Any], key: str, duration: float, draw: random.Random) -> int:
    """Let ``link`` say again what ``key`` is. Return how many steps that takes."""
    first = link.get(key)
    if first is None or "trace" in link or (key == "loss" and "gilbert_elliott" in link):
        return 0
    steps = [(0.0, "0s", first)]
    steps += [(parse_time(moment), moment, value) for moment, value in link.get(f"{key}_steps", ())]
    times = [time for time, _, _ in steps]
    count = draw.choice((1, 3, 40, 300))
    for _ in range(count):
        nanoseconds = draw.randrange(1, max(2, round(duration * 1e9)))
        time = nanoseconds / 1e9
        if time not in times:
            value = steps[bisect_right(times, time) - 1][2]
            steps.append((time, f"{nanoseconds}ns", value))
    # Those before the added ones have the same values as these.
    steps.sort(key=lambda it: it[0])
    link[f"{key}_steps"] = [[moment, value] for _, moment, value in steps[1:]]
    return count


def _compare(plain: tc.Result, again: tc.Result) -> None:
    """Raise AssertionError where what was measured differs."""
    for name, value in plain.measured.items():
        if name in _NOT_COMPARED:
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind in "if":
            known = value[np.isfinite(value)]
            near = 1e-9 * np.abs(known).max(initial=0.0)
            np.testing.assert_allclose(again.measured[name], value, 1e-9, near, err_msg=name)
        else:
            assert str(again.measured[name]) == str(value), name
