# SPDX-License-Identifier: GPL-2.0-only
"""Both directions of a path: what the keys mean."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc import scenario
from tunnelcc.config import LinkDirection
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import Buffer


@pytest.mark.parametrize(
    "path",
    [
        {},
        {"reverse_rate": "5Mbps", "reverse_buffer": "9p", "reverse_loss": "2%"},
        {"reverse_loss": "2%", "loss_pattern": "periodic", "loss_position": "before"},
    ],
)
def test_the_short_forms_mean_what_the_keys_of_reverse_do(path):
    loss = {key: path[key] for key in ("loss_pattern", "loss_position") if key in path}
    long = {
        key.removeprefix("reverse_"): value for key, value in path.items() if key not in loss
    } | loss
    assert tc.Path(**path).backward == tc.Path(reverse=long).backward == LinkDirection(**long)


def test_short_forms_and_the_table_complete_each_other():
    path = tc.Path(
        reverse_rate="2Mbps", reverse_loss="1%", loss_pattern="periodic",
        reverse={"queue": "codel", "buffer": "50p", "jitter": "1ms"},
    )  # fmt: skip
    backward = path.backward
    assert (backward.rate, backward.buffer, backward.jitter) == (2e6, Buffer(packets=50), 1e-3)
    assert (backward.queue.name, backward.loss, backward.loss_pattern) == (
        "codel",
        0.01,
        "periodic",
    )
    assert tc.Path(**path.table()).backward == backward


def test_the_pattern_of_the_table_is_that_of_its_own_loss():
    path = tc.Path(loss_pattern="periodic", reverse={"loss": "1%"})
    assert path.backward.loss_pattern == "random"


@pytest.mark.parametrize(
    ("key", "value", "other"),
    [("rate", "5Mbps", "6Mbps"), ("buffer", "9p", "8p"), ("loss", "1%", "2%")],
)
@pytest.mark.parametrize("same", [True, False])
def test_a_quantity_is_given_once(key, value, other, same, refusal):
    path = {f"reverse_{key}": value, "reverse": {key: value if same else other}}
    message = f"path.reverse_{key} = '{value}': expected no value, because reverse.{key}"
    assert message in refusal({"path": path})


@pytest.mark.parametrize(
    ("reverse", "message"),
    [
        ({"queue": "codel"}, "path.reverse.queue = 'codel': expected no value without a rate"),
        ({"ecn_threshold": "5p"}, "path.reverse.ecn_threshold = '5p': expected no value without"),
        ({"rate_steps": [["1s", "1Mbps"]]}, "path.reverse.rate_steps = 1: expected a rate"),
        (
            {"loss": "1%", "gilbert_elliott": {"p": "1%", "r": "9%"}},
            "path.reverse.loss = '1%': expected 0, because gilbert_elliott",
        ),
        ({"rtt": "1ms"}, "path.reverse.rtt = '1ms': expected one of the keys rate"),
        ({"polcer": {}}, "unknown key, did you mean 'policer'?"),
    ],
)
def test_the_other_direction_is_checked_like_the_first(reverse, message, refusal):
    assert message in refusal({"path": {"reverse": reverse}})


def test_a_trace_gives_the_rate_of_the_other_direction(tmp_path):
    trace = tmp_path / "uplink.csv"
    trace.write_text("time_s,rate_Mbps\n0,4\n1,8\n2,6\n")
    path = tc.Path(reverse={"trace": str(trace), "queue": "codel"})
    assert path.backward.rate == 6e6


def test_parts_of_a_path_lose_as_much_together_in_both_directions():
    for path in (tc.Path(reverse_loss="19%"), tc.Path(reverse={"loss": "19%", "jitter": "1ms"})):
        part = path.part(2)
        assert part.backward.loss == pytest.approx(0.1)
        assert part.backward.jitter == path.backward.jitter


def test_what_is_not_set_is_not_in_the_table():
    table = tc.Experiment().table()
    assert "reverse" not in table["path"]


@pytest.mark.parametrize(
    ("changes", "direction"),
    [
        ({"flows": {"direction": "down"}}, "down"),
        ({"flows": [tc.Flow(direction="down"), {"direction": "down"}]}, "down"),
        ({"flows": [{"direction": "down"}, {}]}, "up"),
        ({"flows": {"direction": "down"}, "direction": "up"}, "up"),
        ({"flows": {"direction": "down"}, "path": {"reverse": {"rate": "9Mbps"}}}, "up"),
        ({"flows": {"direction": "down"}, "path": tc.Path(reverse_rate="9Mbps")}, "up"),
        ({"flows": {"direction": "down"}, "network": {"shape": "dumbbell", "size": 1}}, "down"),
        ({}, "up"),
    ],
)
def test_a_path_describes_the_direction_that_all_flows_have(changes, direction):
    experiment = tc.Experiment.parse(changes)
    assert experiment.direction == direction
    assert tc.Experiment.parse(experiment.table()) == experiment


def test_data_of_a_download_meet_the_loss_of_the_path():
    table = {"path": {"rate": "10Mbps", "loss": "1%"}, "duration": "5s"}
    runs = [
        tc.run({**table, **changes}, progress=False)
        for changes in ({"flows": {"direction": "down"}}, {"direction": "down"})
    ]
    assert runs[0].links["path"].forward.random_losses > 10
    assert runs[0].goodput == runs[1].goodput


def test_settings_reach_the_other_direction():
    experiment = scenario.build({}, {"path.reverse.rate": "3Mbps", "path.reverse.queue": "pie"})
    assert experiment.path.backward.rate == 3e6
    assert experiment.path.backward.queue.name == "pie"
    assert Experiment.parse(experiment.table()) == experiment
