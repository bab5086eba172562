# SPDX-License-Identifier: GPL-2.0-only
"""The sweeps that come with tunnelcc: each is valid, says what it shows, and its ends run."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.network.draws import single_flows

SCENARIOS = ROOT / "scenarios"
FILES = sorted([*SCENARIOS.glob("sweeps/*.toml"), *SCENARIOS.glob("tcpeval/*.toml")])
# Simulated packets that a whole sweep may take: a minute on two cores, at the 8 million a second of
# one core that plain flows reach (results/bench.json). Links that loss keeps empty have far fewer.
_MOST_PACKETS = 1e9


def of_files(function):
    return pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)(function)


def test_there_are_those_that_the_page_lists():
    page = (SCENARIOS / "README.md").read_text()
    assert len(FILES) == 33
    for file in FILES:
        assert f"({file.relative_to(SCENARIOS)})" in page


@of_files
def test_says_what_it_shows(file):
    lines = file.read_text().splitlines()
    comment = [line for line in lines if line.startswith("#")]
    assert lines[: len(comment)] == comment
    assert len(comment) >= 2


@of_files
def test_every_run_is_valid_and_all_take_no_more_than_a_minute(file):
    experiments = list(tc.Sweep(file).experiments())
    assert not [problem for problem in experiments if isinstance(problem, tc.ConfigError)]
    assert sum(run.duration * run.path.rate / 12e3 for run in experiments) < _MOST_PACKETS


@of_files
def test_first_and_last_run(file):
    declared = tc.Sweep(file)
    for position in (0, len(declared) - 1):
        run = declared.experiment(position)
        latest = max(it.start for it in single_flows(run))
        # Handshakes through 30 % loss take some seconds.
        time = 2 if run.path.loss < 0.2 else 10
        short = {"duration": latest + time, "warmup": latest, "probe_interval": 0.5}
        result = tc.run(run.model_copy(update=short), progress=False)
        assert all(flow.total_bytes > 0 for flow in result.flows)


def test_the_satellites_paths_are_those_of_the_draft():
    # Table 1 of draft-irtf-iccrg-tcpeval-01, and twice the 300 ms of section 4.4.4.
    table = (4, 74, 150, 28, 98, 174, 54, 124, 200)
    for run in tc.Sweep(SCENARIOS / "tcpeval/satellite.toml").experiments():
        assert [flow.rtt for flow in run.flows] == pytest.approx([(t + 600) / 1e3 for t in table])
