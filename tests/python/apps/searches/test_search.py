# SPDX-License-Identifier: GPL-2.0-only
"""A search finds what is there, can be repeated and continued, and says what is wrong."""

from __future__ import annotations

import math
import re

import pytest

import tunnelcc as tc

BASE = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "2s", "flows": [{"cc": "reno"}]}


def test_it_finds_the_least_and_confirms_it(tmp_path):
    over = {
        "path.loss": {"from": "0%", "to": "5%"},
        "path.rtt": {"from": "5ms", "to": "100ms", "scale": "log"},
        "flows.0.cc": ["reno", "bbr"],
    }
    seen = []
    found = tc.search(
        BASE, over, minimise="goodput", budget=20, fresh_seeds=2, store=tmp_path,
        on_point=lambda number, point: seen.append(number),
    )  # fmt: skip
    assert seen == list(range(1, 21))
    # Reno suffers from loss, most where the RTT is long (Mathis et al., CCR 1997); BBR does not.
    assert found.settings["flows.0.cc"] == "reno"
    assert float(found.settings["path.loss"].rstrip("%")) > 3
    assert float(found.settings["path.rtt"].removesuffix("ms")) > 50
    assert found.value < 0.2 * 10e6
    assert found.searched <= min(it.value for it in found.points) + 1e6
    # It is what a run of the scenario gives, with seeds that the search did not have.
    assert list(found.seeds) == [2, 3]
    runs = tc.run_many([found.experiment.with_({"seed": seed}) for seed in found.seeds])
    assert sum(run.goodput for run in runs) / 2 == pytest.approx(found.value)
    again = tc.search(BASE, over, minimise="goodput", budget=20, fresh_seeds=2, store=tmp_path)
    assert again.points == found.points  # from the store, and with the same proposals


@pytest.mark.slow
def test_a_larger_budget_goes_on(tmp_path):
    over = {"path.loss": {"from": "0%", "to": "5%"}}
    keys = {"maximise": "flow_goodput", "flow": 0, "fresh_seeds": 1, "store": tmp_path}
    first = tc.search(BASE, over, budget=10, **keys)
    more = tc.search(BASE, over, budget=20, **keys)
    assert more.points[:10] == first.points
    assert first.settings["path.loss"] != "5%"


@pytest.mark.slow
def test_impossible_points_do_not_end_it(tmp_path):
    found = tc.search(
        BASE, {"flows.0.cc": ["reno", "no-such"]}, minimise="goodput", budget=10, fresh_seeds=1,
        store=tmp_path,
    )  # fmt: skip
    assert found.settings == {"flows.0.cc": "reno"}
    assert any(math.isnan(it.value) and "no-such" in it.error for it in found.points)


@pytest.mark.slow
def test_a_trace_of_rates_is_searched(tmp_path):
    over = {"path.rate_steps": {"from": "1Mbps", "to": "20Mbps", "steps": 3}}
    found = tc.search(BASE, over, minimise="goodput", budget=10, fresh_seeds=1, store=tmp_path)
    starts = [step for step, _ in found.settings["path.rate_steps"]]
    assert starts == ["0.5s", "1s", "1.5s"]
    rates = [rate for _, rate in found.experiment.path.rate_steps]
    assert all(1e6 <= rate <= 20e6 for rate in rates)
    assert found.value < (10e6 + sum(rates)) / 4


@pytest.mark.parametrize(
    ("over", "keys", "expected"),
    [
        ({"path.loss": ["1%"]}, {"minimise": "godput"}, "did you mean 'goodput'"),
        ({"path.loss": ["1%"]}, {}, "one metric to minimise or to maximise"),
        ({"path.loss": ["1%"]}, {"minimise": "goodput", "maximise": "goodput"}, "one metric"),
        ({"path.loss": ["1%"]}, {"minimise": "flow_share", "flow": 1}, "a flow from 0 to 0"),
        ({"path.loss": ["1%"]}, {"minimise": "jain", "flow": 0}, "of all flows"),
        ({"path.loss": ["1%"]}, {"minimise": "flow_completion_time"}, "NaN in every run"),
        ({"path.los": {"from": "0%", "to": "1%"}}, {"minimise": "goodput"}, "did you mean"),
        ({"path.loss": {"from": "0%"}}, {"minimise": "goodput"}, "over.path.loss.to"),
        ({"seed": {"from": 1, "to": 5}}, {"minimise": "goodput"}, "to repeat runs"),
        ({"title": ["a", "b"]}, {"minimise": "goodput"}, "this key changes no result"),
        ({"path.loss": []}, {"minimise": "goodput"}, "a list of values, or an interval"),
        ({"path.rate_steps": {"from": "1Mbps", "to": "2Mbps"}}, {"minimise": "goodput"}, "steps"),
        ({}, {"minimise": "goodput"}, "at least one key"),
        ({"path.loss": ["1%"]}, {"minimise": "goodput", "budget": 0}, "budget = 0"),
        ({"path.loss": ["900%"]}, {"minimise": "goodput"}, "path.loss = '900%'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, over, keys, expected):
    with pytest.raises(tc.ConfigError, match=expected):
        tc.search(BASE, over, store=tmp_path, **{"budget": 2, **keys})


def test_the_command_writes_a_scenario(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(
        "search", "--over", "path.loss=0..2%", "--minimise", "goodput", "--budget", "4",
        "--fresh-seeds", "1", "--set", "duration=1s", "--set", "path.rate=10Mbps",
    )  # fmt: skip
    assert code == 0
    assert "with 1 fresh seeds" in out
    assert "point 1:" in err
    assert tc.run("found.toml").goodput > 0
    assert "path.loss" in out
    value = float(re.search(r"goodput is (\S+) Mbit/s with", out)[1])
    assert value == pytest.approx(tc.run("found.toml").goodput / 1e6, rel=1e-3)
    two = {**BASE, "flows": [{"count": 2}]}
    with pytest.raises(tc.ConfigError, match=r"flow: .*a flow from 0 to 1 \(--flow\)"):
        tc.search(two, {"path.loss": ["1%"]}, minimise="flow_share")
    code, _, err = run("search", "--over", "path.loss", "--minimise", "goodput")
    assert code == 2
    assert "KEY=LOW..HIGH" in err
