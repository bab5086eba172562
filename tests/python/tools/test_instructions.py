# SPDX-License-Identifier: GPL-2.0-only
"""The models do not become slower unnoticed: instructions for a segment are within 2 % of a count.

Counts are valgrind's. Each compiler makes other code, so they are kept for the compilers that were
tried; with another one there is nothing to compare with, and the test is skipped and says so. After
a change that is meant to change the counts, `pytest --update` writes those of the compiler in use;
delete those of the others, which it makes wrong.
"""

from __future__ import annotations

import json

import pytest

import tunnelcc as tc
from bench import instructions
from helpers import ROOT

BUILD = ROOT / "build/release"
COUNTS = ROOT / "tests/bench/instructions.json"
CASES = {
    "bbr": {"flows": {"cc": "bbr"}},
    "openvpn-2.6-tcp": {"flows": {"cc": "cubic"}, "tunnel": "openvpn-2.6-tcp"},
}


@pytest.fixture(scope="module")
def valgrind():
    return instructions.VALGRIND


@pytest.mark.parametrize("name", CASES)
def test_a_segment_takes_as_many_instructions_as_before(name, valgrind, request):
    path = {"rate": "100Mbps", "rtt": "20ms"}
    experiment = tc.Experiment.parse({"path": path, "duration": "4s", **CASES[name]})
    count = instructions.per_segment(BUILD / "scratch/run-spec", experiment, valgrind)
    compiler = instructions.compiler(BUILD)
    counts = json.loads(COUNTS.read_text())
    if request.config.getoption("--update"):
        counts.setdefault(compiler, {})[name] = round(count)
        COUNTS.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
    elif name not in counts.get(compiler, {}):
        pytest.skip(f"{count:.0f} by {compiler}; {COUNTS.name} has no count of this compiler")
    assert count == pytest.approx(counts[compiler][name], rel=0.02)
