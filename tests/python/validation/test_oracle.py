# SPDX-License-Identifier: GPL-2.0-only
"""Random experiments: what is drawn, and that the simulator agrees with Linux's kept answers."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from tunnelcc.measure import plan
from validation import oracle

CELLS = oracle.cells()


@pytest.mark.parametrize("number", range(2 * len(oracle.KINDS)))
def test_what_is_drawn_can_be_measured_and_is_the_same_each_time(number):
    kind, link, table = oracle.drawn(5, number)
    assert (kind, link, table) == oracle.drawn(5, number)
    assert table != oracle.drawn(6, number)[2]
    experiment = oracle.experiment_of(table)
    plan.check(experiment, link)
    rate = min([experiment.path.rate, *experiment.path.caps])
    assert rate * experiment.duration / 12e3 < 35_000


def test_the_kept_answers_are_of_both_links_and_all_kinds():
    assert {it.kind for it in CELLS} == set(oracle.KINDS)
    routed = sum(it.link == "router" for it in CELLS)
    assert routed >= len(CELLS) / 3
    assert len({json.dumps(it.experiment, sort_keys=True) for it in CELLS}) == len(CELLS)


def test_the_simulator_agrees_with_the_kept_answers():
    """At least as often as it did: what the page says, and not the goal."""
    found = defaultdict(list)
    for cell in CELLS:
        for number in oracle.numbers(cell, oracle.simulate(cell)):
            found[number.metric].append(number.agrees)
    assert {"goodput", "share", "retransmissions", "queue, mean"} <= set(found)
    for metric, agree in found.items():
        assert sum(agree) >= oracle.LEAST.get(metric, 0.95) * len(agree), metric
