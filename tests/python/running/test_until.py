# SPDX-License-Identifier: GPL-2.0-only
"""Runs that end once their goodput is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc.specification import experiment_spec, spec_text
from tunnelcc.store import run_id

BASE = {
    "path": {"rate": "10Mbps", "rtt": "20ms"},
    "flows": [{"cc": "cubic", "count": 2}],
    "duration": "60s",
    "warmup": "1s",
}
TUNNELS = [None, "gost-relay-wss", "wireguard", "kcptun", "openvpn-2.6-tcp", "hysteria2"]


@pytest.mark.parametrize("tunnel", TUNNELS)
def test_it_is_the_run_of_the_duration_at_which_it_ended(tunnel):
    experiment = tc.Experiment(
        **BASE,
        tunnel=tunnel,
        until="settled",
        pings=[{"tunnel": "none"}],
        cross_traffic=[{"rate": "1Mbps"}],
    )
    early = tc.run(experiment, progress=False)
    assert 6 <= early.duration < 60
    assert early["time"][-1] == pytest.approx(early.duration)
    same = tc.run(
        experiment.with_({"duration": f"{early.duration:g}s"}).model_copy(update={"until": None}),
        progress=False,
    )
    assert early.digests() == same.digests()
    assert early.metrics == pytest.approx(same.metrics, rel=0, abs=0, nan_ok=True)
    assert early.measured_time == same.measured_time
    assert same.experiment.duration == early.duration


def test_the_goodput_is_that_of_a_long_run():
    long = tc.run(tc.Experiment(**BASE), progress=False)
    early = tc.run(tc.Experiment(**BASE, until="2%"), progress=False)
    assert early.duration < 60
    assert early.goodput == pytest.approx(long.goodput, rel=0.02)


def test_a_run_that_does_not_get_to_know_it_goes_on_to_its_duration():
    base = {**BASE, "path": {**BASE["path"], "loss": "3%"}, "duration": "8s"}
    plain = tc.run(tc.Experiment(**base), progress=False)
    result = tc.run(tc.Experiment(**base, until="0.1%"), progress=False)
    assert result.duration == 8
    assert result.digests() == plain.digests()


def test_what_has_no_such_key_is_the_run_that_it_was():
    assert "until" not in spec_text(experiment_spec(tc.Experiment(**BASE)))
    assert run_id(tc.Experiment(**BASE)) != run_id(tc.Experiment(**BASE, until="5%"))
    assert run_id(tc.Experiment(**BASE, until=0.05)) == run_id(
        tc.Experiment(**BASE, until="settled")
    )


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"flows.0.bytes": "1MB"}, "flows.0.bytes does"),
        ({"flows.0.start": "2s"}, "flows.0.start does"),
        ({"flows.0.stop": "20s"}, "flows.0.stop does"),
        ({"flows.0.interarrival": "1s"}, "flows.0.interarrival does"),
        ({"path.rate_steps": [["9s", "5Mbps"]]}, "path.rate_steps does"),
        ({"path.loss_steps": [["9s", "5%"]]}, "path.loss_steps does"),
        ({"path.buffer_steps": [["9s", "9kB"]]}, "path.buffer_steps does"),
        ({"path.rtt_steps": [["9s", "9ms"]]}, "path.rtt_steps does"),
        ({"path.outages": [["9s", "10s"]]}, "path.outages does"),
    ],
)
def test_a_goodput_without_a_steady_state_is_refused(changes, named):
    experiment = tc.Experiment(**BASE, until="settled")
    with pytest.raises(tc.ConfigError, match="nothing that changes after the warm-up") as raised:
        experiment.with_(changes)
    assert named in str(raised.value)


def test_what_changes_in_the_warm_up_is_over():
    experiment = tc.Experiment(**{**BASE, "warmup": "5s"}, until="settled")
    assert experiment.with_({"path.rate_steps": [["2s", "5Mbps"]], "flows.0.start": "3s"})


def test_a_sweep_keeps_such_runs(tmp_path):
    arguments = {"seeds": 2, "store": tmp_path, "progress": False}
    base, axes = {**BASE, "until": "settled"}, {"cc": ["cubic", "bbr"]}
    found = tc.sweep(base, axes, name="early", **arguments)
    store = tc.Store(tmp_path)
    ids = sorted(store.ids())
    runs = [store.load(it) for it in ids]
    assert all(run.duration < 60 for run in runs)
    assert not list(store.damaged())
    again = tc.sweep(base, axes, name="early", **arguments)
    assert np.array_equal(found.goodput, again.goodput)
    assert sorted(store.ids()) == ids
    long = tc.sweep(BASE, axes, name="long", **arguments)
    assert np.allclose(found.goodput, long.goodput, rtol=0.05)


def test_the_command_says_when_it_ended(run):
    options = ["run", "--rate", "10Mbps", "--rtt", "20ms", "--cc", "cubic"]
    early = [*options, "--duration", "60s", "--until"]
    _, told, _ = run(*early, "settled")
    assert ", when goodput was known to ± 5%, seed 1" in told
    _, told, _ = run(*options, "--loss", "3%", "--duration", "6s", "--until", "0.1%")
    assert "to 6s, when goodput was not yet known to ± 0.1%, seed 1" in told
    _, as_json, _ = run(*early, "2%", "--json")
    assert json.loads(as_json)["experiment"]["until"] == "2%"


def test_a_sweep_has_the_option(run, tmp_path):
    options = ["sweep", "--store", tmp_path, "--axis", "cc=bbr,cubic", "--seeds", 1]
    given = ["--set", "path.rate=10Mbps", "--set", "path.rtt=20ms", "--set", "duration=60s"]
    code, _, _ = run(*options, *given, "--until", "settled")
    assert code == 0
    store = tc.Store(tmp_path)
    assert [store.experiment(it).until for it in store.ids()] == [0.05, 0.05]


def test_an_experiment_without_it_can_be_written():
    assert json.loads(tc.Experiment(**BASE).model_dump_json())["until"] is None
    assert json.loads(tc.Experiment(**BASE, until=0.02).model_dump_json())["until"] == "2%"
